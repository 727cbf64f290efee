package hf

import (
	"encoding/json"
	"slices"
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
			got := tokenizer.Decode(tok, tok.Encode(c.Text))
			if tok.normalize != nil { // an added token decodes to the spelling in its file
				got = norm.NFC.String(got)
			}
			if got != back {
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
