package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/deployment"
	"glossa/pkg/terminal"
)

// inLines returns names in lines for a help text.
func inLines(names []string) string {
	var out strings.Builder
	w := terminal.NewWrapper(&out, func() int { return 80 })
	_, _ = w.WriteString(strings.Join(names, ", ") + ".") // a builder takes all
	_ = w.End()
	return strings.TrimRight(strings.ReplaceAll(out.String(), " \n", "\n"), "\n")
}

// functionCommand returns glossa function, with which one image is every function.
func (p *program) functionCommand() *cobra.Command {
	names := append(app.Families(), deployment.Canary)
	return &cobra.Command{
		Use: "function NAME", Short: "Run one of the functions on AWS Lambda", Args: positional(1, "NAME"), ValidArgs: names,
		Long: "Run one of the functions on AWS Lambda, from a container image:\n" + inLines(names) +
			"\nIt is configured by the environment, as the functions of zip files are. Models\nof the image are in /models; elsewhere GLOSSA_MODELS names their directory.",
		Example: "  glossa function openai",
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case args[0] == deployment.Canary:
				app.Canary()
				return nil
			case !slices.Contains(names, args[0]):
				return usagef("there is no function %q, only %s", args[0], strings.Join(names, ", "))
			}
			return app.Function(args[0])
		},
	}
}
