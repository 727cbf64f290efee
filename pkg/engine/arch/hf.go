package arch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// openWeights opens the weights of a model.
func openWeights(fsys fs.FS, p *location) (*opened, error) {
	open := openHFWeights
	switch {
	case p.packed:
		open = openPackWeights
	case p.config == "":
		open = openGGUFWeights
	}
	return open(fsys, p)
}

// An opened model is complete except for its tokens.
type opened struct {
	*Model
	file   *checkpoint.File
	config *config // of a Hugging Face directory
	family *family
	viewer *viewer // of a model that reads pictures, or nil
	outer  *config // its configuration; config is that of its text's model
	dense  []Step  // of a GGUF file

	masked   *MaskedHead // of an encoder whose modules read it
	stanford *Dense      // the projection of Stanford's ColBERT

	unpacking *unpacking // of a packed model

	written int // the token of the language that an mBART writes; 0: it writes all of its languages
}

// openHF opens a Hugging Face directory.
func openHF(fsys fs.FS, p *location) (*Model, error) {
	o, err := openHFWeights(fsys, p)
	if err != nil {
		return nil, err
	}
	if err := o.readTokens(fsys, p); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	if err := o.readTask(fsys, p); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o.Model, nil
}

// readTask reads what the model does with texts, other than continuing them.
func (o *opened) readTask(fsys fs.FS, p *location) error {
	if ranks, err := o.readRanking(fsys, p); ranks || err != nil {
		return err
	}
	return o.readSentence(fsys, p)
}

func openHFWeights(fsys fs.FS, p *location) (*opened, error) {
	raw, err := readFile(fsys, p.config, maxConfigFile)
	if err != nil {
		return nil, err
	}
	if raw, err = withModelOpt(fsys, p, raw); err != nil {
		return nil, err
	}
	o := &opened{}
	s, l, err := o.readConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.config, err)
	}
	o.file, err = checkpoint.Open(fsys, p.weights)
	if err != nil {
		return nil, err
	}
	o.closer = o.file
	var renames []rename
	for prefix := range strings.FieldsSeq(l.prefix) {
		renames = append(renames, rename{prefix, ""})
	}
	skipped := o.family.skipped
	if o.viewer != nil {
		renames, skipped = slices.Concat(o.viewer.renames, renames), slices.Concat(o.viewer.skipped, skipped)
	}
	src := newSource(o.file, renames...)
	src.decode(o.config.scheme)
	if o.viewer != nil {
		l.tied = !src.has("lm_head.weight")
	}
	if o.viewer.sees(fsys, p) {
		if p.adapter != "" {
			return nil, errors.Join(fmt.Errorf("%s: adapters of models that read images are not supported", p.adapter), o.Close())
		}
		if err := o.openVision(fsys, p, src, s); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	} else if o.viewer != nil {
		skipped = append(skipped, "vision.")
	}
	if p.adapter != "" {
		if src.adapter, err = openAdapter(fsys, p, src); err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.closer = closers{o.file, src.adapter.file}
	}
	if o.family.detect != nil {
		o.family.detect(src, s, l)
	}
	for _, name := range skipped {
		src.ignore(name)
	}
	if name, _, _ := strings.Cut(l.head.names, " "); !src.has(name+".weight") && exists(fsys, p.beside(modulesFile)) {
		l.tied = true // a model that embeds texts needs no head
	}
	if err := o.readClassifier(src, s, l); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.config, err), o.Close())
	}
	if err := o.readMasked(fsys, p, src, s, l); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	if err := o.readStanford(src, s); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.config, err), o.Close())
	}
	buffers := o.family.buffers
	if o.viewer != nil {
		buffers = append(slices.Clip(buffers), "vision.embeddings.position_ids")
	}
	if o.Weights, err = build(src, s, l, buffers); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	if src.adapter != nil {
		if err := src.adapter.unused(skipped); err != nil {
			return nil, errors.Join(err, o.Close())
		}
		raw = append(raw, version(nil, src.adapter.file)...)
	}
	o.Spec, o.Version = s, version(raw, o.file)
	if added, ok := src.adapter.added(s, o.Weights); ok {
		o.shared, o.added = path.Clean(p.dir), added
	}
	return o, nil
}

// readConfig reads config.json.
func (o *opened) readConfig(raw []byte) (*transformer.Spec, *layout, error) {
	c, err := parseConfig(raw)
	if err != nil {
		return nil, nil, err
	}
	kind := c.text("model_type", "")
	if viewers[kind] != nil && *c.err == nil {
		return o.readViewer(c, kind)
	}
	switch o.family = families[kind]; {
	case kind == "bert" && c.text("position_embedding_type", "") == "alibi":
		o.family = &jinaV2
	case kind == "nomic_bert" && c.has("moe_every_n_layers"):
		o.family = &nomicMoE
	}
	switch {
	case *c.err != nil:
		return nil, nil, *c.err
	case kind == "" && c.has("modelConfig"):
		return nil, nil, errors.New("no model_type: the configuration of a training run of Alpha")
	case kind == "":
		return nil, nil, errors.New("no model_type")
	case o.family == nil:
		return nil, nil, refuse("model_type", kind, supported())
	}
	o.Model, o.config = &Model{Type: kind}, c
	return o.family.read(c)
}

