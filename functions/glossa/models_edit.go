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

// editor returns who changes the records of the table.
func editor(table string) (catalog.Editor, error) {
	cfg, err := environment()
	if err != nil {
		return catalog.Editor{}, err
	}
	if table = cmp.Or(table, cfg.Table); table == "" {
		return catalog.Editor{}, fmt.Errorf("%w: which table? --table-name T or GLOSSA_TABLE names it", errUsage)
	}
	t, err := cfg.OpenTable(table)
	return catalog.Editor{Table: t}, err
}

// fileItems reads files of one item each.
func fileItems(names []string) []catalog.Item {
	items := make([]catalog.Item, len(names))
	for i, name := range names {
		items[i] = catalog.ReadItem(os.DirFS(filepath.Dir(name)), filepath.Base(name))
		items[i].Name = name
	}
	return items
}

// inside returns the records that are inside this program, those of remote models alone
// unless all are asked for.
func inside(ctx context.Context, all bool) (list []catalog.Item, err error) {
	items, err := catalog.Files{FS: schemas.Files()}.Items(ctx)
	for _, it := range items {
		if all || strings.HasPrefix(it.Name, catalog.Bedrock+"-") || strings.HasPrefix(it.Name, catalog.SageMaker+"-") {
			list = append(list, it)
		}
	}
	return list, err
}

// addModels writes the records of files, or lists a model.
func addModels(ctx context.Context, table string, files []string, row catalog.Row, with bool, w io.Writer) error {
	add := catalog.Addition{Items: fileItems(files)}
	if row.Name != "" {
		if row.Type == "" || row.Family != catalog.Bedrock && row.Family != catalog.SageMaker {
			return fmt.Errorf("%w: --name goes with --type and with --family bedrock or sagemaker", errUsage)
		}
		add.Rows = []catalog.Row{row}
	}
	groups, err := inside(ctx, false)
	if err != nil {
		return err
	}
	if with {
		add.Defaults = groups
	}
	e, err := editor(table)
	if err != nil {
		return err
	}
	written, err := e.Add(ctx, add)
	if err := wrote(w, written); err != nil {
		return err
	}
	if without, ok := errors.AsType[catalog.NoRecord](err); ok && !with {
		if key := catalog.Find(groups, without.Family, without.Name); key != "" {
			err = fmt.Errorf("%w: --with-record writes %s, which is inside this program", err, key)
		} else {
			err = fmt.Errorf("%w: write one and add its file", err)
		}
	}
	return err
}

// removeModels takes models off the list.
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

func wrote(w io.Writer, keys []string) error {
	for _, key := range keys {
		if _, err := fmt.Fprintf(w, "wrote models/%s\n", key); err != nil {
			return err
		}
	}
	return nil
}

// checkModels prints what is wrong with the models that serve would serve.
func checkModels(ctx context.Context, dir, table string, w io.Writer) error {
	c, err := catalogOf(dir, table)
	if err != nil {
		return err
	}
	_, problems := c.Entries(ctx)
	return report(w, problems)
}

// checkFiles prints what is wrong with the records in files, which may use the schemas of
// those inside this program.
func checkFiles(ctx context.Context, names []string, w io.Writer) error {
	groups, err := inside(ctx, false)
	if err != nil {
		return err
	}
	return report(w, catalog.Check(fileItems(names), groups))
}

// report prints problems; those that are more than warnings are the error.
func report(w io.Writer, problems []error) error {
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
