package hf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/subword"
)

// decoderPlan is a decoder of tokenizer.json: the text of each token, and the steps that
// work on the joined text.
type decoderPlan struct {
	texts []string            // by id: the text of the token
	skip  []bool              // by id: special tokens, and ids that are not used
	first func(id int) string // the text of a first token; nil if it does not differ
	bytes bool                // ByteFallback: tokens such as <0x0A> are bytes
	fused []fusedStep
}

// fusedStep is a decoder that works on the whole text, after Fuse.
type fusedStep struct {
	find       string // replaced by content; "" for Strip
	content    string // of Strip: the character to remove
	start, end int    // the largest number of removed characters
}

// addTokens gives special tokens and ids without a spelling an empty text.
func (p *decoderPlan) addTokens(spelling []string, added []AddedToken) {
	p.skip = make([]bool, len(spelling))
	for id, piece := range spelling {
		if p.skip[id] = piece == ""; p.skip[id] {
			p.texts[id] = ""
		}
	}
	for _, token := range added {
		if token.Special {
			p.texts[token.ID], p.skip[token.ID] = "", true
		}
	}
}

// tokenStep is a decoder that works on single tokens.
type tokenStep func(token string, first bool) string

// decoded returns what an added token decodes to. As in the reference, it is what is read.
func (t *Tokenizer) decoded(token AddedToken) string {
	if token.Normalized {
		return t.normalize.text(token.Content)
	}
	return token.Content
}

// readDecoder reads decoder for the vocabulary of t.
func readDecoder(s *fileStep, t *Tokenizer, added []AddedToken) (*decoderPlan, error) {
	list, err := flatten(s, maxTokenGrowth, func(s *fileStep) []fileStep { return s.Decoders })
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("decoder: null is not supported")
	}
	plan := &decoderPlan{texts: make([]string, len(t.spelling))}
	var steps []tokenStep
	firstDiffers := false
	rest := list // steps that work on the whole text
	for len(rest) > 0 && rest[0].Type != "Fuse" {
		s := &rest[0]
		rest = rest[1:]
		if plan.bytes = s.Type == "ByteFallback"; plan.bytes {
			if len(rest) > 0 && rest[0].Type != "Fuse" {
				return nil, fmt.Errorf("decoder: %s: only Fuse may follow", s.name())
			}
			break
		}
		step, err := readTokenStep(s)
		if err != nil {
			return nil, fmt.Errorf("decoder: %s: %w", s.name(), err)
		}
		steps = append(steps, step)
		firstDiffers = firstDiffers || s.Type == "Metaspace" || s.Type == "WordPiece"
		if s.Type == "ByteLevel" { // joins the tokens
			break
		}
	}
	for i := range rest {
		if rest[i].Type == "Fuse" {
			continue
		}
		step, err := readFused(&rest[i])
		if err != nil {
			return nil, fmt.Errorf("decoder: %s: %w", rest[i].name(), err)
		}
		plan.fused = append(plan.fused, step)
	}
	pieces := slices.Clone(t.spelling)
	for _, token := range added {
		pieces[token.ID] = t.decoded(token)
	}
	plan.decode(pieces, steps, firstDiffers)
	plan.addTokens(t.spelling, added)
	return plan, nil
}

// decode computes the text of each token.
func (p *decoderPlan) decode(pieces []string, steps []tokenStep, firstDiffers bool) {
	decode := func(id int, first bool) string {
		text := pieces[id]
		for _, step := range steps {
			text = step(text, first)
		}
		return text
	}
	for id := range p.texts {
		p.texts[id] = decode(id, false)
	}
	if firstDiffers {
		p.first = func(id int) string { return decode(id, true) }
	}
}

// readTokenStep reads a decoder that comes before Fuse.
func readTokenStep(s *fileStep) (tokenStep, error) {
	switch s.Type {
	case "ByteLevel":
		return func(token string, _ bool) string { return byteText(token) }, nil
	case "Metaspace":
		scheme, err := s.scheme()
		mark := s.Replacement
		return func(token string, first bool) string {
			if first && scheme != "never" {
				return strings.ReplaceAll(token, mark, "")
			}
			return strings.ReplaceAll(token, mark, " ")
		}, err
	case "WordPiece":
		return readWordPieceDecoder(s), nil
	case "Replace":
		find, err := s.Pattern.compile()
		content := s.Content
		return func(token string, _ bool) string { return find.on(token).replaceAll(token, content) }, err
	case "Strip":
		step, err := readStrip(s)
		return func(token string, _ bool) string {
			for i := 0; i < step.start && strings.HasPrefix(token, step.content); i++ {
				token = token[len(step.content):]
			}
			for i := 0; i < step.end && strings.HasSuffix(token, step.content); i++ {
				token = token[:len(token)-len(step.content)]
			}
			return token
		}, err
	}
	return nil, errors.New("it is not supported")
}

