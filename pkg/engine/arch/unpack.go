package arch

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"glossa/pkg/chat"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/kinds"
)

// openPack opens a packed model. See [OpenPaged] for pages, the bytes of experts in memory; 0: all.
func openPack(fsys fs.FS, p *location, pages int64) (*Model, error) {
	o, err := openPackWeights(fsys, p)
	if err != nil {
		return nil, err
	}
	if pages > 0 {
		if err := o.leaveExperts(pages); err != nil {
			return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), o.Close())
		}
	}
	if err := o.unpacking.start(); err != nil { // in the background
		return nil, errors.Join(err, o.Close())
	}
	if err := o.readPackTokens(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), o.Close())
	}
	return o.Model, nil
}

func openPackWeights(fsys fs.FS, p *location) (*opened, error) {
	f, err := checkpoint.Open(fsys, p.weights)
	if err != nil {
		return nil, err
	}
	o := &opened{Model: &Model{closer: f}, file: f}
	err = o.readRun(fsys, p)
	if err == nil {
		err = o.readPack()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), f.Close())
	}
	return o, nil
}

// readPack reads the description of a packed model and finds its tensors.
func (o *opened) readPack() error {
	version, err := o.file.PackVersion()
	if err != nil {
		return err
	}
	text, err := o.file.Meta.Text(packModelKey)
	if err != nil {
		return err
	}
	d, err := decodeDescription(version, text)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", packModelKey, err)
	}
	m := o.Model
	m.Type, m.Spec, m.Start, m.Empty, m.End, m.Suppress, m.Tokens = d.Type, d.Spec, d.Start, d.Empty, d.End, d.Suppress, d.Tokens
	m.Chat, m.Translation, m.Seq2Seq, m.Sentence, m.Ranking, m.Vision = d.Chat, d.Translation, d.Seq2Seq, d.Sentence, d.Ranking, d.Vision
	if d.ChatTemplate != "" {
		m.Chat = chat.Source{Name: d.ChatTemplate}
	}
	m.Version = o.file.Digest()
	u := &unpacking{file: o.file, types: d.Types, used: map[string]bool{}, experts: map[int]bool{}}
	o.unpacking = u
	if m.Weights, err = u.layers("", m.Spec); err != nil {
		return err
	}
	if v := m.Vision; v != nil {
		if v.Weights, err = u.layers(visionPrefix, v.Spec); err != nil {
			return err
		}
	}
	if err := u.heads(m.Sentence, m.Ranking, m.Vision); err != nil {
		return err
	}
	if index, ok := o.file.Index(packTrie); ok {
		u.used[packTrie] = true
		m.trie = func() ([]byte, error) { return u.bytes(index), u.fetch.Wait(index) }
	}
	for i := range o.file.Tensors {
		if name := o.file.Tensors[i].Name; !u.used[name] {
			return fmt.Errorf("tensor %.80q: unknown in this model", name)
		}
	}
	return nil
}

