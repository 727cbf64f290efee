package hf

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// partsGolden is the output of testdata/hf_goldens.py: tokenizers with changed parts.
type partsGolden struct {
	Texts    []string       `json:"texts"`
	Variants []partsVariant `json:"variants"`
}

type partsVariant struct {
	Base    string                     `json:"base"`
	Changes map[string]json.RawMessage `json:"changes"`
	Before  []int                      `json:"before"`
	After   []int                      `json:"after"`
	Cases   []*partsCase               `json:"cases"` // by text, null where the reference panics
}

type partsCase struct {
	Plain   []int   `json:"plain"`
	Special []int   `json:"special"` // absent if equal to Plain
	Decoded *string `json:"decoded"` // of plain; absent where it is the text
}

func readParts(t testing.TB) *partsGolden {
	t.Helper()
	g := new(partsGolden)
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "parts.golden.json"), g); err != nil {
		t.Fatal(err)
	}
	return g
}

// build applies the changes to the base's tokenizer.json.
func (v *partsVariant) build(t testing.TB) []byte {
	t.Helper()
	var file, model map[string]json.RawMessage
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", v.Base+".tokenizer.json"), &file); err != nil {
		t.Fatal(err)
	}
	for part, value := range v.Changes {
		if part == "model" {
			if err := json.Unmarshal(file["model"], &model); err != nil {
				t.Fatal(err)
			}
			var changes map[string]json.RawMessage
			if err := json.Unmarshal(value, &changes); err != nil {
				t.Fatal(err)
			}
			maps.Copy(model, changes)
			value, _ = json.Marshal(model)
		}
		file[part] = value
	}
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (v *partsVariant) name() string {
	raw, _ := json.Marshal(v.Changes)
	return v.Base + " with " + string(raw)
}

func TestParts(t *testing.T) {
	g := readParts(t)
	checked := 0
	for _, v := range g.Variants {
		tok, err := Parse(v.build(t))
		if err != nil {
			t.Errorf("%s: %v", v.name(), err)
			continue
		}
		if before, after := tok.(tokenizer.Affixes).Affixes(); !slices.Equal(before, v.Before) || !slices.Equal(after, v.After) {
			t.Errorf("%s: affixes %v %v, want %v %v", v.name(), before, after, v.Before, v.After)
		}
		for i, c := range v.Cases {
			if c == nil {
				continue
			}
			checked++
			text := g.Texts[i]
			if c.Special == nil {
				c.Special = c.Plain
			}
			if got := tok.EncodeSpecial(text); !slices.Equal(got, c.Special) {
				t.Errorf("%s\nEncodeSpecial(%q)\n got %v\nwant %v", v.name(), text, got, c.Special)
			}
			if c.Decoded == nil {
				c.Decoded = &text
			}
			if got := tokenizer.Decode(tok, c.Plain); got != *c.Decoded {
				t.Errorf("%s\nDecode of %q\n got %q\nwant %q", v.name(), text, got, *c.Decoded)
			}
			got := tok.Encode(text)
			if !slices.Equal(got, c.Plain) && !makesSpecial(tok, c.Plain) {
				t.Errorf("%s\nEncode(%q)\n got %v\nwant %v", v.name(), text, got, c.Plain)
			}
			for _, id := range got {
				if isSpecialID(tok, id) && tok.Piece(id) != "<unk>" {
					t.Errorf("%s\nEncode(%q) has special token %d", v.name(), text, id)
				}
			}
		}
	}
	if len(g.Variants) < 39 || checked < 1040 {
		t.Errorf("%d variants, %d cases", len(g.Variants), checked)
	}
}

// makesSpecial reports whether the reference made text a special token other than the
// unknown one. That is a deliberate difference: Encode never does.
func makesSpecial(tok tokenizer.Tokenizer, ids []int) bool {
	return slices.ContainsFunc(ids, func(id int) bool { return isSpecialID(tok, id) && tok.Piece(id) != "<unk>" })
}

func isSpecialID(tok tokenizer.Tokenizer, id int) bool {
	special, ok := tok.(tokenizer.Specials).SpecialTokens()[tok.Piece(id)]
	return ok && special == id
}

