package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/sentencepiece"
)

// withTokenizer returns an engine with random weights and the given tokenizer, in which
// the tokens ends end texts.
func withTokenizer(t testing.TB, tok tokenizer.Tokenizer, context int, cfg Config, ends ...int) *Engine {
	t.Helper()
	ck := weighted(checkpoint.ModelConfig{VocabSize: tok.Size(), BlockSize: context, NLayer: 2, NEmbd: 32, NHead: 4})
	ck.Tokenizer = alphaTokenizer(tok.Size())
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	m.Tokenizer, m.End = tok, ends
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// alphaTokenizer is a tokenizer of size characters.
func alphaTokenizer(size int) json.RawMessage {
	var vocab []string
	for i := range size {
		vocab = append(vocab, string(rune(0x4e00+i)))
	}
	raw, _ := json.Marshal(map[string]any{"type": "char", "vocabSize": size, "vocab": vocab})
	return raw
}

// characters is a tokenizer of the characters of JSON and a few others.
func characters(t testing.TB) tokenizer.Tokenizer {
	t.Helper()
	vocab := []string{"\n"}
	for r := ' '; r < 0x7f; r++ {
		vocab = append(vocab, string(r))
	}
	vocab = append(vocab, "é", "日")
	raw, _ := json.Marshal(map[string]any{"type": "char", "vocabSize": len(vocab), "vocab": vocab})
	words, err := alpha.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// unusedLong is a tokenizer that has long tokens but never encodes with them.
type unusedLong struct {
	tokenizer.Tokenizer
	long []string
}

func (a unusedLong) Size() int { return a.Tokenizer.Size() + len(a.long) }
func (a unusedLong) NewDecoder() tokenizer.Decoder {
	return unusedLongDecoder{a, a.Tokenizer.NewDecoder()}
}

type unusedLongDecoder struct {
	unusedLong
	tokenizer.Decoder
}

func (d unusedLongDecoder) Next(id int) string {
	if id -= d.Tokenizer.Size(); id >= 0 {
		return d.long[id]
	}
	return d.Decoder.Next(id + d.Tokenizer.Size())
}

// openTokenizer reads a tokenizer of the tests of hf or sentencepiece.
func openTokenizer(t testing.TB, file string) tokenizer.Tokenizer {
	t.Helper()
	dir, open := "hf", hf.Parse
	if strings.HasSuffix(file, ".model") {
		dir, open = "sentencepiece", sentencepiece.Parse
	}
	raw, err := os.ReadFile("../tokenizer/" + dir + "/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	words, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// longTokens is a tokenizer of characters with long tokens, the last of which is
// `":true}`.
func longTokens(t testing.TB) tokenizer.Tokenizer {
	t.Helper()
	return unusedLong{characters(t), []string{`{"na`, `[{"a long and `, `tedious key":`, `{"ok`, `":true}`}}
}

// vocabularies are tokenizers of every kind that constraints support, each with a token
// that ends texts, -1 for none.
func vocabularies(t testing.TB) map[string]struct {
	words tokenizer.Tokenizer
	end   int
} {
	type one = struct {
		words tokenizer.Tokenizer
		end   int
	}
	return map[string]one{
		"characters":         {characters(t), -1},
		"long tokens":        {longTokens(t), 0},
		"bytes":              {openTokenizer(t, "gpt2.tokenizer.json"), 0},
		"bytes, llama 3":     {openTokenizer(t, "llama3.tokenizer.json"), -1},
		"sentencepiece":      {openTokenizer(t, "sp.unigrambytes.model"), 2},
		"sentencepiece, bpe": {openTokenizer(t, "sp.bpebytes.model"), 2},
		"fallback, llama 2":  {openTokenizer(t, "llama2.tokenizer.json"), 2},
		"line feeds":         {tokenizer.WithNewline(openTokenizer(t, "gpt2.tokenizer.json"), 3), -1},
	}
}

// eachEngine calls do with an engine of each of them.
func eachEngine(t *testing.T, context int, do func(t *testing.T, e *Engine)) {
	for name, v := range vocabularies(t) {
		t.Run(name, func(t *testing.T) {
			var ends []int
			if v.end >= 0 {
				ends = []int{v.end}
			}
			do(t, withTokenizer(t, v.words, context, Config{PrefixMemory: -1}, ends...))
		})
	}
}

// The bytes of a text's tokens are the text, except for the space that SentencePiece puts
// before it and for runes that only bytes can spell.
func TestVocabulary(t *testing.T) {
	eachEngine(t, 64, func(t *testing.T, e *Engine) {
		v, err := e.constraints.vocabulary()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`{"name":"a b","n":-12.5e3}`, "the  quick brown\tfox", "é and 日本 and \u00a0 and 🦊"} {
			var got strings.Builder
			for _, id := range e.tokenizer.Encode(text) {
				got.WriteString(v.Token(id))
			}
			want := tokenizer.Decode(e.tokenizer, e.tokenizer.Encode(text))
			if s := strings.TrimPrefix(got.String(), " "); s != want {
				t.Errorf("%q, decoded %q", s, want)
			}
		}
		if s, ok := e.tokenizer.(tokenizer.Specials); ok {
			for mark, id := range s.SpecialTokens() {
				if id < v.Size() && v.Token(id) != "" {
					t.Errorf("special %s adds %q", mark, v.Token(id))
				}
			}
		}
		for id := range e.ends {
			if v.Token(id) != "" {
				t.Errorf("the end adds %q", v.Token(id))
			}
		}
	})
}

func constrainedRequest(schema string, p llm.Params) *llm.Request {
	p.Schema = json.RawMessage(schema)
	return with(p)
}

const (
	personSchema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"kind":{"enum":["cat","cow","dog"]}},"required":["name","age","kind"]}`
	listSchema   = `{"type":"array","minItems":2,"items":{"type":"object","properties":{"a long and tedious key":{"type":"boolean"}},"required":["a long and tedious key"]}}`
	flagSchema   = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	answerSchema = `{"type":"object","properties":{"a":{"enum":["yes","no, certainly not at all"]}},"required":["a"],"additionalProperties":false}`
	onlySchema   = `{"const":{"ok":true,"no":false}}`
	nestedSchema = `{"anyOf":[{"const":{"a":{}}},{"const":{"a":{"b":{"c":"d"}}}},{"const":{"a":{"b":"d"}}}]}`
)

func TestConstraintRejected(t *testing.T) {
	e := withTokenizer(t, characters(t), 128, Config{})
	words, err := alpha.Parse(json.RawMessage(`{"type":"word","vocabSize":4,"vocab":["\n","{","}","a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	joined := withTokenizer(t, words, 128, Config{})
	unspelt := larger(t, nil)
	long := constrainedRequest(flagSchema, llm.Params{})
	long.Prompts[0] = llm.Text(strings.Repeat("a", 120))
	for _, test := range []struct {
		name, param string
		code        llm.Code
		says        string
		e           *Engine
		req         *llm.Request
	}{
		{"two forms", "grammar", llm.Invalid, "schema", e, constrainedRequest(flagSchema, llm.Params{Grammar: new("root ::= [a-z]+")})},
		{"no JSON", "schema", llm.Invalid, "", e, constrainedRequest(`{`, llm.Params{})},
		{"no such type", "schema", llm.Invalid, "/properties/a: type: ", e, constrainedRequest(`{"type":"object","properties":{"a":{"type":"nothing"}}}`, llm.Params{})},
		{"no grammar", "grammar", llm.Invalid, "line 1", e, with(llm.Params{Grammar: new("root :")})},
		{"stop", "stop", llm.Invalid, "", e, constrainedRequest(flagSchema, llm.Params{Stop: []string{"x"}})},
		{"too few tokens", "max_new_tokens", llm.Invalid, "11", e, constrainedRequest(flagSchema, llm.Params{MaxTokens: new(10)})},
		{"no tokens", "max_new_tokens", llm.Invalid, "11", e, constrainedRequest(flagSchema, llm.Params{MaxTokens: new(0), Echo: new(true)})},
		{"too little room", "", llm.TooLong, "may need 11 tokens, but the prompt leaves 8", e, long},
		{"words", "schema", llm.Unsupported, "joins words by spaces", joined, constrainedRequest(flagSchema, llm.Params{})},
		{"no such character", "schema", llm.Unsupported, "'{'", unspelt, constrainedRequest(flagSchema, llm.Params{})},
	} {
		for range 2 { // the second time the error is cached
			_, _, err := llm.Collect(test.e.Generate(t.Context(), test.req), 1)
			if got := llm.AsError(err); err == nil || got.Code != test.code || got.Param != test.param || !strings.Contains(got.Message, test.says) {
				t.Errorf("%s: got %v, want %s of %q", test.name, err, test.code, test.param)
			}
		}
	}
	long.Truncate = new(0) // leaves room
	for _, schema := range []string{flagSchema, fmt.Sprintf(`{"enum":[%q]}`, strings.Repeat("long", 25))} {
		long.Schema = json.RawMessage(schema)
		if rows, usage := collect(t, e, long); !json.Valid([]byte(rows[0].Text)) || !usage.Truncated {
			t.Errorf("%+v %+v", rows[0], usage)
		}
	}
}

// Constraints are compiled once. Only the most recently used are cached.
func TestConstraintsCached(t *testing.T) {
	e := withTokenizer(t, characters(t), 64, Config{})
	bound := func(name string) *grammar.Constraint {
		c, err := e.constraint(t.Context(), &llm.Params{Schema: json.RawMessage(fmt.Sprintf(`{"enum":[%q]}`, name))})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := bound("first"), bound("second")
	for i := range maxConstraints - 2 {
		bound(fmt.Sprint(i))
	}
	if bound("first") != first {
		t.Error("the first is made again")
	}
	bound("one more")
	if bound("first") != first || bound("second") == second || len(e.constraints.entries) != maxConstraints {
		t.Error("others went than the one that waited longest")
	}
	text := `{"enum":["x"]}`
	schema, err := e.constraint(t.Context(), &llm.Params{Schema: json.RawMessage(text)})
	if err != nil || schema == nil {
		t.Error(err)
	}
	if _, err := e.constraint(t.Context(), &llm.Params{Grammar: &text}); err == nil {
		t.Error("a schema is taken for a grammar")
	}
}

// A compilation that ended for another reason than the constraint is tried again. An
// invalid constraint is rejected again without more work.
func TestConstraintsRetried(t *testing.T) {
	e := withTokenizer(t, characters(t), 64, Config{Turns: grammar.NewTurns(1)})
	made := 0
	bind := func(ctx context.Context, source string, then func()) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		_, err = e.constraints.get(ctx, "schema", source, func(c *grammar.Compiler) (*grammar.Grammar, error) {
			made++
			then()
			return c.Schema([]byte(source), grammar.Generating())
		})
		return err
	}
	nothing := func() {}
	gone, cancel := context.WithCancel(t.Context())
	for _, x := range []struct {
		source string
		first  error
		do     func()
		ctx    context.Context
		made   int // by both calls
		last   bool
	}{
		{`{"type":"null"}`, nil, nothing, t.Context(), 1, true},
		{`{"type":"nothing"}`, errors.New("type"), nothing, t.Context(), 1, false},
		{`{"type":"string"}`, errors.New("panic: at the first"), func() { panic("at the first") }, t.Context(), 2, true},
		{`{"type":"string","pattern":"a.{9}b"}`, context.Canceled, cancel, gone, 2, true},
	} {
		made = 0
		if err := bind(x.ctx, x.source, x.do); (err == nil) != (x.first == nil) || err != nil && !strings.Contains(err.Error(), x.first.Error()) {
			t.Errorf("%s: first %v, want %v", x.source, err, x.first)
		}
		if err := bind(t.Context(), x.source, nothing); (err == nil) != x.last || made != x.made {
			t.Errorf("%s: then %v, made %d times, want %d", x.source, err, made, x.made)
		}
	}
}

// A request that waits for another's compilation takes it over if that request leaves.
func TestConstraintsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := withTokenizer(t, characters(t), 64, Config{Turns: grammar.NewTurns(1)})
		_, _ = e.constraints.vocabulary()
		gone, cancel := context.WithCancel(t.Context())
		started, leave := make(chan struct{}), make(chan struct{})
		compile := func(c *grammar.Compiler) (*grammar.Grammar, error) { return c.GBNF(`root ::= [ab]* "a" [ab]{12}`) }
		errs := make(chan error, 2)
		go func() {
			_, err := e.constraints.get(gone, "grammar", "a", func(c *grammar.Compiler) (*grammar.Grammar, error) {
				close(started)
				<-leave
				return compile(c)
			})
			errs <- err
		}()
		<-started
		go func() {
			form, err := e.constraints.get(t.Context(), "grammar", "a", compile)
			if form == nil {
				err = cmp.Or(err, errors.New("there is no form"))
			}
			errs <- err
		}()
		synctest.Wait()
		cancel()
		close(leave)
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error("the first:", err)
		}
		if err := <-errs; err != nil {
			t.Error("the second:", err)
		}
	})
}
