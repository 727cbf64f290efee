package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
	"glossa/pkg/memory"
)

// tableUsage describes the flag that names the table of records.
const tableUsage = "DynamoDB `table` of model records, instead of the built-in ones"

// memoryUsage describes the flag that bounds the memory of weights.
const memoryUsage = "memory for the weights of open models, a `size` such as 8GiB; the least recently used is evicted first (default three quarters of the memory)"

// modelsOptions holds the flags that choose the models.
type modelsOptions struct{ checkpoints, table, memory string }

// tableFlag adds the flag that names the table.
func tableFlag(f *pflag.FlagSet, table *string) {
	f.StringVar(table, "table-name", "", tableUsage)
	withVariables(f, "table-name")
}

// modelFlags adds the flags that choose the models.
func modelFlags(c *cobra.Command, o *modelsOptions) {
	checkpointsFlag(c, &o.checkpoints)
	tableFlag(c.Flags(), &o.table)
}

// servedFlags adds the flags that choose the models, and the memory that decides which are served.
func servedFlags(c *cobra.Command, o *modelsOptions) {
	modelFlags(c, o)
	c.Flags().StringVar(&o.memory, "memory", "", memoryUsage)
	withVariables(c.Flags(), "memory")
}

// checkpointsFlag adds the flag that names the directory of models.
func checkpointsFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "checkpoints", "", "`directory` of models, or s3://bucket/prefix, in addition to the starters (default the models of glossa pull and glossa run)")
	withVariables(c.Flags(), "checkpoints")
	completeDirectory(c, "checkpoints")
}

// modelsCommand returns glossa models, which lists the models.
func (p *program) modelsCommand() *cobra.Command {
	c := p.modelsListCommand()
	c.Use, c.Short, c.Args = "models", "List, show and delete models; edit and check their records", subcommand
	c.Long = `List the models that glossa serve would serve, and report problems. show, ps and
rm are for the models of this machine; the other commands edit and check the
records of models in a DynamoDB table.`
	c.Example = `  glossa models
  glossa models show novels
  glossa models --checkpoints runs --json
  glossa models check --table-name glossa`
	c.AddCommand(p.modelsListCommand(), p.modelsShowCommand(), p.modelsPsCommand(), p.modelsRmCommand(),
		p.modelsAddCommand(), p.modelsRemoveCommand(), p.modelsCheckCommand(), p.modelsInitCommand())
	return c
}

// modelsListCommand returns glossa models list.
func (p *program) modelsListCommand() *cobra.Command {
	var o modelsOptions
	c := &cobra.Command{
		Use: "list", Short: "List the models and report problems", Args: positional(0),
		Example: "  glossa models list\n  glossa models list --json | jq -r '.models[].name'",
	}
	servedFlags(c, &o)
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error { return p.listModels(c.Context(), o, *asJSON) }
	return c
}

// configure returns the configuration of a server with these flags.
func (o *modelsOptions) configure(p *program) (app.Config, error) {
	cfg, err := p.configure(o.checkpoints)
	if err != nil {
		return cfg, err
	}
	if err := readMemory(o.memory, &cfg); err != nil {
		return cfg, err
	}
	cfg.Table = cmp.Or(o.table, cfg.Table)
	cfg.Accounts = "" // keys are not checked
	return cfg, nil
}

// readMemory sets the memory for weights to the value of its flag, unless that is "".
func readMemory(size string, cfg *app.Config) (err error) {
	if size == "" {
		return nil
	}
	if cfg.Memory, err = memory.ParseSize(size); err != nil {
		return usagef("--memory: %w", err)
	}
	return nil
}

// catalogOf returns the models that serve would serve.
func (p *program) catalogOf(o modelsOptions) (*catalog.Catalog, error) {
	cfg, err := o.configure(p)
	if err != nil {
		return nil, err
	}
	a, err := app.New(cfg)
	if err != nil {
		return nil, err
	}
	return a.Catalog(), nil
}

// A listedModel is a model of the listing for programs.
type listedModel struct {
	Name       string   `json:"name"`
	Family     string   `json:"family"`
	Type       string   `json:"type"`
	Step       *int     `json:"step,omitempty"`       // of training
	Context    int      `json:"context,omitempty"`    // tokens
	Parameters int64    `json:"parameters,omitempty"` // weights
	Loss       *float64 `json:"loss,omitempty"`       // of the last step, nats per token
	Source     string   `json:"source,omitempty"`     // directory, bucket or record
}

// listed returns the model of an entry.
func listed(e catalog.Entry) listedModel {
	m := listedModel{Name: e.Name, Family: e.Family, Type: e.Type, Context: e.Context, Source: e.Item}
	if r := e.Run; r != nil {
		m.Parameters, m.Source = r.Parameters, r.Source
		if r.Info != nil {
			m.Step, m.Loss = &r.Step, r.Info.LastLoss
		}
	}
	return m
}

// listModels prints the models and their problems.
func (p *program) listModels(ctx context.Context, o modelsOptions, asJSON bool) error {
	c, err := p.catalogOf(o)
	if err != nil {
		return err
	}
	entries, problems := c.Entries(ctx)
	models, texts := make([]listedModel, len(entries)), make([]string, len(problems))
	for i, e := range entries {
		models[i] = listed(e)
	}
	for i, problem := range problems {
		texts[i] = problemText(problem)
	}
	if asJSON {
		return printJSON(p.stdout, map[string]any{"models": models, "problems": texts})
	}
	if err := printModels(p.stdout, models); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := fmt.Fprintf(p.stdout, "\n%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

// problemText prefixes a problem with its effect on the models.
func problemText(problem error) string {
	if catalog.IsWarning(problem) {
		return "warning: " + problem.Error()
	}
	return "not served: " + problem.Error()
}

// printModels prints models, the default one first.
func printModels(w io.Writer, models []listedModel) error {
	if len(models) == 0 {
		_, err := fmt.Fprintln(w, "no models")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tFAMILY\tTYPE\tSTEP\tCONTEXT\tPARAMS\tLOSS\tSOURCE") // errors come with Flush
	for _, m := range models {
		var step, window, params, loss string
		if m.Step != nil {
			step = strconv.Itoa(*m.Step)
		}
		if m.Context > 0 {
			window = strconv.Itoa(m.Context)
		}
		if m.Parameters > 0 {
			params = count(m.Parameters)
		}
		if m.Loss != nil {
			loss = strconv.FormatFloat(*m.Loss, 'f', 3, 64)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			m.Name, m.Family, m.Type, orDash(step), orDash(window), orDash(params), orDash(loss), orDash(m.Source))
	}
	return t.Flush()
}

// count formats a number of parameters: 1.7M.
func count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1fK", float64(n)/1e3)
	}
	return strconv.FormatInt(n, 10)
}