// tiktoken gives the same results, also for pieces that are not UTF-8.
func TestTiktoken(t *testing.T) {
	var g struct {
		Texts []struct {
			Text string `json:"text"`
			IDs  []int  `json:"ids"`
		} `json:"texts"`
		Pieces []struct {
			Piece string `json:"piece"`
			IDs   []int  `json:"ids"`
		} `json:"pieces"`
	}
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "tiktoken.golden.json"), &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Texts) < 70 || len(g.Pieces) < 17 {
		t.Fatalf("%d texts, %d pieces", len(g.Texts), len(g.Pieces))
	}
	tok, err := ParseGPT2(tokenizertest.ReadFile(t, "testdata", "gpt2.vocab.json"), tokenizertest.ReadFile(t, "testdata", "gpt2.merges.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range g.Texts {
		if got := tok.Encode(c.Text); !slices.Equal(got, c.IDs) {
			t.Errorf("%q\n got %v\nwant %v", c.Text, got, c.IDs)
		}
	}
	for _, c := range g.Pieces {
		piece, err := base64.StdEncoding.DecodeString(c.Piece)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodePiece(tok.(*Tokenizer).model, string(piece)); !slices.Equal(got, c.IDs) {
			t.Errorf("%.60q\n got %v\nwant %v", piece, got, c.IDs)
		}
		if got := tokenizer.Decode(tok, tok.Encode(string(piece))); got != string(piece) {
			t.Errorf("%.60q decodes to %.60q", piece, got)
		}
	}
}

// Text is preserved if bytes have tokens.
func TestPartsLossless(t *testing.T) {
	g := readParts(t)
	lossless := 0
	for _, v := range g.Variants {
		raw := v.build(t)
		_, normalized := v.Changes["normalizer"]
		if v.Base != "llama2" || v.Changes["model"] != nil || normalized || v.Changes["decoder"] != nil {
			continue
		}
		lossless++
		tok, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range g.Texts {
			if strings.Contains(text, "▁") || strings.Contains(text, "</p>") { // a space to the decoder; a space is put after it
				continue
			}
			if got := tokenizer.Decode(tok, tok.Encode(text)); got != text {
				t.Errorf("%s: %q decodes to %q", v.name(), text, got)
			}
		}
	}
	if lossless < 1 {
		t.Error("nothing was checked")
	}
}

// A run of bytes that is not UTF-8 decodes to U+FFFD for each of its bytes, also the valid ones.
// Tokens may have their digits in lower case, but then no text is encoded to them. The texts are those
// of tokenizers.
func TestByteFallback(t *testing.T) {
	content := tokenizertest.ReadFile(t, "testdata", "llama2.tokenizer.json")
	checkByteFallback(t, content, func(tokens string) string { return tokens }, "▁ <0xE8> <0xAA> <0x9E>")
	checkByteFallback(t, regexp.MustCompile(`"<0x..>"`).ReplaceAllFunc(content, bytes.ToLower), strings.ToLower, "▁ <unk>")
}

// checkByteFallback checks a tokenizer.json whose tokens are spelled as spell says. unknown are those
// of 語, which is not in the vocabulary.
func checkByteFallback(t *testing.T, content []byte, spell func(tokens string) string, unknown string) {
	t.Helper()
	tok, err := Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for id := range tok.Size() {
		ids[tok.Piece(id)] = id
	}
	var pieces []string
	for _, id := range tok.Encode("語") {
		pieces = append(pieces, tok.Piece(id))
	}
	if got := strings.Join(pieces, " "); got != unknown {
		t.Errorf("an unknown character is %s, want %s", got, unknown)
	}
	for tokens, want := range map[string]string{
		"a <0xC3> <0xA9> b":                     "aéb",
		"a <0xC3> <0xA9> <0xC3> b":              "a���b",
		"<0xFF> <0x41> <0xC3> <0xA9>":           "����",
		"<0xC3> b <0xA9>":                       "�b�",
		"<0xC3> </s> <0xA9> <0x41> </s> <0xFF>": "����",
		"<0x20> <0x20> <0xE4> <0xB8> <0x96>":    " 世",
		"▁ <0x41> <0xE4> <0xB8>":                "���",
	} {
		var list []int
		for piece := range strings.FieldsSeq(spell(tokens)) {
			id, ok := ids[piece]
			if !ok {
				t.Fatalf("no token %s", piece)
			}
			list = append(list, id)
		}
		d, got := tok.NewDecoder(), ""
		for _, id := range list {
			got += d.Next(id)
		}
		if got += d.Flush(); got != want {
			t.Errorf("%s is %q, want %q", tokens, got, want)
		}
	}
}
