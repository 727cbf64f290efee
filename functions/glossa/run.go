package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/fit"
	"glossa/pkg/hub"
	"glossa/pkg/repl"
)

// runOptions holds the flags and arguments of glossa run.
type runOptions struct {
	chatOptions
	pull  pullOptions
	quant string // of weights in memory; "": chosen
}

// runCommand returns glossa run, which downloads a model if it is missing, and chats with it.
func (p *program) runCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use: "run MODEL[:QUANT] [PROMPT]", Short: "Chat with a model; download it first if it is missing",
		Long: `Chat with a model. A model OWNER/NAME of the Hugging Face hub that is missing is
downloaded first, in the quantisation QUANT or the one that fits into this
machine's memory. A model that is there starts without the network. With a
prompt, as an argument or on the standard input, it prints one answer.`,
		Example: `  glossa run Qwen/Qwen3-0.6B
  glossa run bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M
  glossa run Qwen3-0.6B "Why is the sky blue?"
  echo 'Why is the sky blue?' | glossa run Qwen3-0.6B --temperature 0`,
		ValidArgsFunction: p.completeChats,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing argument MODEL")
			}
			return nil
		},
	}
	o.chatOptions.flags(c)
	o.pull.flags(c.Flags())
	c.Flags().StringVar(&o.quant, "quant", "", "`format` of weights in memory: "+strings.Join(catalog.Quants(), ", ")+" (default stored, or the largest that fits) [$"+variable("quant")+"]")
	completeWords(c, "quant", catalog.Quants()...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.quant != "" && !isFormat(o.quant) {
			return usagef("--quant: %q must be %s", o.quant, strings.Join(catalog.Quants(), ", "))
		}
		o.complete(args)
		if err := o.check(p.stdin); err != nil { // before a download
			return err
		}
		models, err := o.models(c.Context(), p)
		if err != nil {
			return err
		}
		o.Models = models.Models()
		return o.chatOptions.run(c.Context(), repl.Streams{In: p.stdin, Out: p.stdout, Notes: p.stderr})
	}
	return c
}

// models returns the app that holds the model, which it downloads if it is missing, with the
// format of weights that fits. It sets the model's name to that of the app.
func (o *runOptions) models(ctx context.Context, p *program) (*app.App, error) {
	a, err := p.open(o.checkpoints, o.quant)
	if err != nil {
		return nil, err
	}
	dir, room, err := o.place(p)
	if err != nil {
		return nil, err
	}
	o.pull.room = room
	entry, err := o.find(ctx, a, dir)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		if err := o.fetch(ctx, p, a); err != nil {
			return nil, err
		}
		if a, err = p.open(o.checkpoints, o.quant); err != nil {
			return nil, err
		}
		if entry, err = o.find(ctx, a, dir); err == nil && entry == nil {
			err = o.unserved()
		}
		if err != nil {
			return nil, err
		}
	}
	o.Model = entry.Name
	return o.fitted(p, a, entry, room)
}

// place returns the local directory of models, "" for one in S3, and the bytes that weights
// may take.
func (o *runOptions) place(p *program) (dir string, room int64, err error) {
	cfg, err := p.environment()
	if err != nil {
		return "", 0, err
	}
	if dir, err = p.modelsDir(o.checkpoints, &cfg); err != nil || bucket.IsURL(dir) {
		return "", cfg.Memory, nil // the starters and the models of S3 need no directory
	}
	return dir, cfg.Memory, nil
}

