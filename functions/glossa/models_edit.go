package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/catalog"
	"glossa/schemas"
)

// modelsAddCommand returns glossa models add.
func (p *program) modelsAddCommand() *cobra.Command {
	var to destination
	var row catalog.Row
	var far endpoint
	c := &cobra.Command{
		Use: "add [FILE...|NAME]", Short: "Add models to a table or a directory of records",
		Long: `Write the records of files, list a model of Amazon Bedrock or Amazon SageMaker
by its --name, --family and --type, or write the record of a model behind the
--url of an endpoint that speaks OpenAI's API.`,
		Example: `  glossa models add claude.json --table-name glossa
  glossa models add --family openai --url http://127.0.0.1:8000/v1 qwen
  glossa models add --family openai --url https://llm.example.com/v1 \
    --key env:LLM_KEY --model-id Qwen/Qwen3-8B --records records qwen
  glossa models add --name us.anthropic.claude-sonnet-4-20250514-v1:0 \
    --family bedrock --type Claude --with-record --table-name glossa`,
	}
	f := c.Flags()
	far.flags(f)
	f.StringVar(&to.records, "records", "", "`directory` of records to write to, instead of a table [$GLOSSA_RECORDS]")
	f.StringVar(&row.Name, "name", "", "the model: a model id, an inference profile or an ARN of Bedrock; RECORD.ENDPOINT of SageMaker")
	f.StringVar(&row.Family, "family", "", "bedrock, sagemaker or openai")
	f.StringVar(&row.Type, "type", "", "the provider's `word` for the model, such as Claude")
	noStreaming := f.Bool("no-streaming", false, "do not stream the model's answers, even if its record describes streaming")
	withRecord := f.Bool("with-record", false, "if the table has no record for the model, write the built-in one")
	tableFlag(f, &to.table)
	completeWords(c, "family", catalog.Bedrock, catalog.SageMaker, catalog.OpenAI)
	c.RunE = func(c *cobra.Command, files []string) error {
		row.Streaming = !*noStreaming
		if row.Family == catalog.OpenAI || far.url != "" {
			if row.Name != "" {
				files = append(files, row.Name)
			}
			it, err := far.item(row, files)
			if err != nil {
				return err
			}
			return p.addItems(c.Context(), to, []catalog.Item{it})
		}
		if row.Family != "" && row.Name == "" && len(files) > 0 {
			return usagef("arguments are FILEs of records: name a model of --family %s with --name", row.Family)
		}
		if (len(files) > 0) == (row.Name != "") {
			return usagef("name either files or one model: FILE... or --name")
		}
		if len(files) > 0 {
			return p.addItems(c.Context(), to, fileItems(files))
		}
		return p.addModel(c.Context(), to, row, *withRecord)
	}
	return c
}

// modelsRemoveCommand returns glossa models remove.
func (p *program) modelsRemoveCommand() *cobra.Command {
	var from destination
	c := &cobra.Command{
		Use: "remove NAME...", Short: "Remove models from a table or a directory of records",
		Example: "  glossa models remove my.model --table-name glossa\n  glossa models remove qwen --records records",
	}
	record := c.Flags().Bool("record", false, "delete the model's own record from the table too; the record of a group stays")
	c.Flags().StringVar(&from.records, "records", "", "`directory` whose records of the models are removed, instead of rows of a table [$GLOSSA_RECORDS]")
	tableFlag(c.Flags(), &from.table)
	c.RunE = func(c *cobra.Command, names []string) error {
		if len(names) == 0 {
			return usagef("missing argument NAME")
		}
		dir, err := p.directory(from)
		if err != nil {
			return err
		}
		if dir != "" {
			return p.removeRecords(c.Context(), dir, names)
		}
		return p.removeModels(c.Context(), from.table, names, *record)
	}
	return c
}

// modelsCheckCommand returns glossa models check.
func (p *program) modelsCheckCommand() *cobra.Command {
	var o modelsOptions
	var records bool
	c := &cobra.Command{
		Use: "check [FILE...]", Short: "Check records for problems",
		Long: `Check the models that glossa serve would serve, or the records of files. The
exit status is 1 if a model would not be served.`,
		Example: "  glossa models check\n  glossa models check claude.json\n  glossa models check --records --table-name glossa",
	}
	servedFlags(c, &o)
	c.Flags().BoolVar(&records, "records", false, "list the models that each record serves, or why it serves none")
	c.RunE = func(c *cobra.Command, files []string) error {
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				return usagef("%s is a directory: set GLOSSA_RECORDS=%s to check its records", file, file)
			}
		}
		if len(files) > 0 {
			return checkFiles(c.Context(), files, p.stdout)
		}
		return p.checkModels(c.Context(), o, records)
	}
	return c
}

