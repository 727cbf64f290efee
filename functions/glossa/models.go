package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
)

const modelsUsage = `[list] [--checkpoints DIR] [--table-name T]
       glossa models add FILE... | --name N --family F --type TYPE [--no-streaming] [--with-record] [--table-name T]
       glossa models remove NAME... [--record] [--table-name T]
       glossa models check [FILE... | --checkpoints DIR] [--table-name T]
       glossa models init [--table-name T | --outputs FILE] [--starters [--checkpoints s3://BUCKET/PREFIX]] [--force]`

// models lists the models that serve would serve, and edits the records of a table.
func models(ctx context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	f := flags("models", modelsUsage, stdout)
	dir := f.String("checkpoints", "", "list, check, init: `directory` of training runs or s3://bucket/prefix, in addition to the starters (GLOSSA_CHECKPOINTS)")
	table := tableFlag(f)
	var row catalog.Row
	f.StringVar(&row.Name, "name", "", "add: the model's `name`: a model id, an inference profile or an ARN of Bedrock; RECORD.ENDPOINT of SageMaker")
	f.StringVar(&row.Family, "family", "", "add: bedrock or sagemaker")
	f.StringVar(&row.Type, "type", "", "add: the provider's `word` for the model, such as Claude")
	noStreaming := f.Bool("no-streaming", false, "add: do not stream its answers, even if its record describes streaming")
	withRecord := f.Bool("with-record", false, "add: if the table has no record for the model, write the built-in one")
	var initial initOptions
	f.StringVar(&initial.outputs, "outputs", "", "init: `file` of outputs of cdk deploy, which names the table and the bucket")
	f.BoolVar(&initial.starters, "starters", false, "init: the starters too: their records, and the models to --checkpoints")
	f.BoolVar(&initial.force, "force", false, "init: overwrite changed items and restore deleted ones")
	record := f.Bool("record", false, "remove: delete the model's own record too; that of a group stays")
	rest, err := parseAll(f, args)
	if err != nil {
		return err
	}
	verb := "list"
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	row.Streaming = !*noStreaming
	switch {
	case verb == "list" && len(rest) == 0:
		return listModels(ctx, *dir, *table, stdout)
	case verb == "check" && len(rest) == 0:
		return checkModels(ctx, *dir, *table, stdout)
	case verb == "check":
		return checkFiles(ctx, rest, stdout)
	case verb == "init" && len(rest) == 0:
		initial.table, initial.checkpoints = *table, *dir
		return initial.run(ctx, stdout)
	case verb == "add" && (len(rest) > 0) != (row.Name != ""):
		return addModels(ctx, *table, rest, row, *withRecord, stdout)
	case verb == "remove" && len(rest) > 0:
		return removeModels(ctx, *table, rest, *record, stdout)
	}
	return fmt.Errorf("%w: list, add FILE... or --name N, remove NAME..., check or init", errUsage)
}

// tableFlag adds the flag that names the table.
func tableFlag(f *flag.FlagSet) *string {
	return f.String("table-name", "", "DynamoDB `table` of model records, instead of the built-in ones (GLOSSA_TABLE)")
}

// parseAll reads args into f and returns the arguments that are not flags, which may stand
// anywhere.
func parseAll(f *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := parse(f, args, true); err != nil || f.NArg() == 0 {
			return rest, err
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// catalogOf returns the models that serve would serve.
func catalogOf(dir, table string) (*catalog.Catalog, error) {
	cfg, err := configure(dir)
	if err != nil {
		return nil, err
	}
	cfg.Table = cmp.Or(table, cfg.Table)
	cfg.Accounts = "" // keys are not checked
	a, err := app.New(cfg)
	if err != nil {
		return nil, err
	}
	return a.Catalog(), nil
}

// listModels prints the models and their problems.
func listModels(ctx context.Context, dir, table string, w io.Writer) error {
	c, err := catalogOf(dir, table)
	if err != nil {
		return err
	}
	entries, problems := c.Entries(ctx)
	if err := printModels(w, entries); err != nil {
		return err
	}
	for _, problem := range problems {
		if _, err := fmt.Fprintf(w, "\n%s\n", problemText(problem)); err != nil {
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
func printModels(w io.Writer, entries []catalog.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no models")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tFAMILY\tTYPE\tSTEP\tCONTEXT\tPARAMS\tLOSS\tSOURCE") // errors come with Flush
	for _, e := range entries {
		step, window, params, loss, source := "-", "-", "-", "-", cmp.Or(e.Item, "-")
		if e.Context > 0 {
			window = strconv.Itoa(e.Context)
		}
		if r := e.Run; r != nil {
			params, source = count(r.Parameters), r.Source
			if r.Info != nil {
				step = strconv.Itoa(r.Step)
			}
			if r.Info != nil && r.Info.LastLoss != nil {
				loss = strconv.FormatFloat(*r.Info.LastLoss, 'f', 3, 64)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Family, e.Type, step, window, params, loss, source)
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