// check rejects descriptions that the engine cannot run.
func (d *description) check() error {
	s := d.Spec
	if !supports(d.Type) && d.Type != alphaType {
		return fmt.Errorf("type %.40q is not supported", d.Type)
	}
	if err := checkSpec(s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if math.Abs(float64(s.EmbedScale)) > maxWidth {
		return fmt.Errorf("spec: embed_scale: %v", s.EmbedScale)
	}
	if d.Tokens < 1 || d.Tokens > s.Vocab || d.Empty < 0 || d.Empty >= s.Vocab {
		return fmt.Errorf("tokens: %d, and the empty text is token %d, of %d", d.Tokens, d.Empty, s.Vocab)
	}
	if err := d.checkTask(); err != nil {
		return err
	}
	for _, id := range slices.Concat(d.Start, d.End, d.Suppress) {
		if id < 0 || id >= s.Vocab {
			return fmt.Errorf("token %d is not below %d", id, s.Vocab)
		}
	}
	if max(len(d.Start), len(d.End), len(d.Suppress)) > maxEnds {
		return fmt.Errorf("%d tokens at the start, %d ends, %d that are not written", len(d.Start), len(d.End), len(d.Suppress))
	}
	if name := d.ChatTemplate; name != "" && name != chat.Llama3 && name != chat.ChatML {
		return fmt.Errorf("chat_template %.40q is unknown", name)
	}
	if err := d.Seq2Seq.check(s); err != nil {
		return fmt.Errorf("seq2seq: %w", err)
	}
	return d.Translation.check(s)
}

// check rejects tokens out of range and searches that the engine cannot run.
func (q *Seq2Seq) check(s *transformer.Spec) error {
	if q == nil {
		return nil
	}
	tokens := append([]int{q.DecoderStart, q.End}, q.Begin...)
	if len(q.Begin) > maxEnds || slices.Min(tokens) < 0 || slices.Max(tokens) >= s.Vocab {
		return fmt.Errorf("texts from token %d to %d, which begin with %v, of %d", q.DecoderStart, q.End, q.Begin, s.Vocab)
	}
	return q.Search.check(s)
}

// check rejects searches that the engine cannot run and tokens out of range.
func (t *Translation) check(s *transformer.Spec) error {
	if t == nil {
		return nil
	}
	switch err := t.Search.check(s); {
	case err != nil:
		return fmt.Errorf("translations: %w", err)
	case t.MaxLength == 0:
		return errors.New("translations: no max_length")
	case t.DecoderStart < 0 || t.DecoderStart >= s.Vocab || t.End < 0 || t.End >= s.Vocab:
		return fmt.Errorf("translations from token %d to %d of %d", t.DecoderStart, t.End, s.Vocab)
	case !t.checkLanguages(s):
		return fmt.Errorf("translations: a language without a code, a token that is not below %d, or too many of them", s.Vocab)
	}
	return nil
}

// unpacking fetches the tensors of a packed model into memory.
type unpacking struct {
	file  *checkpoint.File
	types map[string]dtype.Type
	used  map[string]bool

	experts map[int]bool // indexes of tensors of experts
	paged   bool         // these stay in the file

	fetch *checkpoint.Fetch // nil before start
	users atomic.Int32      // stacks of layers that are not closed
}

// layers finds the weights of layers whose names have a prefix.
func (u *unpacking) layers(prefix string, s *transformer.Spec) (*transformer.Weights, error) {
	last := []int{0} // by stage: the last tensor that it needs
	w, err := transformer.Unpack(s, func(name string, stage int, expert bool) (transformer.StoredTensor, bool) {
		name = prefix + name
		index, ok := u.file.Index(name)
		if !ok {
			return transformer.StoredTensor{}, false
		}
		info := &u.file.Tensors[index]
		u.used[name] = true
		if expert {
			u.experts[index] = true
		}
		for len(last) <= stage {
			last = append(last, 0)
		}
		last[stage] = max(last[stage], index)
		return transformer.StoredTensor{
			Floats: info.Type == dtype.F32, Type: u.types[name], Shape: info.Shape, Bytes: func() []byte { return u.bytes(index) }, Page: index,
		}, true
	})
	if err != nil {
		return nil, err
	}
	for stage := 1; stage < len(last); stage++ { // a stage needs the tensors of the previous ones
		last[stage] = max(last[stage], last[stage-1])
	}
	w.Await = func(stage int) error { return u.fetch.Wait(last[min(stage, len(last)-1)]) }
	w.Release = u.release
	u.users.Add(1)
	return w, nil
}

// start starts fetching.
func (u *unpacking) start() (err error) {
	var later func(int) bool
	if u.paged {
		later = func(tensor int) bool { return u.experts[tensor] }
	}
	u.fetch, err = u.file.Fetch(kernel.Allocate, later)
	return err
}

// leaveExperts leaves the experts of the model in its file, and at most so many bytes of them in memory.
func (o *opened) leaveExperts(memory int64) error {
	u := o.unpacking
	if len(u.experts) == 0 {
		return errors.New("it has no experts that could stay in the file")
	}
	u.paged = true
	o.Weights.Pages, o.Weights.PageMemory = pages{u}, memory
	return nil
}

// pages implements [transformer.Pages].
type pages struct{ *unpacking }

func (p pages) Bring(tensor int) { p.fetch.Bring(tensor) }

func (p pages) Check(tensor int) error { return p.fetch.Check(tensor) }

func (p pages) Drop(tensor int) { p.fetch.Drop(tensor) }

// bytes returns a tensor's memory.
func (u *unpacking) bytes(tensor int) []byte { return u.fetch.Bytes(tensor) }

// release implements [transformer.Weights.Release]: the last stack releases the memory.
func (u *unpacking) release() {
	if u.users.Add(-1) == 0 {
		u.fetch.Release()
	}
}

// readPackTokens reads the tokenizer of a packed model.
func (o *opened) readPackTokens() error {
	meta := o.file.Meta
	kind, err := meta.Text(packTokenizerKey)
	if errors.Is(err, checkpoint.ErrNoKey) {
		return nil
	}
	src := &tokenizer.Source{Kind: kind, Parts: map[string][]byte{}}
	for key, value := range meta {
		name, ok := strings.CutPrefix(key, packTokenizerKey+".")
		text, _ := value.(string)
		if !ok {
			continue
		}
		part := []byte(text)
		if name, ok = strings.CutSuffix(name, packBase64); ok {
			if part, err = base64.StdEncoding.DecodeString(text); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		src.Parts[name] = part
	}
	if o.Tokenizer, err = kinds.Open(src); err != nil {
		return fmt.Errorf("%s: %w", packTokenizerKey, err)
	}
	o.source = func() (*tokenizer.Source, error) { return src, nil }
	if o.Translation != nil && len(o.Translation.Sources) == 0 { // older files do not list them
		o.Translation.setLanguages(o.Type, o.Tokenizer, "", "")
	}
	return nil
}