// readFused reads a decoder that comes after Fuse.
func readFused(s *fileStep) (fusedStep, error) {
	switch s.Type {
	case "Strip":
		return readStrip(s)
	case "Replace":
		if s.Pattern.String == nil || *s.Pattern.String == "" {
			return fusedStep{}, errors.New("after Fuse only a String is supported")
		}
		return fusedStep{find: *s.Pattern.String, content: s.Content}, nil
	}
	return fusedStep{}, errors.New("it is not supported after Fuse")
}

// maxStrip bounds the number of removed characters.
const maxStrip = 1 << 10

func readStrip(s *fileStep) (fusedStep, error) {
	switch {
	case utf8.RuneCountInString(s.Content) != 1:
		return fusedStep{}, fmt.Errorf("content %.40q is not a character", s.Content)
	case s.Start < 0 || s.Start > maxStrip || s.Stop < 0 || s.Stop > maxStrip:
		return fusedStep{}, fmt.Errorf("start %d and stop %d are not 0 to %d", s.Start, s.Stop, maxStrip)
	}
	return fusedStep{content: s.Content, start: s.Start, end: s.Stop}, nil
}

// start returns a decoder at the start of a text.
func (p *decoderPlan) start() tokenizer.Decoder {
	if p.first == nil && !p.bytes && len(p.fused) == 0 {
		return byteDecoder{p.texts}
	}
	d := &planDecoder{plan: p, atStart: true}
	for _, s := range p.fused {
		d.fused = append(d.fused, fusedText{fusedStep: s})
	}
	return d
}

// byteDecoder returns the bytes of each token, perhaps parts of runes.
type byteDecoder struct{ texts []string }

func (d byteDecoder) Next(id int) string {
	if id < 0 || id >= len(d.texts) {
		return ""
	}
	return d.texts[id]
}

func (d byteDecoder) Flush() string { return "" }

// planDecoder decodes by a plan in which the first token differs, or that has bytes or fused
// steps. As in the reference, a byte may make all of its run invalid, so a run is held back until
// it ends.
type planDecoder struct {
	plan    *decoderPlan
	atStart bool
	run     []byte // of adjacent byte tokens
	fused   []fusedText
}

func (d *planDecoder) Next(id int) string {
	if id < 0 || id >= len(d.plan.texts) || d.plan.skip[id] {
		return ""
	}
	text := d.plan.texts[id]
	if d.atStart && d.plan.first != nil {
		text = d.plan.first(id)
	}
	d.atStart = false
	if b, ok := subword.ParseByte(text); ok && d.plan.bytes {
		d.run = append(d.run, b)
		return ""
	}
	text = d.endRun() + text
	for i := range d.fused {
		text = d.fused[i].next(text)
	}
	return text
}

// endRun returns the text of a run of bytes: if it is not UTF-8, U+FFFD for each byte.
func (d *planDecoder) endRun() string {
	text := string(d.run)
	d.run = d.run[:0]
	if utf8.ValidString(text) {
		return text
	}
	return strings.Repeat("\uFFFD", len(text))
}

func (d *planDecoder) Flush() string {
	text := d.endRun()
	for i := range d.fused {
		text = d.fused[i].next(text) + d.fused[i].flush()
	}
	return text
}

// fusedText is the state of a fusedStep within a text.
type fusedText struct {
	fusedStep
	taken int    // characters at the beginning
	begun bool   // no more characters are removed at the beginning
	held  string // text that may still be replaced or removed
}

// next adds text and returns the part of the result that is certain.
func (f *fusedText) next(text string) string {
	text = f.held + text
	f.held = ""
	if f.find != "" {
		return f.replace(text)
	}
	for !f.begun && f.taken < f.start && strings.HasPrefix(text, f.content) {
		text = text[len(f.content):]
		f.taken++
	}
	if !f.begun && f.taken < f.start && strings.HasPrefix(f.content, text) {
		f.held = text // a part of the character, or empty
		return ""
	}
	f.begun = true
	keep := f.strip(text[:len(text)-overlap(text, f.content)])
	f.held = text[keep:]
	return text[:keep]
}

// strip returns the start of the characters that would be removed at the end of text.
func (f *fusedText) strip(text string) int {
	keep := len(text)
	for i := 0; i < f.end && strings.HasSuffix(text[:keep], f.content); i++ {
		keep -= len(f.content)
	}
	return keep
}

func (f *fusedText) replace(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, f.find)
		if !ok {
			break
		}
		b.WriteString(before)
		b.WriteString(f.content)
		text = after
	}
	keep := len(text) - overlap(text, f.find)
	b.WriteString(text[:keep])
	f.held = text[keep:]
	return b.String()
}

func (f *fusedText) flush() string {
	text := f.held
	f.held = ""
	if f.find == "" && f.begun {
		text = text[:f.strip(text)]
	}
	return text
}

// overlap returns the length of the longest suffix of text that is a proper prefix of s.
func overlap(text, s string) int {
	for n := min(len(text), len(s)-1); n > 0; n-- {
		if strings.HasSuffix(text, s[:n]) {
			return n
		}
	}
	return 0
}
