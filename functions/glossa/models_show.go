package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"glossa/pkg/catalog"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/fit"
	"glossa/pkg/hub"
)

// modelsShowCommand returns glossa models show.
func (p *program) modelsShowCommand() *cobra.Command {
	var o modelsOptions
	c := &cobra.Command{
		Use: "show NAME", Short: "Show what is known about a model", Args: positional(1, "NAME"),
		Long: `Show the architecture, size, files, tokenizer and origin of a model, and the
memory that its weights need by format; or why it is not served.`,
		Example: "  glossa models show novels\n  glossa models show Qwen3-0.6B --json", ValidArgsFunction: p.completeModels,
	}
	servedFlags(c, &o)
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		m, err := p.show(c.Context(), o, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(p.stdout, m)
		}
		return m.print(p.stdout)
	}
	return c
}

// A shownModel is what is known about a model.
type shownModel struct {
	listedModel
	Refused      string           `json:"refused,omitempty"`             // why it is not served
	Experts      int64            `json:"expert_memory_bytes,omitempty"` // of experts in memory, whose others stay in the file; 0: all are in memory
	Repo         string           `json:"repo,omitempty"`                // on the hub
	Commit       string           `json:"commit,omitempty"`
	Quantisation string           `json:"quantisation,omitempty"` // of the file, by its name
	Tokenizer    string           `json:"tokenizer,omitempty"`    // its kind
	Template     string           `json:"chat_template,omitempty"`
	License      string           `json:"license,omitempty"`
	Memory       map[string]int64 `json:"memory_bytes,omitempty"` // of the weights, by format
	Room         int64            `json:"memory_limit,omitempty"` // bytes that weights may take here
	Files        []shownFile      `json:"files,omitempty"`
}

// A shownFile is a file of a model.
type shownFile struct {
	Name string `json:"name"`
	Size int64  `json:"bytes"`
}

