package hf

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

func golden(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Parse(tokenizertest.ReadFile(t, "testdata", name+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok.(*Tokenizer)
}

var families = []string{"gpt2", "llama3"}

func TestGoldenPieces(t *testing.T) {
	for _, name := range families {
		split := golden(t, name).steps[0].split
		for _, c := range tokenizertest.Cases(t, "testdata", name) {
			if got := slices.Collect(tokenizertest.PiecesOf(split, c.Text)); !slices.Equal(got, c.Pieces) {
				t.Errorf("%s: %q\n got %q\nwant %q", name, c.Text, got, c.Pieces)
			}
		}
	}
}

func TestGoldenIDs(t *testing.T) {
	for _, name := range families {
		tok := golden(t, name)
		special := 0
		for _, c := range tokenizertest.Cases(t, "testdata", name) {
			if c.Special == nil {
				c.Special = c.Plain
			} else {
				special++
			}
			if got := tok.Encode(c.Text); !slices.Equal(got, c.Plain) {
				t.Errorf("%s: Encode(%q)\n got %v\nwant %v", name, c.Text, got, c.Plain)
			}
			if got := tok.EncodeSpecial(c.Text); !slices.Equal(got, c.Special) {
				t.Errorf("%s: EncodeSpecial(%q)\n got %v\nwant %v", name, c.Text, got, c.Special)
			}
			back := c.Text
			if tok.normalize != nil {
				back = norm.NFC.String(back)
			}
			if got := tokenizer.Decode(tok, tok.Encode(c.Text)); got != back {
				t.Errorf("%s: %q decodes to %q", name, c.Text, got)
			}
		}
		if special < 5 {
			t.Errorf("%s: only %d cases with special tokens", name, special)
		}
	}
}

// The two files are equivalent to tokenizer.json, except for its added tokens.
func TestFromVocabMerges(t *testing.T) {
	tok, err := ParseGPT2(tokenizertest.ReadFile(t, "testdata", "gpt2.vocab.json"), tokenizertest.ReadFile(t, "testdata", "gpt2.merges.txt"))
	if err != nil {
		t.Fatal(err)
	}
	full := golden(t, "gpt2")
	same := 0
	for _, c := range tokenizertest.Cases(t, "testdata", "gpt2") {
		if norm.NFC.String(c.Text) != c.Text || slices.ContainsFunc(c.Plain, func(id int) bool { return id >= tok.Size() }) {
			continue
		}
		same++
		if got := tok.EncodeSpecial(c.Text); !slices.Equal(got, c.Plain) {
			t.Errorf("%q: %v, want %v", c.Text, got, c.Plain)
		}
	}
	if same < 40 || tok.Size() >= full.Size() || tok.Piece(500) != full.Piece(500) {
		t.Errorf("%d cases, %d of %d ids", same, tok.Size(), full.Size())
	}
	var vocab map[string]int
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "gpt2.vocab.json"), &vocab); err != nil {
		t.Fatal(err)
	}
	end := len(vocab)
	vocab["<|endoftext|>"] = end
	raw, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	if tok, err = ParseGPT2(raw, tokenizertest.ReadFile(t, "testdata", "gpt2.merges.txt")); err != nil {
		t.Fatal(err)
	}
	if got := tok.EncodeSpecial("<|endoftext|>"); !slices.Equal(got, []int{end}) {
		t.Errorf("EncodeSpecial: %v, want %d", got, end)
	}
	if got := tok.Encode("<|endoftext|>"); slices.Contains(got, end) {
		t.Errorf("Encode: %v", got)
	}
	if got := tok.(tokenizer.Specials).SpecialTokens(); len(got) != 1 || got["<|endoftext|>"] != end {
		t.Errorf("special tokens: %v", got)
	}
}

// Text never becomes a special token, even if the vocabulary has it as a piece.
func TestSpecialPiece(t *testing.T) {
	vocab := map[string]int{"abc": 256}
	for b := range 256 {
		vocab[string(bpe.ByteRune(byte(b)))] = b
	}
	added := []AddedToken{{ID: 256, Content: "abc", Special: true}}
	tok := &Tokenizer{steps: []preStep{{split: pretoken.Llama3}}}
	if err := tok.setBytes(vocab, nil, added, true); err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("abc"); !slices.Equal(got, []int{'a', 'b', 'c'}) {
		t.Errorf("Encode: %v", got)
	}
	if got := tok.EncodeSpecial("abc"); !slices.Equal(got, []int{256}) {
		t.Errorf("EncodeSpecial: %v", got)
	}
}

