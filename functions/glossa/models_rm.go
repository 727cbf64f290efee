package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/bucket"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/fit"
	"glossa/pkg/hub"
	"glossa/pkg/starter"
)

// modelsRmCommand returns glossa models rm.
func (p *program) modelsRmCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rm NAME...", Short: "Delete the files of downloaded models",
		Long: `Delete the files of models in the directory of models, after asking. Files
that do not belong to a model stay. The starter models are part of the program
and cannot be deleted; glossa models remove edits the records of a table.`,
		Example:           "  glossa models rm Qwen3-0.6B\n  glossa models rm Llama-3.2-1B-Instruct-GGUF:Q8_0 --yes",
		ValidArgsFunction: p.completeModels,
	}
	var checkpoints string
	checkpointsFlag(c, &checkpoints)
	yes := c.Flags().Bool("yes", false, "do not ask")
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(c *cobra.Command, names []string) error {
		if len(names) == 0 {
			return usagef("missing argument NAME")
		}
		dir, err := p.removalDir(checkpoints)
		if err != nil {
			return err
		}
		plans := []*removal{}
		for _, name := range names { // all are checked before the first is deleted
			r, err := planRemoval(dir, name)
			if err != nil {
				return err
			}
			for _, other := range plans {
				if slices.ContainsFunc(r.Files, func(file string) bool { return slices.Contains(other.Files, file) }) || r.whole != "" && r.whole == other.whole {
					return usagef("%s is named twice", r.Name)
				}
			}
			plans = append(plans, r)
		}
		return p.removeFiles(c.Context(), plans, *yes, *asJSON)
	}
	return c
}

// removalDir returns the directory of models.
func (p *program) removalDir(flag string) (string, error) {
	cfg, err := p.environment()
	if err != nil {
		return "", err
	}
	dir, err := p.modelsDir(flag, &cfg)
	if err == nil && bucket.IsURL(dir) {
		err = fmt.Errorf("%s is in S3: delete the models with the tools of S3", dir)
	}
	return dir, err
}

// A removal is the files of a model to delete.
type removal struct {
	Name  string   `json:"name"`
	Dir   string   `json:"directory"`
	Files []string `json:"files"` // relative to Dir, with slashes
	Size  int64    `json:"bytes"` // of Files
	Kept  []string `json:"kept"`  // files that do not belong to the model

	whole string // the subdirectory of the model; "": other models are in it
}

// planRemoval finds the files of a model in a directory of models.
func planRemoval(dir, name string) (*removal, error) {
	text := name
	if cut := len(text) - len(":latest"); cut > 0 && strings.EqualFold(text[cut:], ":latest") {
		text = text[:cut]
	}
	ref, err := hub.ParseReference(text)
	if err != nil { // directories that no pull wrote have other names too
		var there bool
		if ref, there = inDirectory(dir, text); !there {
			return nil, usageError{err}
		}
	}
	base, err := modelName(dir, ref.Repo)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(dir, name, base)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &removal{Name: base, Dir: dir, Files: []string{}, Kept: []string{}}
	info, err := root.Lstat(base)
	switch {
	case err == nil && info.IsDir():
		if origin, err := hub.Pulled(filepath.Join(dir, base)); strings.Contains(ref.Repo, "/") && (err != nil || !strings.EqualFold(origin.Repo, ref.Repo)) {
			return nil, fmt.Errorf("%s does not come from %s: to delete it, name it %s", filepath.Join(dir, base), ref.Repo, base)
		}
		err = r.directory(root.FS(), base, ref.Quant)
	case strings.Contains(ref.Repo, "/") || ref.Quant != "": // a link or a file is one model without an origin
		return nil, absent(dir, name, base)
	case err == nil && info.Mode()&fs.ModeSymlink != 0: // what it leads to stays
		r.Files = []string{base}
	default:
		err = r.topLevel(root.FS(), base)
	}
	switch {
	case err != nil:
		return nil, err
	case len(r.Files) == 0 && r.whole == "":
		return nil, absent(dir, name, base)
	}
	for _, file := range r.Files {
		if info, err := root.Lstat(file); err == nil && info.Mode().IsRegular() {
			r.Size += info.Size()
		}
	}
	return r, nil
}