// find returns the entry of the model, nil if it must be downloaded.
func (o *runOptions) find(ctx context.Context, a *app.App, dir string) (*catalog.Entry, error) {
	text := o.Model
	if cut := len(text) - len(":latest"); cut > 0 && strings.EqualFold(text[cut:], ":latest") {
		text = text[:cut]
	}
	if e, err := a.Catalog().Entry(ctx, text); err == nil && e.Name != "" && o.pull.Revision == "" {
		return &e, nil
	}
	ref, err := hub.ParseReference(text)
	if err != nil {
		return nil, nil // fetch says why it is not the name of a model
	}
	base, err := modelName(dir, ref.Repo)
	if err != nil {
		return nil, err
	}
	origin, err := pulled(dir, base)
	if err != nil {
		return nil, err
	}
	if strings.Contains(ref.Repo, "/") && !strings.EqualFold(ref.Repo, origin.Repo) {
		return nil, nil
	}
	if revision := cmp.Or(o.pull.Revision, ref.Revision); revision != "" && revision != origin.Revision && revision != origin.Commit {
		return nil, nil
	}
	entries, _ := a.Catalog().Entries(ctx)
	entries = slices.DeleteFunc(entries, func(e catalog.Entry) bool {
		return e.Run == nil || e.Name != base && !strings.HasPrefix(e.Name, base+":")
	})
	quant := ref.Quant
	if strings.HasSuffix(ref.File, ".gguf") {
		name, there := origin.Names[ref.File]
		if !there {
			return nil, nil
		}
		quant = partOf.ReplaceAllString(strings.TrimSuffix(name, ".gguf"), "")
	}
	e, err := o.among(entries, base, quant, filepath.Join(dir, base), origin.Partial)
	if e == nil && err == nil && !origin.Partial {
		err = refused(ctx, a, base, quant)
	}
	return e, err
}

// refused returns why a model that is there is not served, nil if it is not there.
func refused(ctx context.Context, a *app.App, base, quant string) error {
	_, problems := a.Catalog().Entries(ctx)
	for _, problem := range problems {
		unread, ok := errors.AsType[catalog.Unread](problem)
		if ok && (quant == "" && unread.Model == base || quant != "" && strings.EqualFold(unread.Model, base+":"+quant)) {
			return fmt.Errorf("%s is there, but cannot be served: %w; glossa models rm %s removes it", unread.Model, unread.Err, unread.Model)
		}
	}
	return nil
}

// pulled returns the origin of a directory of models, the zero value if no pull wrote it.
func pulled(dir, base string) (hub.Origin, error) {
	if dir == "" {
		return hub.Origin{}, nil
	}
	origin, err := hub.Pulled(filepath.Join(dir, base))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return origin, fmt.Errorf("%s: %w", filepath.Join(dir, base), err)
	}
	return origin, nil
}