// unusedBytes are the bytes that UTF-8 never uses.
const unusedBytes = "\xc0\xc1\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"

// bytesWithout builds a tokenizer of single bytes, each its own id, without some of them.
func bytesWithout(missing string, added ...AddedToken) (*Tokenizer, error) {
	vocab := map[string]int{}
	for b := range 256 {
		if strings.IndexByte(missing, byte(b)) < 0 {
			vocab[string(bpe.ByteRune(byte(b)))] = b
		}
	}
	return NewByteLevel(ByteLevel{Vocab: vocab, Added: added, Split: pretoken.GPT2})
}

// Bytes that UTF-8 never uses may be added tokens, as in DeepSeek's first files, or missing.
func TestMissingBytes(t *testing.T) {
	added := AddedToken{ID: 300, Content: "ü", Normalized: true}
	special := AddedToken{ID: 300, Content: "ü", Special: true}
	for _, c := range []struct {
		missing string
		added   []AddedToken
		text    string
		want    []int
		decoded string
	}{
		{unusedBytes, nil, "a\xc0\xff", []int{'a', 0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd}, "a\ufffd\ufffd"},
		{unusedBytes, nil, "für", []int{'f', 0xc3, 0xbc, 'r'}, "für"},
		{unusedBytes, []AddedToken{added}, "für", []int{'f', 300, 'r'}, "für"},
		{unusedBytes, []AddedToken{added}, "a\xfc\xc1b", []int{'a', 300, 0xef, 0xbf, 0xbd, 'b'}, "aü\ufffdb"},
		{unusedBytes, []AddedToken{special}, "\xfc", []int{0xef, 0xbf, 0xbd}, "\ufffd"},
		{"\xc1", nil, "\xfc", []int{0xfc}, "\xfc"},
		{"A", []AddedToken{{ID: 300, Content: "A", SingleWord: true}}, "xA A", []int{'x', 300, ' ', 300}, "xA A"},
	} {
		tok, err := bytesWithout(c.missing, c.added...)
		if err != nil {
			t.Error(err)
			continue
		}
		got := tok.Encode(c.text)
		if decoded := tokenizer.Decode(tok, got); !slices.Equal(got, c.want) || decoded != c.decoded {
			t.Errorf("%q without %q: %v and %q, want %v and %q", c.text, c.missing, got, decoded, c.want, c.decoded)
		}
		long := strings.Repeat("\xc0x", 1<<17)
		if got := tok.Encode(long); strings.Contains(c.missing, "\xc0") && !slices.Equal(got, tok.Encode(strings.ToValidUTF8(long, "\ufffd"))) {
			t.Errorf("a long text without %q has %d ids", c.missing, len(got))
		}
	}
	for _, c := range []struct {
		missing string
		added   []AddedToken
		want    string
	}{
		{"A", nil, "byte 0x41, spelled 'A'"},
		{"A", []AddedToken{{ID: 300, Content: "A", Special: true}}, "byte 0x41"},
		{" ", []AddedToken{{ID: 300, Content: "Ġ"}}, "byte 0x20, spelled 'Ġ'"}, // an added token decodes to its spelling
		{"\xc3", []AddedToken{{ID: 300, Content: "Ã"}}, "byte 0xc3, spelled 'Ã'"},
		{"\x80", nil, "byte 0x80"}, {"\xbf", nil, "byte 0xbf"}, {"\xc2", nil, "byte 0xc2"}, {"\xf4", nil, "byte 0xf4"},
	} {
		if _, err := bytesWithout(c.missing, c.added...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %q, with %v: got %v, want %s", c.missing, c.added, err, c.want)
		}
	}
}

// A piece of the whole vocabulary may have a byte that is missing by itself.
func TestMissingByteInPiece(t *testing.T) {
	vocab := map[string]int{"a\u00c0": 300} // a and the byte c0
	for b := range 256 {
		if b != 0xc0 {
			vocab[string(bpe.ByteRune(byte(b)))] = b
		}
	}
	for ignoreMerges, want := range map[bool][]int{false: {'a', 0xef, 0xbf, 0xbd}, true: {300}} {
		tok := &Tokenizer{steps: []preStep{{split: func(text string, _ int) int { return len(text) }}}}
		if err := tok.setBytes(vocab, nil, nil, ignoreMerges); err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode("a\xc0"); !slices.Equal(got, want) {
			t.Errorf("ignore_merges %v: %v, want %v", ignoreMerges, got, want)
		}
	}
}