// version is a digest of the configuration and of the tensors' names, types and sizes.
func version(config []byte, f *checkpoint.File) string {
	h := sha256.New()
	h.Write(config)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		h.Write([]byte(t.Name + "\x00" + string(t.Type)))
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(t.Size)))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// readTokens reads the tokenizer and special tokens of the directory.
func (o *opened) readTokens(fsys fs.FS, p *location) error {
	generation, err := readConfig(fsys, p.in(generationFile), maxConfigFile)
	if err != nil {
		return err
	}
	o.readEnds(generation)
	if len(o.Spec.Encoder) == 0 { // see also [Search]
		o.Suppress = generation.ids("suppress_tokens", o.Spec.Vocab)
	}
	if len(o.Spec.Encoder) > 0 && len(o.Spec.Decoder) > 0 {
		if translates(o.Type) {
			o.Translation = o.readTranslation(generation)
		} else {
			o.Seq2Seq = o.readSeq2Seq(generation)
		}
	}
	if *generation.err != nil {
		return fmt.Errorf("%s: %w", p.in(generationFile), *generation.err)
	}
	if *o.config.err != nil {
		return fmt.Errorf("%s: %w", p.config, *o.config.err)
	}
	w := tokenizerReader{opened: o, fsys: fsys, location: p}
	return w.read()
}

// readEnds reads the tokens that end a text, and the token of an empty one.
func (o *opened) readEnds(generation *config) {
	vocab := o.Spec.Vocab
	o.End = generation.ids("eos_token_id", vocab)
	if o.End == nil {
		o.End = o.config.ids("eos_token_id", vocab)
	}
	if end := o.family.eos.absent; o.End == nil && end >= 0 && end < vocab && string(o.config.fields["eos_token_id"]) != "null" {
		o.End = []int{end}
	}
	absent := o.family.bos.absent
	if absent < 0 || absent >= vocab || len(o.End) > 0 && !o.config.has("bos_token_id") {
		absent = firstOf(o.End, 0)
	}
	o.Empty = generation.id("bos_token_id", o.config.id("bos_token_id", absent, vocab), vocab)
}

// firstOf returns the first token of a list, or absent if it is empty.
func firstOf(list []int, absent int) int {
	if len(list) > 0 {
		return list[0]
	}
	return absent
}

// readSeq2Seq reads the tokens around texts.
func (o *opened) readSeq2Seq(generation *config) *Seq2Seq {
	vocab := o.Spec.Vocab
	q := &Seq2Seq{End: firstOf(o.End, 1)}
	start := o.config.id("pad_token_id", 0, vocab)
	if o.Type == bartType {
		start = q.End
	}
	q.DecoderStart = generation.id("decoder_start_token_id", o.config.id("decoder_start_token_id", start, vocab), vocab)
	forced := -1
	if o.config.flag("force_bos_token_to_be_generated", false) { // of older files
		forced = o.Empty
	}
	if forced = generation.id("forced_bos_token_id", o.config.id("forced_bos_token_id", forced, vocab), vocab); forced >= 0 {
		q.Begin = []int{forced}
	}
	if q.End >= vocab {
		o.config.reject("eos_token_id", "missing, in a vocabulary of %d", vocab)
	}
	q.Search = o.readAnswerSearch(generation, q.End)
	return q
}

// readAnswerSearch reads how answers are looked for; nil if the files say nothing, or that answers
// are drawn.
func (o *opened) readAnswerSearch(generation *config, end int) *Search {
	if o.generation(generation).flag("do_sample", false) {
		return nil
	}
	ends := o.End
	if len(ends) == 0 {
		ends = []int{end}
	}
	s := o.readSearch(generation, ends, Search{Beams: 1})
	if !s.Chooses() && s.MaxLength == 0 {
		return nil
	}
	return &s
}

// readTranslation reads what a translator does with texts.
func (o *opened) readTranslation(generation *config) *Translation {
	vocab := o.Spec.Vocab
	t := &Translation{
		DecoderStart: generation.id("decoder_start_token_id", o.config.id("decoder_start_token_id", 2, vocab), vocab),
		End:          firstOf(o.End, 2),
	}
	o.written = generation.id("forced_bos_token_id", o.config.id("forced_bos_token_id", 0, vocab), vocab)
	t.Search = o.readSearch(generation, []int{t.End}, Search{Beams: 5, MaxLength: 200})
	o.generation(generation).require([]requiredValue{{"do_sample", "false"}})
	if t.End >= vocab || t.DecoderStart >= vocab {
		o.config.reject("eos_token_id", "missing, and decoder_start_token_id, in a vocabulary of %d", vocab)
	}
	return t
}
