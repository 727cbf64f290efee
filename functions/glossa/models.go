package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"glossa/pkg/catalog"
)

const modelsUsage = "[--checkpoints DIR]"

// models prints the models that serve would serve, and what is wrong with the rest.
func models(ctx context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	f := flags("models", modelsUsage, stdout)
	dir := f.String("checkpoints", "", "directory of training runs, beside the starters (GLOSSA_CHECKPOINTS)")
	if err := parse(f, args, false); err != nil {
		return err
	}
	a, err := open(*dir)
	if err != nil {
		return err
	}
	entries, problems := a.Catalog().Entries(ctx)
	if err := table(stdout, entries); err != nil {
		return err
	}
	for _, problem := range problems {
		if _, err := fmt.Fprintf(stdout, "\nnot served: %v\n", problem); err != nil {
			return err
		}
	}
	return nil
}

// table prints models, the default one first.
func table(w io.Writer, entries []catalog.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no models")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tFAMILY\tTYPE\tSTEP\tCONTEXT\tPARAMS\tLOSS\tSOURCE") // errors come with Flush
	for _, e := range entries {
		step, params, loss, source := "-", "-", "-", "-"
		if r := e.Run; r != nil {
			params, source = count(r.Parameters), r.Source
			if r.Info != nil {
				step = strconv.Itoa(r.Step)
			}
			if r.Info != nil && r.Info.LastLoss != nil {
				loss = strconv.FormatFloat(*r.Info.LastLoss, 'f', 3, 64)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", e.Name, e.Family, e.Type, step, e.Context, params, loss, source)
	}
	return t.Flush()
}

// count shortens a number of parameters: 1.7M.
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
