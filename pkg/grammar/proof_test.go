package grammar_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

var proofs = flag.Int("proof", 3000, "how many pairs of a schema and max_tokens TestProof tries; a tenth with -short")

// A claim is a schema, a vocabulary and a limit: every sampled text is complete and valid
// within the limit.
type claim struct {
	schema, vocab int
	more          int // tokens above the minimum
}

// A schemaCase is a schema to generate texts for.
type schemaCase struct {
	name    string
	raw     []byte
	grammar *grammar.Grammar
	judge   *jsonschema.Schema // nil: it does not support the schema
}

// limits are numbers of tokens above the minimum: all of the smallest, which cut texts
// short, and some larger ones.
func limits() (more []int) {
	for i := range 41 {
		more = append(more, i)
	}
	return append(more, 50, 75, 100, 150, 250, 400)
}

// TestProof checks the promise: for every max_tokens from the minimum on, every text parses,
// validates and ends within max_tokens, and no mask is ever empty.
func TestProof(t *testing.T) {
	own, others := ownSchemas(t), benchSchemas(t)
	cases, vocabs := slices.Concat(own, others), vocabularies(t)
	count := map[string]int{}
	for _, c := range claims(len(own), len(others), len(vocabs)) {
		f, v := &cases[c.schema], &vocabs[c.vocab]
		bound, err := f.grammar.Bind(v.ready)
		if err != nil {
			if v.name != "characters" {
				t.Errorf("%s over %s: %v", f.name, v.name, err)
			}
			count["not spelled by the vocabulary"]++
			continue
		}
		w := &writer{constraint: bound, vocab: v, random: rand.New(rand.NewPCG(uint64(c.schema)<<8|uint64(c.vocab), uint64(c.more)))}
		s := samplers[w.random.IntN(len(samplers))]
		limit := bound.Min() + c.more
		if err = w.run(s, limit); err == nil {
			err = f.check(w.text())
		}
		if err != nil {
			t.Errorf("%s over %s, at most %d tokens, %s: %v\n\twrote  %.500q\n\tschema %.500s", f.name, v.name, limit, s.name, err, w.text(), compact(f.raw))
		}
		count["texts"]++
		count["texts of "+v.name]++
		count["texts of sampler "+s.name]++
		if len(w.taken) < bound.Min() {
			count["texts of fewer tokens than Min says suffice"]++
		}
		if len(w.taken) == limit {
			count["texts that end with the last token"]++
		}
		if f.judge == nil {
			count["texts that nothing else could judge"]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%6d %s", count[what], what)
	}
}

// claims chooses as many claims as the flag says, half of them for our own schemas, in the
// order of the schemas.
func claims(own, others, vocabs int) []claim {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from, to, n int) (list []claim) {
		for s := from; s < to; s++ {
			for v := range vocabs {
				for _, more := range limits() {
					list = append(list, claim{s, v, more})
				}
			}
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:min(n, len(list))]
	}
	n := *proofs
	if testing.Short() {
		n /= 10
	}
	rest := pick(own, own+others, n/2)
	list := append(pick(0, own, n-len(rest)), rest...)
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(a.schema-b.schema, a.vocab-b.vocab, a.more-b.more)
	})
	return list
}

// run generates a text of at most limit tokens.
func (w *writer) run(s sampler, limit int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	w.at = w.constraint.Start()
	for left := limit; left > 0 && !w.at.Complete(); left-- {
		if cost := w.at.Cost(); cost > left {
			return fmt.Errorf("it costs %d tokens to end, there are %d", cost, left)
		}
		mask := w.at.Mask(left)
		allowed := list(mask)
		if err := w.inspect(mask, allowed); err != nil {
			return err
		}
		if len(allowed) == 0 { // the text may end and no continuation fits the limit
			break
		}
		id := s.choose(w, allowed)
		if id < 0 && w.at.Accepts() {
			break
		}
		if id < 0 {
			id = allowed[w.random.IntN(len(allowed))]
		}
		if !w.at.Take(id) {
			return fmt.Errorf("token %d %q is in the mask and cannot be taken", id, w.vocab.tokens[id])
		}
		w.taken = append(w.taken, id)
	}
	if !w.at.Accepts() {
		return errors.New("the text is not whole")
	}
	return nil
}

