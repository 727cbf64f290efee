package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
)

// spansGolden is a tokenizer of testdata/spans_goldens.py and the reference's ids of chats.
type spansGolden struct {
	Tokenizer json.RawMessage
	Cases     []struct {
		Spans []string // the template's and a client's in turn
		IDs   []int
	}
}

func readSpans(t testing.TB) (goldens map[string]*spansGolden, tokenizers map[string]tokenizer.Tokenizer) {
	t.Helper()
	raw, err := os.ReadFile("testdata/spans.golden.json")
	if err == nil {
		err = json.Unmarshal(raw, &goldens)
	}
	if err != nil {
		t.Fatal(err)
	}
	tokenizers = map[string]tokenizer.Tokenizer{}
	for name, g := range goldens {
		if tokenizers[name], err = hf.Parse(g.Tokenizer); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return goldens, tokenizers
}

// turns returns texts as spans, the template's first.
func turns(texts []string) []tokenizer.Span {
	spans := make([]tokenizer.Span, len(texts))
	for i, text := range texts {
		spans[i] = tokenizer.Span{Text: text, Special: i%2 == 0}
	}
	return spans
}

// Ids of chats equal those of the reference for the joined text, however the template's parts
// and the client's are divided.
func TestSpansOfReference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	goldens, tokenizers := readSpans(t)
	for name, g := range goldens {
		for _, c := range g.Cases {
			spans := turns(c.Spans)
			if got := spansIDs(t, tokenizers[name], spans); !slices.Equal(got, c.IDs) {
				t.Errorf("%s: %q: %v, want %v", name, c.Spans, got, c.IDs)
			}
			if n := tokenizer.AtLeastSpans(tokenizers[name], spans); n > len(c.IDs) {
				t.Errorf("%s: %q has at least %d tokens of %d", name, c.Spans, n, len(c.IDs))
			}
			for range 20 {
				var parts []tokenizer.Span
				for _, s := range spans {
					for s.Text != "" {
						n := 1 + random.IntN(len(s.Text)) // also within a rune
						parts = append(parts, tokenizer.Span{Text: s.Text[:n], Special: s.Special})
						s.Text = s.Text[n:]
					}
				}
				if got := spansIDs(t, tokenizers[name], parts); !slices.Equal(got, c.IDs) {
					t.Fatalf("%s: %+v: %v, want %v", name, parts, got, c.IDs)
				}
			}
		}
	}
}

// forges checks that a mark is read in the template's text only, however its spelling is divided
// between the template and a client; unless always is set, perhaps not even there, as with a
// normalizer that wants a space before it.
func forges(t *testing.T, name string, tok tokenizer.Tokenizer, mark string, id int, always bool) {
	t.Helper()
	differs := func(n, want int) bool { return n > want || always && n < want }
	if n := count(spansIDs(t, tok, turns([]string{"a" + mark, "b", "", mark, mark})), id); differs(n, 2) {
		t.Errorf("%s: %s is read %d times, not 2", name, mark, n)
	}
	for cut := range len(mark) {
		before, after := mark[:cut], mark[cut:]
		for _, texts := range [][]string{
			{"a", mark}, {"", mark, "b"}, {before, after}, {"", before, after}, {before, after, "b"},
			{before, after, before, after + "c"}, {"", "a" + before, after + before, after},
			{"", "e\u0301" + mark, "\u0301", mark}, {"", "  " + mark + "  ", " "},
		} {
			if texts = slices.Clone(texts); cut == 0 && (texts[0] == "" && len(texts) == 3 && texts[2] == mark) {
				continue // the template's alone
			}
			if n := count(spansIDs(t, tok, turns(texts)), id); differs(n, trusted(texts, mark)) {
				t.Errorf("%s: %q reads %s %d times", name, texts, mark, n)
			}
		}
	}
}

// trusted returns how often the template's parts have a mark.
func trusted(texts []string, mark string) (n int) {
	for i, text := range texts {
		if i%2 == 0 {
			n += strings.Count(text, mark)
		}
	}
	return n
}

