package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
	"glossa/pkg/tokenizer"
)

// read returns the schemas of MaskBench.
func read(dir string) (tasks []*task, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no schemas in %s (%v)", dir, err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var f struct {
			Schema json.RawMessage
			Tests  []struct {
				Valid bool
				Data  json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t := &task{File: filepath.Base(name), Schema: string(f.Schema)}
		for _, test := range f.Tests {
			if test.Valid {
				t.valid = append(t.valid, test.Data)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// measure measures every schema once. A schema with every kind of value first fills the
// caches of the vocabulary.
func measure(w *work, tokens []string, t tokenizer.Tokenizer) (*result, error) {
	r := &result{Engine: "glossa", Vocabulary: w.Name, Tokens: len(tokens), Schemas: len(w.Schemas)}
	start := now()
	v := pushdown.NewVocabulary(tokens)
	g, err := grammar.Schema([]byte("{}"), automaton.Generating())
	if err != nil {
		return nil, err
	}
	c, err := g.Bind(v)
	if err != nil {
		return nil, err
	}
	c.Start().Mask(plenty)
	r.Once = since(start)
	for _, s := range w.Schemas {
		if err := r.schema(s, v, t); err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
	}
	return r, nil
}

// plenty is more tokens than any text has.
const plenty = 1 << 20

// spare is the number of tokens beyond those of an instance in a tight budget.
const spare = 8

// since returns microseconds.
func since(start time.Duration) float64 { return float64(now()-start) / 1e3 }

func (r *result) schema(s *task, v *pushdown.Vocabulary, t tokenizer.Tokenizer) error {
	start := now()
	g, err := grammar.Schema([]byte(s.Schema), automaton.Generating())
	if err != nil {
		return nil
	}
	c, err := g.Bind(v)
	if err != nil { // only with a limited vocabulary
		return nil
	}
	compiled := since(start)
	m := c.Start()
	m.Mask(max(plenty, c.Min()))
	r.Compile, r.First = append(r.Compile, compiled), append(r.First, since(start))
	r.Accepted++
	s.Texts = [][]int{}
	for _, raw := range s.valid {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		r.Instances++
		text, ok := g.Canonical(value)
		if !ok {
			r.Outside++
			fmt.Fprintf(os.Stderr, "%s: a valid instance is not generated\n", s.File)
			continue
		}
		ids := t.Encode(text)
		s.Texts = append(s.Texts, ids)
		if !r.walk(c.Start(), ids) {
			r.Wrong++
			fmt.Fprintf(os.Stderr, "%s: a mask stops a valid instance\n", s.File)
		}
		r.squeeze(c.Start(), ids)
	}
	return nil
}

// walk accepts the tokens of a text and reports whether every mask allowed them.
func (r *result) walk(m *pushdown.Matcher, ids []int) bool {
	for _, id := range ids {
		start := now()
		mask := m.Mask(plenty)
		masked := since(start)
		if mask.Bits[id/64]>>(id%64)&1 == 0 {
			return false
		}
		start = now()
		if !m.Take(id) {
			return false
		}
		r.Mask, r.Step = append(r.Mask, masked), append(r.Step, masked+since(start))
	}
	return m.Accepts()
}

// squeeze measures masks with few tokens left, as far as the text can be written: the tokens
// reserved for the end may exceed those that this text needs.
func (r *result) squeeze(m *pushdown.Matcher, ids []int) {
	for i, id := range ids {
		left := len(ids) - i + spare
		if left < m.Cost() {
			return
		}
		start := now()
		mask := m.Mask(left)
		r.Tight = append(r.Tight, since(start))
		if mask.Bits[id/64]>>(id%64)&1 == 0 || !m.Take(id) {
			return
		}
	}
}