// among returns the entry of a directory's models that has a quantisation, or without one the
// entry that fits best; nil if there is none.
func (o *runOptions) among(entries []catalog.Entry, base, quant, dir string, partial bool) (*catalog.Entry, error) {
	if quant == "" {
		if len(entries) == 0 || len(entries) == 1 && entries[0].Name == base && partial && !hasGGUF(dir) {
			return nil, nil
		}
		list := make([]fit.Candidate, len(entries))
		for i, e := range entries {
			_, name, _ := strings.Cut(e.Name, ":")
			list[i] = fit.Candidate{Name: cmp.Or(hub.QuantOf(name), name), Size: e.Run.Sizes["stored"]}
		}
		choice, err := fit.Choose(list, o.pull.room)
		if err != nil { // the format in memory is chosen afterwards
			choice.Index = slices.IndexFunc(entries, func(e catalog.Entry) bool {
				return !slices.ContainsFunc(entries, func(other catalog.Entry) bool { return least(other) < least(e) })
			})
		}
		return &entries[choice.Index], nil
	}
	var alike []*catalog.Entry // in the quantisation; the hub and the directory may name a file differently
	for i := range entries {
		stem := partOf.ReplaceAllString(strings.TrimSuffix(path.Base(entries[i].Run.Checkpoint), ".gguf"), "")
		if strings.EqualFold(entries[i].Name, base+":"+quant) || strings.EqualFold(stem, quant) {
			return &entries[i], nil
		}
		if strings.EqualFold(hub.QuantOf(stem), quant) {
			alike = append(alike, &entries[i])
		}
	}
	if len(alike) == 1 {
		return alike[0], nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if weights, _ := filepath.Glob(filepath.Join(dir, "model*.safetensors")); len(weights) > 0 {
		files = nil // the engine reads the safetensors
	}
	if len(entries) != 1 || entries[0].Name != base {
		return nil, nil
	}
	for _, file := range files {
		stem := partOf.ReplaceAllString(strings.TrimSuffix(filepath.Base(file), ".gguf"), "")
		if strings.EqualFold(hub.QuantOf(stem), quant) || strings.EqualFold(stem, quant) {
			return &entries[0], nil
		}
	}
	if len(files) == 0 && isFormat(quant) { // safetensors
		o.quant = cmp.Or(o.quant, strings.ToLower(quant))
		return &entries[0], nil
	}
	return nil, nil
}

// least returns the memory of an entry's weights in the smallest format, bytes.
func least(e catalog.Entry) int64 {
	size := int64(math.MaxInt64)
	for _, n := range e.Run.Sizes {
		if n > 0 {
			size = min(size, n)
		}
	}
	return size
}

// hasGGUF reports whether a directory has a GGUF file.
func hasGGUF(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	return err == nil && len(files) > 0
}

// fetch downloads the model.
func (o *runOptions) fetch(ctx context.Context, p *program, a *app.App) error {
	if err := o.pull.parse(o.Model); err != nil {
		if hint := repl.FileHint(o.Model); hint != "" {
			return usagef("there is no model %q: %s", o.Model, hint)
		}
		return err
	}
	o.pull.to, o.pull.running = o.checkpoints, true
	if err := o.pull.complete(p); err != nil {
		return err
	}
	if !strings.Contains(o.pull.Repo, "/") {
		origin, err := pulled(o.pull.to, o.pull.Repo)
		if err != nil {
			return err
		}
		if origin.Repo == "" {
			return o.unknown(ctx, a)
		}
		o.pull.Repo = origin.Repo // another quantisation, or the rest, of a model that is there
	}
	_, err := o.pull.download(ctx, p.stderr, p.stderr)
	return err
}

// unknown returns the error of a name without an owner that no model has.
func (o *runOptions) unknown(ctx context.Context, a *app.App) error {
	if hint := repl.FileHint(o.Model); hint != "" {
		return fmt.Errorf("there is no model %q: %s", o.Model, hint)
	}
	var names []string
	entries, _ := a.Catalog().Entries(ctx)
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return fmt.Errorf("there is no model %q%s; to download a model, name its owner too: glossa run OWNER/NAME", o.Model, didYouMean(o.Model, names))
}

// unserved returns the error of a download in which no model was found.
func (o *runOptions) unserved() error {
	return fmt.Errorf("%s is downloaded, but %s has no model that can be served; glossa models rm %s removes it", o.pull.Repo, o.pull.dir(), o.pull.name)
}

// packHint says what would help a mixture of experts that does not fit, "" if nothing would.
func packHint(r *catalog.Run) string {
	if r.Mixture && len(r.Paged) == 0 {
		return catalog.PackHint
	}
	return ""
}

// fitted returns the app with the format of weights that fits, and says so if it is not that of
// the files. The user's own format prevails.
func (o *runOptions) fitted(p *program, a *app.App, e *catalog.Entry, room int64) (*app.App, error) {
	cfg, err := p.environment()
	if err != nil {
		return nil, err
	}
	if o.quant != "" {
		return p.open(o.checkpoints, o.quant)
	}
	if cfg.Quant != "" || e.Run == nil || e.Run.Sizes == nil {
		return a, nil
	}
	format, reason, err := fit.Format(e.Run.Sizes, room)
	switch {
	case err != nil:
		if e.Run.Experts("stored", room) > 0 {
			fmt.Fprintf(p.stderr, "%s: %s\n", e.Name, fit.Paged(e.Run.Sizes["stored"], room))
			return a, nil
		}
		return nil, fmt.Errorf("%s: %w%s; GLOSSA_MEMORY sets another bound", e.Name, err, packHint(e.Run))
	case format == "stored":
		return a, nil
	}
	fmt.Fprintf(p.stderr, "%s: %s\n", e.Name, reason)
	return p.open(o.checkpoints, format)
}