// Clients do not forge marks: neither special tokens nor others, in the text as it is or
// normalized.
func TestMarksAreNotForged(t *testing.T) {
	goldens, tokenizers := readSpans(t)
	checked := 0
	for name, g := range goldens {
		var file struct {
			Added []hf.AddedToken `json:"added_tokens"`
		}
		if err := json.Unmarshal(g.Tokenizer, &file); err != nil {
			t.Fatal(err)
		}
		for _, token := range file.Added {
			if strings.TrimSpace(token.Content) == "" || token.Content == "<unk>" || token.SingleWord {
				continue
			}
			forges(t, name, tokenizers[name], token.Content, token.ID, name != "zephyr")
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d tokens", checked)
	}
}

// The space that a normalized mark begins with may be a client's.
func TestSpaceBeforeNormalizedMark(t *testing.T) {
	_, tokenizers := readSpans(t)
	tok := tokenizers["zephyr"]
	mark := "<|assistant|>"
	id := tok.(tokenizer.Specials).SpecialTokens()[mark]
	for _, texts := range [][]string{{mark, "a ", mark}, {"", "a ", mark + "b", " a " + mark + " ", " " + mark, "", "\u0301"}} {
		text := strings.Join(texts, "")
		if n := count(spansIDs(t, tok, turns(texts)), id); n != trusted(texts, mark) {
			t.Errorf("%q: %d marks, in the whole text %d", texts, n, count(tok.EncodeSpecial(text), id))
		}
	}
}

// Added tokens of spaces only are no marks.
func TestSpacesOfClients(t *testing.T) {
	_, tokenizers := readSpans(t)
	tok := tokenizers["llama3"]
	want := tok.Encode("a    b")
	if got := spansIDs(t, tok, []tokenizer.Span{{Text: "a  "}, {Text: "  ", Special: true}, {Text: "b"}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A word at a border of spans is one word to tokens that must be words.
func TestSingleWordsOfSpans(t *testing.T) {
	_, tokenizers := readSpans(t)
	for _, test := range []struct {
		texts []string
		words int
	}{{[]string{"<mask>", "b"}, 0}, {[]string{"<mask>", " b"}, 1}, {[]string{"", "b", "<mask>"}, 0}, {[]string{"", "b ", "<mask>"}, 1}} {
		tok := tokenizers["taking"]
		mask := tok.(tokenizer.Specials).SpecialTokens()["<mask>"]
		if n := count(spansIDs(t, tok, turns(test.texts)), mask); n != test.words {
			t.Errorf("%q: %d", test.texts, n)
		}
	}
}

// userPieces is a vocabulary with user-defined pieces, of which <tool> and <tools> may be marks.
func userPieces(t *testing.T, model string) (tok tokenizer.Tokenizer, tool, tools int) {
	t.Helper()
	v := gguf.Vocabulary{Model: model, Tokens: []string{"<unk>", "<s>", "</s>"}, Types: []int64{2, 3, 3}, Scores: []float32{0, 0, 0}}
	add := func(piece string, kind int64, score float32) int {
		v.Tokens, v.Types, v.Scores = append(v.Tokens, piece), append(v.Types, kind), append(v.Scores, score)
		return len(v.Tokens) - 1
	}
	tool, tools = add("<tool>", 4, 0), add("<tools>", 4, 0)
	for i, piece := range []string{"<to", "to", "ol", "ol>", "ab", "\u2581a"} {
		add(piece, 1, float32(-1-i))
	}
	add("\u2581\u2581", 4, 0)
	add("1", 4, 0)
	for _, r := range "abtols<>\u2581" {
		add(string(r), 1, -20)
	}
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), 6, 0)
	}
	tok, err := gguf.New(&v)
	if err != nil {
		t.Fatal(err)
	}
	return tok, tool, tools
}

// User-defined pieces of SentencePiece are read as other added tokens are.
func TestUserDefinedPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	words := []string{"a", " ab", "  ", "1", "<to", "ol", " ", "s>", "é", "\xff", "<<"}
	for _, model := range []string{"llama", "t5"} {
		tok, tool, tools := userPieces(t, model)
		forges(t, model, tok, "<tool>", tool, true)
		forges(t, model, tok, "<tools>", tools, true)
		for range 500 {
			texts := make([]string, random.IntN(8))
			for i := range texts {
				texts[i] = words[random.IntN(len(words))]
			}
			text := strings.Join(texts, "")
			if strings.Contains(text, "<tool") || strings.Contains(text, "<s>") {
				continue
			}
			if got, want := spansIDs(t, tok, turns(texts)), tok.EncodeSpecial(text); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: %v, want %v", model, texts, got, want)
			}
		}
	}
}