// show describes a model of the listing, or one that is refused.
func (p *program) show(ctx context.Context, o modelsOptions, name string) (*shownModel, error) {
	c, err := p.catalogOf(o)
	if err != nil {
		return nil, err
	}
	cfg, err := o.configure(p)
	if err != nil {
		return nil, err
	}
	if cut := len(name) - len(":latest"); cut > 0 && strings.EqualFold(name[cut:], ":latest") {
		name = name[:cut]
	}
	entries, problems := c.Entries(ctx)
	local := path.Base(strings.TrimRight(name, "/"))
	for _, known := range []string{name, local} {
		for i := range entries {
			if entries[i].Name == known {
				return shown(&entries[i], cfg.Checkpoints, cfg.Memory), nil
			}
		}
		for _, problem := range problems {
			if unread, ok := errors.AsType[catalog.Unread](problem); ok && unread.Model == known {
				m := &shownModel{listedModel: listedModel{Name: known, Source: cfg.Checkpoints}, Refused: unread.Err.Error()}
				m.origin(cfg.Checkpoints)
				return m, nil
			}
		}
	}
	if e, err := c.Entry(ctx, name); err == nil { // an alias
		return shown(&e, cfg.Checkpoints, cfg.Memory), nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("there is no model %q%s", name, didYouMean(name, names))
}

// shown describes an entry.
func shown(e *catalog.Entry, dir string, room int64) *shownModel {
	m := &shownModel{listedModel: listed(*e)}
	if e.Run == nil {
		return m
	}
	m.Room, m.Memory = room, maps.Clone(e.Run.Sizes)
	if m.Memory == nil {
		m.Memory = map[string]int64{"stored": e.Run.Bytes}
	}
	m.read(e.Run)
	m.Experts = e.Run.Experts("stored", room)
	if _, _, err := fit.Format(m.Memory, room); err != nil && m.Experts == 0 {
		m.Refused = err.Error() + packHint(e.Run)
	}
	if e.Run.Source == dir {
		m.origin(dir)
	}
	return m
}

// origin adds the repository and the licence that the files in a directory of models tell.
func (m *shownModel) origin(dir string) {
	base, _, _ := strings.Cut(m.Name, ":")
	if o, err := hub.Pulled(filepath.Join(dir, base)); err == nil {
		m.Repo, m.Commit = o.Repo, o.Commit
	}
}

// read adds what the model's files say. What cannot be read is left out: the listing reports it.
func (m *shownModel) read(run *catalog.Run) {
	m.files(run)
	opened, err := arch.OpenAny(run.FS, run.Checkpoint)
	if err != nil {
		return
	}
	defer opened.Close()
	switch {
	case opened.Chat.Name != "":
		m.Template = opened.Chat.Name
	case !opened.Chat.Empty():
		m.Template = "the model's own"
	}
	if source, err := opened.TokenizerSource(); err == nil && source != nil {
		m.Tokenizer = source.Kind
	}
}

// files adds the files of a run, and the quantisation and licence of a GGUF file.
func (m *shownModel) files(run *catalog.Run) {
	at := path.Clean(run.Checkpoint)
	info, err := fs.Stat(run.FS, at)
	if err != nil {
		return
	}
	dir, only := at, ""
	if !info.IsDir() {
		dir, only = path.Dir(at), partOf.ReplaceAllString(strings.TrimSuffix(path.Base(at), path.Ext(at)), "")
	}
	entries, err := fs.ReadDir(run.FS, dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		stem := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		info, err := fs.Stat(run.FS, path.Join(dir, e.Name()))
		if err != nil || info.IsDir() || strings.HasPrefix(e.Name(), ".") || only != "" && partOf.ReplaceAllString(stem, "") != only {
			continue
		}
		m.Files = append(m.Files, shownFile{e.Name(), info.Size()})
		if strings.HasSuffix(e.Name(), ".gguf") {
			m.Quantisation = hub.QuantOf(stem)
			m.License = license(run.FS, path.Join(dir, e.Name()))
		}
	}
}

// license returns the licence that a GGUF file names, "" if it names none.
func license(fsys fs.FS, name string) string {
	f, err := fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	r, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	if !ok || err != nil {
		return ""
	}
	g, err := checkpoint.OpenGGUF(r, info.Size(), name)
	if err != nil {
		return ""
	}
	text, err := g.Meta.Text("general.license")
	if err != nil {
		return ""
	}
	return printable(text)
}

// print prints a model for people.
func (m *shownModel) print(w io.Writer) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, text)
		}
	}
	row("name", m.Name)
	row("refused", m.Refused)
	row("architecture", m.Type)
	row("family", m.Family)
	if m.Parameters > 0 {
		row("parameters", count(m.Parameters))
	}
	if m.Context > 0 {
		row("context", fmt.Sprintf("%d tokens", m.Context))
	}
	row("quantisation", m.Quantisation)
	row("tokenizer", m.Tokenizer)
	row("chat template", m.Template)
	row("licence", m.License)
	row("from", m.Repo)
	row("commit", m.Commit)
	row("source", m.Source)
	formats := slices.SortedFunc(maps.Keys(m.Memory), func(a, b string) int {
		if a == "stored" || b == "stored" {
			return strings.Compare(b, a) // it comes first
		}
		return cmp.Or(cmp.Compare(m.Memory[b], m.Memory[a]), strings.Compare(b, a))
	})
	for _, format := range formats {
		about := ""
		if m.Room > 0 && m.Memory[format] > m.Room {
			about = fmt.Sprintf(", does not fit into %s", fit.Bytes(m.Room))
		}
		row("memory "+format, fit.Bytes(m.Memory[format])+about)
	}
	if m.Experts > 0 {
		row("experts", fit.Bytes(m.Experts)+" in memory, the others stay in the file until they are used")
	}
	for _, f := range m.Files {
		row("file", f.Name+", "+fit.Bytes(f.Size))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
