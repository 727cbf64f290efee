package hf

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// normalizerGolden is the output of testdata/normalizer_goldens.py.
type normalizerGolden struct {
	Texts    []string                   `json:"texts"`
	Settings map[string]json.RawMessage `json:"settings"` // of each normalizer
	Steps    map[string][]string        `json:"steps"`    // digests: of each block of code points, and of all texts
	Variants []struct {
		Changes map[string]json.RawMessage `json:"changes"`
		Before  []int                      `json:"before"`
		After   []int                      `json:"after"`
		IDs     []string                   `json:"ids"`     // digests, by text
		Decoded []string                   `json:"decoded"` // digests, by text
	} `json:"variants"`
}

func readNormalizerGolden(t testing.TB) *normalizerGolden {
	t.Helper()
	g := new(normalizerGolden)
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "normalizer.golden.json"), g); err != nil {
		t.Fatal(err)
	}
	if len(g.Texts) != 2000 || len(g.Steps) != 20 || len(g.Variants) != 5 {
		t.Fatalf("%d texts, %d steps, %d variants", len(g.Texts), len(g.Steps), len(g.Variants))
	}
	return g
}

func digest(texts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:4])
}

// Every code point, among marks, and every text gives what the reference gives.
func TestNormalizers(t *testing.T) {
	g := readNormalizerGolden(t)
	for name, want := range g.Steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bertPieces
			if settings, ok := g.Settings[name]; ok {
				var s fileStep
				if err := json.Unmarshal(settings, &s); err != nil {
					t.Fatal(err)
				}
				n, err := readNormalizer(&s)
				if err != nil {
					t.Fatal(err)
				}
				f = n.text
			}
			const block = 4096
			last := []rune{0xe0000, 0xe1000, 0xf0000, 0x10f000}
			for i := range want[:len(want)-1] {
				from := rune(i * block)
				if from >= 0x33000 { // the others have no assigned characters
					from = last[i-0x33000/block]
				}
				var got []string
				for c := from; c < from+block; c++ {
					if c < 0xd800 || c >= 0xe000 {
						got = append(got, f("a\u0301"+string(c)+"\u0316b"))
					}
				}
				if digest(got) != want[i] {
					t.Errorf("code points from %#x differ", from)
				}
			}
			var got []string
			for _, text := range g.Texts {
				got = append(got, f(text))
			}
			if digest(got) != want[len(want)-1] {
				t.Error("the texts differ")
			}
		})
	}
}

// bertPieces joins the pieces of BertPreTokenizer.
func bertPieces(text string) string {
	steps, _ := readBertPreTokenizer(nil)
	var pieces []string
	cutSteps(steps, segment{text: text}, func(s segment) bool {
		pieces = append(pieces, s.text)
		return true
	})
	return strings.Join(pieces, "|")
}

func TestWordPiece(t *testing.T) {
	g := readNormalizerGolden(t)
	for _, v := range g.Variants {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "wordpiece.tokenizer.json"), &file); err != nil {
			t.Fatal(err)
		}
		for part, value := range v.Changes {
			file[part] = value
		}
		raw, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if before, after := tok.(tokenizer.Affixes).Affixes(); !slices.Equal(before, v.Before) || !slices.Equal(after, v.After) {
			t.Errorf("affixes %v %v, want %v %v", before, after, v.Before, v.After)
		}
		wrong := 0
		for i, text := range g.Texts {
			if strings.Contains(text, "[MASK]") && string(v.Changes["normalizer"]) == "null" {
				continue // the reference makes the special token of text
			}
			ids := tok.Encode(text)
			if digest([]string{strings.Trim(fmt.Sprint(ids), "[]")})[:6] != v.IDs[i] {
				wrong++
				t.Errorf("%s\nEncode(%q) = %v", v.Changes, text, ids)
			} else if got := tokenizer.Decode(tok, ids); digest([]string{got})[:6] != v.Decoded[i] {
				wrong++
				t.Errorf("%s\nDecode(%v) = %q", v.Changes, ids, got)
			}
			if wrong > 5 {
				break
			}
		}
	}
}