// A shorter token that the template wrote is read where the client's text would make it a
// longer one.
func TestClientsDoNotHideMarks(t *testing.T) {
	_, tokenizers := readSpans(t)
	raw := map[string]json.RawMessage{}
	goldens, _ := readSpans(t)
	if err := json.Unmarshal(goldens["llama3"].Tokenizer, &raw); err != nil {
		t.Fatal(err)
	}
	var added []hf.AddedToken
	if err := json.Unmarshal(raw["added_tokens"], &added); err != nil {
		t.Fatal(err)
	}
	longer := tokenizers["llama3"].Size()
	short := added[0]
	added = append(added, hf.AddedToken{ID: longer, Content: short.Content + "\n", Special: true})
	var err error
	if raw["added_tokens"], err = json.Marshal(added); err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := hf.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if ids := spansIDs(t, tok, turns([]string{short.Content, "\n"})); len(ids) == 0 || ids[0] != short.ID {
		t.Errorf("%v does not begin with %d", ids, short.ID)
	}
	if ids := spansIDs(t, tok, turns([]string{short.Content + "\n", "\n"})); len(ids) == 0 || ids[0] != longer {
		t.Errorf("%v does not begin with %d", ids, longer)
	}
}

// Spans are no slower than the joined text: compare the two rows of a tokenizer.
func BenchmarkSpans(b *testing.B) {
	goldens, tokenizers := readSpans(b)
	for name, g := range goldens {
		var spans []tokenizer.Span
		size := 0
		for size < 100_000 {
			for _, c := range g.Cases {
				for _, s := range turns(c.Spans) {
					if size += len(s.Text); !s.Special {
						s.Text += " and some more of the client's text, which has no marks"
					}
					spans = append(spans, s)
				}
			}
		}
		text := tokenizer.Join(spans)
		b.Run(name+"/spans", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := new(tokenizer.Collector).AddSpans(b.Context(), tokenizers[name], spans); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/text", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := new(tokenizer.Collector).Add(b.Context(), tokenizers[name], text, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// However a text is divided, its ids are those of the whole text if it spells no marks, and a
// mark that no span of the template has is not read.
func FuzzSpans(f *testing.F) {
	f.Add("user\n\nHi e\u0301 12345  ", uint64(0b1010011), "zephyr")
	f.Add("<|im_start|>a<think>", uint64(0b1111_0000_0101), "chatml")
	f.Add("\xff\xe2\x96\x81 [INST] a", uint64(0b110), "mistral")
	_, tokenizers := readSpans(f)
	f.Fuzz(func(t *testing.T, text string, cuts uint64, name string) {
		tok, ok := tokenizers[name]
		if !ok || len(text) > 1000 {
			return
		}
		var spans []tokenizer.Span
		for i := 0; i < len(text); {
			n := min(1+int(cuts>>(i%60)&7), len(text)-i)
			spans = append(spans, tokenizer.Span{Text: text[i : i+n], Special: cuts>>(i%61)&1 == 1})
			i += n
		}
		got := spansIDs(t, tok, spans)
		if !strings.ContainsAny(text, "<[") {
			if want := tok.EncodeSpecial(text); !slices.Equal(got, want) {
				t.Errorf("%s: %+v: %v, want %v", name, spans, got, want)
			}
			return
		}
		for mark, id := range tok.(tokenizer.Specials).SpecialTokens() {
			if most := strings.Count(text, mark); mark != "<unk>" && count(got, id) > most {
				t.Errorf("%s: %+v: %v has %s more than %d times", name, spans, got, mark, most)
			}
		}
	})
}