// editor returns the editor of the table's records.
func (p *program) editor(table string) (catalog.Editor, error) {
	cfg, err := p.environment()
	if err != nil {
		return catalog.Editor{}, err
	}
	if table = cmp.Or(table, cfg.Table); table == "" {
		return catalog.Editor{}, usagef("no table: pass --table-name or set GLOSSA_TABLE")
	}
	t, err := cfg.OpenTable(table)
	return catalog.Editor{Table: t}, err
}

// fileItems reads files that hold one item each.
func fileItems(names []string) []catalog.Item {
	items := make([]catalog.Item, len(names))
	for i, name := range names {
		items[i] = catalog.ReadItem(os.DirFS(filepath.Dir(name)), filepath.Base(name))
		items[i].Name = name
	}
	return items
}

// builtinRecords returns the records built into this program: all, or only those of remote
// models.
func builtinRecords(ctx context.Context, all bool) (list []catalog.Item, err error) {
	items, err := catalog.Files{FS: schemas.Files()}.Items(ctx)
	for _, it := range items {
		if all || strings.HasPrefix(it.Name, catalog.Bedrock+"-") || strings.HasPrefix(it.Name, catalog.SageMaker+"-") || strings.HasPrefix(it.Name, catalog.OpenAI+"-") {
			list = append(list, it)
		}
	}
	return list, err
}

// addModel adds a row to the list of models of a table. A directory needs none: there the
// record lists its model.
func (p *program) addModel(ctx context.Context, to destination, row catalog.Row, withRecord bool) error {
	if row.Type == "" || row.Family != catalog.Bedrock && row.Family != catalog.SageMaker {
		return usagef("--name needs --type and --family, which is bedrock or sagemaker")
	}
	dir, err := p.directory(to)
	if err != nil {
		return err
	}
	if dir != "" {
		it, err := recordOf(row)
		if err != nil {
			return err
		}
		return p.addItems(ctx, to, []catalog.Item{it})
	}
	groups, err := builtinRecords(ctx, false)
	if err != nil {
		return err
	}
	add := catalog.Addition{Rows: []catalog.Row{row}}
	if withRecord {
		add.Defaults = groups
	}
	err = p.addToTable(ctx, to.table, add)
	if without, ok := errors.AsType[catalog.NoRecord](err); ok && !withRecord {
		if key := catalog.Find(groups, without.Family, without.Name); key != "" {
			err = fmt.Errorf("%w: pass --with-record to write %s, which this program contains", err, key)
		} else {
			err = fmt.Errorf("%w: write one and add its file", err)
		}
	}
	return err
}

// addToTable makes an addition to a table.
func (p *program) addToTable(ctx context.Context, table string, add catalog.Addition) error {
	e, err := p.editor(table)
	if err != nil {
		return err
	}
	written, err := e.Add(ctx, add)
	if err := printWritten(p.stdout, written); err != nil {
		return err
	}
	return err
}

// removeModels removes models from the list.
func (p *program) removeModels(ctx context.Context, table string, names []string, record bool) error {
	e, err := p.editor(table)
	if err != nil {
		return err
	}
	removed, err := e.Remove(ctx, names, record)
	for _, name := range removed {
		fmt.Fprintf(p.stdout, "removed %s\n", name) // the error matters more
	}
	return err
}

func printWritten(w io.Writer, keys []string) error {
	for _, key := range keys {
		if _, err := fmt.Fprintf(w, "wrote models/%s\n", key); err != nil {
			return err
		}
	}
	return nil
}

// checkModels prints the problems of the models that serve would serve.
func (p *program) checkModels(ctx context.Context, o modelsOptions, records bool) error {
	c, err := p.catalogOf(o)
	if err != nil {
		return err
	}
	items, problems := c.Status(ctx)
	if !records {
		items = nil
	}
	for _, s := range items {
		text := " serves " + strings.Join(s.Served, ", ")
		switch {
		case s.Unlisted: // as records of groups may be: nothing is wrong
			text = ": " + s.Why
		case s.Served == nil:
			text = " serves nothing: " + s.Why
		}
		if _, err := fmt.Fprintf(p.stdout, "%s%s\n", s.Item, text); err != nil {
			return err
		}
	}
	return printProblems(p.stdout, problems)
}

// checkFiles prints the problems of the records in files, which may use the schemas of
// the built-in records.
func checkFiles(ctx context.Context, names []string, w io.Writer) error {
	groups, err := builtinRecords(ctx, false)
	if err != nil {
		return err
	}
	return printProblems(w, catalog.Check(fileItems(names), groups))
}

// printProblems prints problems. Its error counts those that are not warnings.
func printProblems(w io.Writer, problems []error) error {
	wrong := 0
	for _, problem := range problems {
		text := problem.Error()
		if catalog.IsWarning(problem) {
			text = "warning: " + text
		} else {
			wrong++
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d %s", wrong, plural("problem", wrong))
	}
	if len(problems) == 0 {
		_, err := fmt.Fprintln(w, "all is well")
		return err
	}
	return nil
}
