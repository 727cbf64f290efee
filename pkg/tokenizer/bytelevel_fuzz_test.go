package tokenizer

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func FuzzPretokenize(f *testing.F) {
	for _, c := range goldenCases(f, "gpt2") {
		f.Add(c.Text)
	}
	f.Add("\xff\xfea \xe4\xb8 \xed\xa0\x80'\xc5\xbf")
	f.Fuzz(func(t *testing.T, text string) {
		for _, split := range []splitter{splitGPT2, splitLlama3} {
			rest := text
			for piece := range split.pieces(text) {
				if piece == "" || !strings.HasPrefix(rest, piece) {
					t.Fatalf("%q: piece %q of %q", text, piece, rest)
				}
				rest = rest[len(piece):]
			}
			if rest != "" {
				t.Fatalf("%q: %q is left", text, rest)
			}
		}
	})
}

func FuzzByteLevel(f *testing.F) {
	toks := []*byteTokenizer{golden(f, "llama3"), golden(f, "gpt2")}
	toks[1].nfc, toks[1].normalized = false, addedTrie{} // NFC is not lossless
	for _, c := range goldenCases(f, "llama3") {
		f.Add(c.Text)
	}
	f.Add("\xff\xfe\xe4\xb8a\x80")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		for _, tok := range toks {
			if got := Decode(tok, tok.Encode(text)); got != text {
				t.Fatalf("%q decodes to %q", text, got)
			}
			for piece := range tok.split.pieces(text) {
				checkMerges(t, tok.model, piece)
			}
			if text != "" { // no piece is empty
				checkMerges(t, tok.model, text)
			}
		}
	})
}

// smallHF is a tokenizer.json of the bytes and three merges, small enough to fuzz.
func smallHF(t testing.TB, steps string) []byte {
	t.Helper()
	vocab := map[string]int{"Ġa": 256, "bc": 257, "Ġabc": 258}
	for b, r := range byteAlphabet {
		vocab[string(r)] = b
	}
	raw, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"added_tokens":[{"id":259,"content":"<|end|>","special":true,"lstrip":true},{"id":260,"content":"  ","normalized":true}],` +
		steps + `,"decoder":{"type":"ByteLevel"},"model":{"merges":["Ġ a",["b","c"],"Ġa bc"],"vocab":` + string(raw) + `}}`)
}

func FuzzFromHF(f *testing.F) {
	for _, steps := range []string{
		`"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel"},"post_processor":{"type":"ByteLevel"}`,
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` + strconv.Quote(patternLlama3) +
			`},"behavior":"Isolated"},{"type":"ByteLevel","use_regex":false}]}`,
	} {
		raw := smallHF(f, steps)
		if _, err := FromHF(raw); err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := FromHF(raw)
		if err != nil {
			return
		}
		for _, id := range tok.EncodeSpecial("a abc<|end|>\n  12'S\xff世") {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("id %d of %d", id, tok.Size())
			}
		}
	})
}
