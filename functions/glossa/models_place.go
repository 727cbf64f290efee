package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"glossa/pkg/catalog"
)

// A destination is where records are: a table or a directory.
type destination struct{ table, records string }

// directory returns the directory of a destination, "" if it is a table.
func (p *program) directory(to destination) (string, error) {
	if to.table != "" && to.records != "" {
		return "", usagef("choose one of --table-name and --records")
	}
	cfg, err := p.environment()
	if err != nil {
		return "", err
	}
	switch dir := cmp.Or(to.records, p.settings.get("GLOSSA_RECORDS")); {
	case to.records != "", to.table == "" && cfg.Table == "" && dir != "":
		return dir, nil
	case to.table == "" && cfg.Table == "":
		return "", usagef("no place for the record: pass --table-name or --records, or set GLOSSA_TABLE or GLOSSA_RECORDS")
	}
	return "", nil
}

// addItems writes records, after checking them.
func (p *program) addItems(ctx context.Context, to destination, items []catalog.Item) error {
	dir, err := p.directory(to)
	if err != nil {
		return err
	}
	groups, err := builtinRecords(ctx, false)
	if err != nil {
		return err
	}
	if dir == "" {
		return p.addToTable(ctx, to.table, catalog.Addition{Items: items, Groups: groups})
	}
	stored, err := catalog.Files{FS: os.DirFS(dir)}.Items(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, problem := range catalog.Check(items, append(stored, groups...)) {
		if !catalog.IsWarning(problem) {
			wrong = append(wrong, problem)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, it := range items {
		if err := p.writeRecord(dir, it, stored); err != nil {
			return err
		}
	}
	return nil
}

// removeRecords removes the files of a directory that hold the records of models. A name is that
// of a model, or family/name if several have it. If one is missing, none is removed.
func (p *program) removeRecords(ctx context.Context, dir string, names []string) error {
	stored, err := catalog.Files{FS: os.DirFS(dir)}.Items(ctx)
	if err != nil {
		return err
	}
	families := []string{catalog.Local, catalog.Bedrock, catalog.SageMaker, catalog.OpenAI}
	var files []string
	for _, name := range names {
		var found []string
		for _, it := range stored {
			family, model, _ := strings.Cut(keyOf(it), "-")
			if slices.Contains(families, family) && (model == name || family+"/"+model == name) {
				found = append(found, filepath.Join(dir, it.Name))
			}
		}
		switch len(found) {
		case 0:
			return fmt.Errorf("%s has no record of %s", dir, name)
		case 1:
			files = append(files, found[0])
		default:
			return fmt.Errorf("%s is the name of several models, whose records are %s: remove FAMILY/%s", name, strings.Join(found, ", "), name)
		}
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(p.stdout, "removed %s\n", file); err != nil {
			return err
		}
	}
	return nil
}

// writeRecord writes a record to the file that holds the record of its sort key, or else to a
// new one. Servers read either the old file or
// the whole new one.
func (p *program) writeRecord(dir string, it catalog.Item, stored []catalog.Item) error {
	key := keyOf(it)
	name := filepath.Join(dir, url.PathEscape(key)+".json")
	if at := slices.IndexFunc(stored, func(s catalog.Item) bool { return keyOf(s) == key }); at >= 0 {
		name = filepath.Join(dir, stored[at].Name)
	}
	part, err := os.CreateTemp(dir, ".record-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // it is gone if all went well
	_, err = part.Write(it.JSON)
	if err = errors.Join(err, part.Chmod(0o644), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "wrote %s\n", name)
	return err
}

// keyOf returns the sort key of an item, "" if it has none.
func keyOf(it catalog.Item) string {
	var key struct{ SK string }
	_ = json.Unmarshal(it.JSON, &key) // [catalog.Check] reports what is wrong
	return key.SK
}

// recordOf returns the record that lists a model whose group describes it.
func recordOf(row catalog.Row) (catalog.Item, error) {
	record := map[string]any{"pk": "models", "sk": row.Family + "-" + row.Name, "model_type": row.Type}
	if !row.Streaming {
		record["streaming"] = false
	}
	return itemOf(record)
}

func itemOf(record map[string]any) (catalog.Item, error) {
	b, err := json.MarshalIndent(record, "", "  ")
	return catalog.Item{Name: fmt.Sprint(record["sk"]), JSON: append(b, '\n')}, err
}

// An endpoint is what models add says of one that speaks OpenAI's API.
type endpoint struct {
	url, model, key, like, unsupported string
	insecure, private                  bool
}

func (e *endpoint) flags(f *pflag.FlagSet) {
	f.StringVar(&e.url, "url", "", "base `URL` of an endpoint that speaks OpenAI's API, such as https://llm.example.com/v1")
	f.StringVar(&e.model, "model-id", "", "what the endpoint calls the model (default NAME)")
	f.StringVar(&e.key, "key", "", "where the endpoint's key is, never the key itself: env:NAME, secretsmanager:NAME or ssm:NAME")
	f.StringVar(&e.like, "like", "", "`group` that describes the requests: chat, vllm, completions, embeddings or rerank (default chat)")
	f.StringVar(&e.unsupported, "unsupported", "", "drop or reject parameters that the model lacks (default reject)")
	f.BoolVar(&e.insecure, "insecure", false, "allow http beyond this machine")
	f.BoolVar(&e.private, "private", false, "allow addresses of private networks from a function")
}

// item returns the record of the model of a name.
func (e *endpoint) item(row catalog.Row, names []string) (catalog.Item, error) {
	switch {
	case row.Family != "" && row.Family != catalog.OpenAI:
		return catalog.Item{}, usagef("--url needs --family openai")
	case e.url == "" || len(names) != 1:
		return catalog.Item{}, usagef("--family openai needs --url and one NAME")
	}
	record := map[string]any{"pk": "models", "sk": catalog.OpenAI + "-" + names[0], "url": e.url}
	for name, value := range map[string]string{
		"model_id": e.model, "key": e.key, "like": e.like, "unsupported": e.unsupported, "model_type": row.Type,
	} {
		if value != "" {
			record[name] = value
		}
	}
	for name, value := range map[string]bool{"insecure": e.insecure, "private": e.private} {
		if value {
			record[name] = true
		}
	}
	if !row.Streaming {
		record["streaming"] = false
	}
	return itemOf(record)
}