// inspect checks a mask: it is not empty, its count is right, it agrees with the forced
// tokens, and tokens outside it cannot be taken unless only the limit excludes them.
func (w *writer) inspect(mask *pushdown.Mask, allowed []int) error {
	if len(allowed) != mask.Count {
		return fmt.Errorf("the mask has %d tokens and says %d", len(allowed), mask.Count)
	}
	if len(allowed) == 0 && !w.at.Accepts() {
		return errors.New("the mask is empty")
	}
	cut, in := mask.Cut, slices.Clone(allowed)
	if forced := w.at.Forced(); forced != "" {
		for _, id := range in {
			if text := w.vocab.tokens[id]; !strings.HasPrefix(text, forced) && !strings.HasPrefix(forced, text) {
				return fmt.Errorf("%q is forced and the mask allows %q", forced, text)
			}
		}
	}
	id := w.random.IntN(len(w.vocab.tokens))
	if _, ok := slices.BinarySearch(in, id); ok || len(w.taken) > 40 || w.random.IntN(4) > 0 {
		return nil
	}
	other := w.replay()
	before := other.Cost()
	if took := other.Take(id); took && !cut {
		return fmt.Errorf("token %d %q can be taken and is not in the mask", id, w.vocab.tokens[id])
	} else if !took && other.Cost() != before {
		return fmt.Errorf("token %d %q was not taken and the cost went from %d to %d", id, w.vocab.tokens[id], before, other.Cost())
	}
	return nil
}

// check validates a text independently of the code that generated it.
func (f *schemaCase) check(text string) error {
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(text)); err != nil {
		return err
	}
	if line.String() != text {
		return errors.New("the text is not compact")
	}
	if err := noKeyTwice(text); err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	if !f.grammar.Match(text) {
		return errors.New("the text does not match its own grammar")
	}
	if f.judge == nil {
		return nil
	}
	return f.judge.Validate(value)
}

// noKeyTwice refuses a JSON text with a duplicate key in an object.
func noKeyTwice(text string) error {
	type level struct {
		keys  map[string]bool // nil: an array
		value bool            // after a key
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end: the text is known to parse
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open) - 1; n >= 0 && open[n].keys != nil {
			if open[n].value = !open[n].value; open[n].value {
				key := token.(string)
				if open[n].keys[key] {
					return fmt.Errorf("the key %q is there twice", key)
				}
				open[n].keys[key] = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		}
	}
}

// ownSchemas returns the schemas of testdata; each must compile.
func ownSchemas(t testing.TB) (cases []schemaCase) {
	files := schemaFiles(t)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		var schemas map[string]json.RawMessage
		if err := json.Unmarshal(files[file], &schemas); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			f, err := newSchemaCase(file+": "+name, schemas[name])
			if err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
				continue
			}
			if f.judge == nil {
				t.Errorf("%s: %s: no other validator understands it", file, name)
			}
			cases = append(cases, f)
		}
	}
	return cases
}

// benchSchemas returns the schemas of MaskBench that compile.
func benchSchemas(t testing.TB) (cases []schemaCase) {
	groups, files := suites[0].read(t)
	if files == 0 {
		t.Logf("%s is not in %s: only the schemas of testdata are tried (see -data)", suites[0].name, *data)
	}
	for _, g := range groups {
		if f, err := newSchemaCase(g.file, g.Schema); err == nil {
			cases = append(cases, f)
		}
	}
	return cases
}

func newSchemaCase(name string, raw []byte) (schemaCase, error) {
	g, err := grammar.Schema(raw, automaton.Generating())
	if err != nil {
		return schemaCase{}, err
	}
	f := schemaCase{name: name, raw: raw, grammar: g}
	if f.judge, err = judge(raw); err != nil {
		f.judge = nil
	}
	return f, nil
}
