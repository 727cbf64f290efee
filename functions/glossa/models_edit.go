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

	"glossa/pkg/catalog"
	"glossa/schemas"
)

// editor returns the editor of the table's records.
func editor(table string) (catalog.Editor, error) {
	cfg, err := environment()
	if err != nil {
		return catalog.Editor{}, err
	}
	if table = cmp.Or(table, cfg.Table); table == "" {
		return catalog.Editor{}, fmt.Errorf("%w: which table? name it with --table-name T or GLOSSA_TABLE", errUsage)
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
		if all || strings.HasPrefix(it.Name, catalog.Bedrock+"-") || strings.HasPrefix(it.Name, catalog.SageMaker+"-") {
			list = append(list, it)
		}
	}
	return list, err
}

// addModels writes the records of files, or adds a row to the list of models.
func addModels(ctx context.Context, table string, files []string, row catalog.Row, withRecord bool, w io.Writer) error {
	add := catalog.Addition{Items: fileItems(files)}
	if row.Name != "" {
		if row.Type == "" || row.Family != catalog.Bedrock && row.Family != catalog.SageMaker {
			return fmt.Errorf("%w: --name goes with --type and with --family bedrock or sagemaker", errUsage)
		}
		add.Rows = []catalog.Row{row}
	}
	groups, err := builtinRecords(ctx, false)
	if err != nil {
		return err
	}
	if withRecord {
		add.Defaults = groups
	}
	e, err := editor(table)
	if err != nil {
		return err
	}
	written, err := e.Add(ctx, add)
	if err := printWritten(w, written); err != nil {
		return err
	}
	if without, ok := errors.AsType[catalog.NoRecord](err); ok && !withRecord {
		if key := catalog.Find(groups, without.Family, without.Name); key != "" {
			err = fmt.Errorf("%w: --with-record writes %s, which this program contains", err, key)
		} else {
			err = fmt.Errorf("%w: write one and add its file", err)
		}
	}
	return err
}

// removeModels removes models from the list.
func removeModels(ctx context.Context, table string, names []string, record bool, w io.Writer) error {
	e, err := editor(table)
	if err != nil {
		return err
	}
	removed, err := e.Remove(ctx, names, record)
	for _, name := range removed {
		fmt.Fprintf(w, "removed %s\n", name) // the error matters more
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
func checkModels(ctx context.Context, dir, table string, w io.Writer) error {
	c, err := catalogOf(dir, table)
	if err != nil {
		return err
	}
	_, problems := c.Entries(ctx)
	return printProblems(w, problems)
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