// inDirectory returns the name of an entry of a directory that is not one of the hub, such as my--model.
func inDirectory(dir, text string) (hub.Reference, bool) {
	base, quant, _ := strings.Cut(text, ":")
	if base == "" || base[0] == '.' || strings.ContainsAny(base, `/\`) || !filepath.IsLocal(base) {
		return hub.Reference{}, false
	}
	_, err := os.Lstat(filepath.Join(dir, base))
	return hub.Reference{Repo: base, Quant: quant}, err == nil
}

// absent returns the error of a model that is not in the directory.
func absent(dir, name, base string) error {
	if slices.Contains(starter.Names(), base) {
		return fmt.Errorf("%s is a starter model: it is part of the program and cannot be deleted", base)
	}
	return fmt.Errorf("there is no model %q in %s", name, dir)
}

// topLevel finds a model that is one file, or the parts of one, beside the directories.
func (r *removal) topLevel(fsys fs.FS, base string) error {
	entries, err := fs.ReadDir(fsys, ".")
	for _, e := range entries {
		stem, gguf := strings.CutSuffix(e.Name(), ".gguf")
		pack, packed := strings.CutSuffix(e.Name(), checkpoint.PackSuffix)
		if !e.IsDir() && (gguf && (stem == base || partOf.ReplaceAllString(stem, "") == base) || packed && pack == base) {
			r.Files = append(r.Files, e.Name())
		}
	}
	return err
}

// partOf matches the end of the name of a part of a split model.
var partOf = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// directory finds the files of the models in a subdirectory: of one quantisation, or of the only
// model in it.
func (r *removal) directory(fsys fs.FS, dir, quant string) error {
	places, _ := arch.Places(fsys, dir) // a model that cannot be opened can be deleted
	if quant != "" {
		return r.quantisation(fsys, dir, quant, places)
	}
	if len(places) > 1 {
		var names []string
		for _, place := range places {
			names = append(names, place.Name)
		}
		return fmt.Errorf("%s has several models: name them: %s", dir, strings.Join(names, " "))
	}
	origin, err := hub.Pulled(filepath.Join(r.Dir, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	pulled := err == nil
	if !pulled && len(places) == 0 {
		if run, err := fs.Sub(fsys, dir); err != nil || !isRun(run) {
			return fmt.Errorf("%s holds no model that glossa knows: delete it yourself", filepath.Join(r.Dir, dir))
		}
	}
	own := func(name string) bool { return slices.Contains(origin.Files, name) }
	if !pulled {
		if own, err = owned(fsys, dir); err != nil {
			return err
		}
	}
	r.whole = dir
	weights := false
	err = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		inner := strings.TrimPrefix(name, dir+"/")
		switch {
		case err != nil:
			return err
		case d.IsDir():
		case strings.HasPrefix(inner, ".pull/"): // Forget deletes it; parts may be most of a model
			if info, err := d.Info(); err == nil {
				r.Size += info.Size()
			}
		case own(inner):
			r.Files = append(r.Files, name)
			weights = weights || isWeights.MatchString(inner)
		default:
			r.Kept = append(r.Kept, name)
		}
		return nil
	})
	if err == nil && !pulled && !weights { // the files of another program's model
		err = fmt.Errorf("%s holds no model that glossa knows: delete it yourself", filepath.Join(r.Dir, dir))
	}
	return err
}

// owned returns a function that reports whether a file of a directory that no pull wrote belongs
// to the model in it. The engine reads one kind of weights: adapters and GGUF files beside others
// are not the model's.
func owned(fsys fs.FS, dir string) (func(name string) bool, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	there := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	weights := func(name string) bool { return strings.HasSuffix(name, ".gguf") }
	switch {
	case there("model.safetensors"), there("model.safetensors.index.json"):
		weights = shards.MatchString
	case there(checkpoint.AdapterConfig) && there(checkpoint.AdapterWeights):
		weights = checkpoint.IsAdapter
	case !there("config.json"):
		packs := map[string]bool{}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), checkpoint.PackSuffix) {
				packs[e.Name()], _ = checkpoint.IsPack(fsys, path.Join(dir, e.Name())) // a file that cannot be read stays
			}
		}
		if slices.Contains(slices.Collect(maps.Values(packs)), true) {
			weights = func(name string) bool { return packs[name] }
		}
	}
	return func(name string) bool {
		return belongs.MatchString(name) || weights(name) && !strings.Contains(name, "/")
	}, nil
}

// shards matches the files of weights in safetensors.
var shards = regexp.MustCompile(`^model(-[0-9]{5}-of-[0-9]{5})?\.safetensors$|^model\.safetensors\.index\.json$`)

// isWeights matches the weights among the files that belong to a model.
var isWeights = regexp.MustCompile(`\.(safetensors|gguf)$|^checkpoint-[0-9]+\.json$|^metrics\.jsonl$`)

// isRun reports whether a directory holds a training run.
func isRun(fsys fs.FS) bool {
	_, err := checkpoint.ReadRun(fsys)
	return err == nil
}

// belongs matches the files of a model that no pull wrote, apart from its weights: those that the
// engine reads.
var belongs = regexp.MustCompile(`^(config|generation_config|tokenizer[^/]*|special_tokens_map|added_tokens|chat_template|vocab)\.json$` +
	`|^merges\.txt$|^[^/]+\.model$|^(chat_template|additional_chat_templates/tool_use)\.jinja$|^metrics\.jsonl$|^checkpoint-[0-9]+\.json$`)

// quantisation finds the files of one of the models in a subdirectory.
func (r *removal) quantisation(fsys fs.FS, dir, quant string, places []arch.Place) error {
	r.Name = dir + ":" + quant
	for _, place := range places {
		_, name, several := strings.Cut(place.Name, ":")
		file := place.Path
		if !several { // one model for the engine; there may be other weights
			return r.only(fsys, dir, quant)
		}
		if !strings.EqualFold(name, quant) {
			continue
		}
		r.Name = dir + ":" + name
		stem := partOf.ReplaceAllString(strings.TrimSuffix(file, path.Ext(file)), "")
		files, err := fs.ReadDir(fsys, dir)
		for _, e := range files {
			other := path.Join(dir, e.Name())
			if partOf.ReplaceAllString(strings.TrimSuffix(other, path.Ext(file)), "") == stem && strings.HasSuffix(other, path.Ext(file)) {
				r.Files = append(r.Files, other)
			}
		}
		return err
	}
	return fmt.Errorf("%s has no quantisation %q", dir, quant)
}

// only finds the GGUF files of a quantisation in a subdirectory that is one model for the engine:
// the whole model, unless there are other weights.
func (r *removal) only(fsys fs.FS, dir, quant string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return err
	}
	stems, others := []string{}, false
	for _, e := range entries {
		stem, gguf := strings.CutSuffix(e.Name(), ".gguf")
		stem = partOf.ReplaceAllString(stem, "")
		switch {
		case gguf && (strings.EqualFold(stem, quant) || strings.EqualFold(hub.QuantOf(stem), quant)):
			r.Files, stems = append(r.Files, path.Join(dir, e.Name())), append(stems, stem)
		case gguf, strings.HasSuffix(e.Name(), checkpoint.PackSuffix):
			others = true
		}
	}
	switch stems = slices.Compact(stems); {
	case len(stems) == 0:
		return fmt.Errorf("%s has no quantisation %q", dir, quant)
	case len(stems) > 1:
		return fmt.Errorf("%s has several files in %s: delete them yourself: %s", dir, quant, strings.Join(r.Files, " "))
	case others:
		return nil
	}
	r.Files = []string{}
	return r.directory(fsys, dir, "")
}

// removeFiles asks and deletes.
func (p *program) removeFiles(ctx context.Context, plans []*removal, yes, asJSON bool) error {
	if !yes {
		for _, r := range plans {
			fmt.Fprintf(p.stderr, "%s: %d %s, %s in %s\n", r.Name, len(r.Files), plural("file", len(r.Files)), fit.Bytes(r.Size), r.Dir)
		}
		answer, err := readAnswer(ctx, p.stdin, p.stderr, "Delete? [y/N] ")
		if err != nil {
			return err
		}
		if !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes") {
			return errors.New("nothing is deleted: answer y, or pass --yes")
		}
	}
	for _, r := range plans {
		if err := r.remove(); err != nil {
			return err
		}
		if asJSON {
			continue
		}
		fmt.Fprintf(p.stdout, "deleted %s: %s\n", r.Name, fit.Bytes(r.Size))
		if len(r.Kept) > 0 {
			fmt.Fprintf(p.stdout, "kept, because they do not belong to a model: %s\n", strings.Join(r.Kept, ", "))
		}
	}
	if asJSON {
		return printJSON(p.stdout, map[string]any{"deleted": plans})
	}
	return nil
}

// remove deletes the files, and directories that are empty then.
func (r *removal) remove() error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	dir := r.subdirectory()
	if dir == "" {
		return removeAll(root, r.Files)
	}
	lock, err := hub.LockDir(filepath.Join(r.Dir, dir))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err := removeAll(root, r.Files); err != nil || r.whole == "" {
		return errors.Join(err, lock.Close())
	}
	if err := lock.Forget(); err != nil {
		return err
	}
	dirs := []string{r.whole}
	for _, file := range r.Files {
		for dir := path.Dir(file); dir != r.whole && dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // the deepest first
	for _, dir := range slices.Compact(dirs) {
		_ = root.Remove(dir) // it stays if it is not empty
	}
	return nil
}

func removeAll(root *os.Root, files []string) error {
	for _, file := range files {
		if err := root.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// subdirectory returns the directory of the model in that of all models, "" for a file or a link.
func (r *removal) subdirectory() string {
	if r.whole != "" || len(r.Files) == 0 {
		return r.whole
	}
	if dir := path.Dir(r.Files[0]); dir != "." {
		return dir
	}
	return ""
}

// readAnswer prints a question and reads the answer. Reading cannot be interrupted, so a goroutine
// does it, which may live until the process ends.
func readAnswer(ctx context.Context, in io.Reader, notes io.Writer, question string) (string, error) {
	fmt.Fprint(notes, question)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(in, 1<<10)).ReadString('\n') // no answer is a no
		answers <- strings.TrimSpace(line)
	}()
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		fmt.Fprintln(notes)
		return "", context.Cause(ctx)
	}
}
