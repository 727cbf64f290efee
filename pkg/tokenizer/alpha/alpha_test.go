package alpha

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

func must(t testing.TB, raw string) tokenizer.Tokenizer {
	t.Helper()
	tok, err := Parse(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

const (
	charRaw = `{"type":"char","vocabSize":5,"vocab":["\n","a","b","é","😀"]}`
	wordRaw = `{"type":"word","vocabSize":5,"vocab":["\n","cat","sat","the","<|user|>"],"specialTokens":["<|user|>"]}`
	bpeRaw  = `{"type":"bpe","vocabSize":9,"vocab":[" ","a","b","<","<|end|>","<|end|>x","ab","abab"," a"],
		"merges":[[1,2],[6,6],[0,1]],"specialTokens":[" <|end|> ","<|end|>x","<|absent|>",""]}`
)

func TestChar(t *testing.T) {
	tok := must(t, charRaw)
	if got := tok.Encode("aé?😀\nb"); !slices.Equal(got, []int{1, 3, 4, 0, 2}) {
		t.Errorf("Encode: %v", got)
	}
	if got := tokenizer.Decode(tok, []int{1, 3, 99, -1, 4, 0}); got != "aé😀\n" {
		t.Errorf("Decode: %q", got)
	}
	if tok.Size() != 5 || tok.Piece(3) != "é" || tok.Piece(5) != "" || tok.Piece(-1) != "" {
		t.Error("Size or Piece")
	}
}

// Upstream joins with spaces and then removes those around line ends.
func TestWord(t *testing.T) {
	tok := must(t, wordRaw)
	for _, c := range []struct {
		text string
		ids  []int
		back string
	}{
		{"the cat\nsat", []int{3, 1, 0, 2}, "the cat\nsat"},
		{"  the\t cat \r\n\n sat ", []int{3, 1, 0, 0, 2}, "the cat\n\nsat"},
		{"the dog sat", []int{3, 2}, "the sat"},
		{"\nthe\n", []int{0, 3, 0}, "\nthe\n"},
		{"", nil, ""},
		{"the\u00a0cat\ufeffsat", []int{3, 1, 2}, "the cat sat"},
		{"the\u0085cat", nil, ""}, // not white space in JavaScript
		{"<|user|> the", []int{3}, "the"},
	} {
		ids := tok.Encode(c.text)
		if !slices.Equal(ids, c.ids) {
			t.Errorf("%q: %v, want %v", c.text, ids, c.ids)
		}
		back := tokenizer.Decode(tok, ids)
		pieces := []string{}
		for _, id := range ids {
			pieces = append(pieces, tok.Piece(id))
		}
		joined := strings.Join(pieces, " ")
		for _, around := range []string{" \n ", " \n", "\n "} {
			joined = strings.ReplaceAll(joined, around, "\n")
		}
		if back != c.back || joined != c.back {
			t.Errorf("%q: %q, upstream's way %q, want %q", c.text, back, joined, c.back)
		}
	}
	if got := tok.EncodeSpecial("the<|user|>\ncat"); !slices.Equal(got, []int{3, 4, 0, 1}) {
		t.Errorf("EncodeSpecial: %v", got)
	}
}

func TestWordStream(t *testing.T) {
	tok := must(t, wordRaw)
	d := tok.NewDecoder()
	var got []string
	for _, id := range []int{3, 1, 4, 0, 2, 77} {
		got = append(got, d.Next(id))
	}
	if want := []string{"the", " cat", "", "\n", "sat", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpecials(t *testing.T) {
	tok := must(t, bpeRaw)
	for _, c := range []struct {
		text          string
		plain, parsed []int
	}{
		{"abab", []int{7}, []int{7}},
		{"ab<|end|>ab", []int{6, 3, 6}, []int{6, 4, 6}},
		{"<|end|>x", []int{3}, []int{5}},
		{"<|end|> a", []int{3, 8}, []int{4, 8}},
		{"<|end|<|end|>", []int{3, 3}, []int{3, 4}},
		{"<|absent|>", []int{3, 6}, []int{3, 6}},
		{"", nil, nil},
	} {
		if got := tok.Encode(c.text); !slices.Equal(got, c.plain) {
			t.Errorf("Encode(%q) = %v, want %v", c.text, got, c.plain)
		}
		if got := tok.EncodeSpecial(c.text); !slices.Equal(got, c.parsed) {
			t.Errorf("EncodeSpecial(%q) = %v, want %v", c.text, got, c.parsed)
		}
	}
	if got := tokenizer.Decode(tok, []int{6, 4, 5, 1}); got != "aba" {
		t.Errorf("Decode: %q", got)
	}
	if got := tok.(tokenizer.Specials).SpecialTokens(); len(got) != 2 || got["<|end|>"] != 4 || got["<|end|>x"] != 5 {
		t.Errorf("SpecialTokens: %v", got)
	}
}

func TestFromAlphaRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		``:     "unexpected end",
		`null`: "vocab: 0 entries",
		`{"type":"char","vocabSize":2,"vocab":["a"]}`:                                                      "vocabSize is 2, vocab has 1",
		`{"type":"char","vocabSize":2,"vocab":["a","a"]}`:                                                  `entries 0 and 1 are both "a"`,
		`{"type":"char","vocabSize":1,"vocab":[""]}`:                                                       "entry 0 is empty",
		`{"type":"byte_bpe","vocabSize":1,"vocab":["a"]}`:                                                  `not "byte_bpe"`,
		`{"type":"bpe","vocabSize":1,"vocab":["a"],"merges":[[0,0]]}`:                                      "1 merges in a vocab of 1",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[0]]}`:                                   "merge 0 has 1 ids",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[0,0,0]]}`:                               "merge 0 has 3 ids",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[0,1]]}`:                                 "merge 0 uses id 1",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[-1,0]]}`:                                "merge 0 uses id -1",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[0,99999999999]]}`:                       "merge 0 uses id 99999999999",
		`{"type":"bpe","vocabSize":3,"vocab":["a","aa","b"],"merges":[[0,0],[0,0]]}`:                       "merge 1 repeats merge 0",
		`{"type":"bpe","vocabSize":2,"vocab":["a","aa"],"merges":[[0,0]],"specialTokens":["a"]}`:           `special token "a"`,
		`{"type":"char","vocabSize":1,"vocab":["a"],"specialTokens":["` + strings.Repeat("x", 300) + `"]}`: "longer than 256",
		`{"type":"char","vocabSize":1,"vocab":[1]}`:                                                        "cannot unmarshal number",
	} {
		_, err := Parse(json.RawMessage(raw))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "tokenizer: ") {
			t.Errorf("%.80s: %v, want %q", raw, err, want)
		}
	}
}

// Two merges may spell the same text; upstream's trainer makes such vocabularies.
func TestMergesMaySpellTheSame(t *testing.T) {
	tok := must(t, `{"type":"bpe","vocabSize":7,"vocab":["a","b","c","ab","bc","abc","abc"],"merges":[[0,1],[1,2],[3,2],[0,4]]}`)
	if got := tok.Encode("abc"); !slices.Equal(got, []int{5}) {
		t.Errorf("%v", got)
	}
}

func TestTrainRefuses(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		size       int
	}{{"bpe", "", 10}, {"bpe", "ab", 0}, {"bpe", "ab", 1 << 20}, {"char", "\xff", 1}, {"gpt2", "ab", 10}} {
		if _, err := Train(c.kind, c.text, c.size); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

func TestTrainWord(t *testing.T) {
	a, err := Train(Word, "the cat\r\nsat  the\u3000mat", 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"\n", "cat", "mat", "sat", "the"}; !slices.Equal(a.Vocab, want) {
		t.Errorf("%q", a.Vocab)
	}
}

func FuzzFromAlpha(f *testing.F) {
	for _, raw := range []string{charRaw, wordRaw, bpeRaw} {
		f.Add(raw, "the cat ab<|end|>")
	}
	f.Fuzz(func(t *testing.T, raw, text string) {
		tok, err := Parse(json.RawMessage(raw))
		if err != nil {
			return
		}
		specials := tok.(tokenizer.Specials).SpecialTokens()
		for _, id := range tok.Encode(text) {
			if _, ok := specials[tok.Piece(id)]; ok || id < 0 || id >= tok.Size() {
				t.Fatalf("Encode gives id %d", id)
			}
		}
		for _, id := range tok.EncodeSpecial(text) {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("EncodeSpecial gives id %d of %d", id, tok.Size())
			}
		}
	})
}

func FuzzEncodeDecode(f *testing.F) {
	f.Add("the cat\nsat on\n\nthe mat", uint8(0))
	f.Add("aaaa bbb", uint8(1))
	f.Add(" a  b \n", uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		if len(text) > 1000 {
			return
		}
		k := []string{BPE, Char, Word}[kind%3]
		a, err := Train(k, text, 50)
		if err != nil {
			return
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		tokenizertest.CheckBounds(t, k, tok, text+"zé")
		want := text
		if k == Word {
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				lines[i] = strings.Join(strings.FieldsFunc(line, isSpace), " ")
			}
			want = strings.Join(lines, "\n")
		}
		if got := tokenizer.Decode(tok, tok.Encode(text)); got != want {
			t.Fatalf("%s: %q came back as %q", k, want, got)
		}
	})
}
