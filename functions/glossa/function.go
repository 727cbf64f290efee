package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/deployment"
)

// lines joins words with commas into lines of at most width characters.
func lines(words []string, width int) string {
	var out strings.Builder
	at := 0
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		switch {
		case at == 0:
		case at+1+len(word) > width:
			out.WriteString("\n")
			at = 0
		default:
			out.WriteString(" ")
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String() + "."
}

// functionCommand returns glossa function, with which one image is every function.
func (p *program) functionCommand() *cobra.Command {
	names := append(app.Families(), deployment.Canary)
	return &cobra.Command{
		Use: "function NAME", Short: "Be a function of AWS Lambda", Args: positional(1, "NAME"), ValidArgs: names,
		Long: "Be a function of AWS Lambda, from a container image:\n" + lines(names, 78) +
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
