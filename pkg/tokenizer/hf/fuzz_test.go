package hf

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

func FuzzByteLevel(f *testing.F) {
	toks := []*Tokenizer{golden(f, "llama3"), golden(f, "gpt2")}
	toks[1].normalize, toks[1].normalized = nil, addedTrie{} // NFC is not lossless
	for _, c := range tokenizertest.Cases(f, "testdata", "llama3") {
		f.Add(c.Text)
	}
	f.Add("\xff\xfe\xe4\xb8a\x80")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		for i, tok := range toks {
			tokenizertest.CheckBounds(t, strconv.Itoa(i), tok, text)
			if got := tokenizer.Decode(tok, tok.Encode(text)); got != text {
				t.Fatalf("%q decodes to %q", text, got)
			}
		}
	})
}

// smallHF returns a tokenizer.json of the bytes and three merges, small enough to fuzz.
func smallHF(t testing.TB, steps string) []byte {
	t.Helper()
	vocab := map[string]int{"Ġa": 256, "bc": 257, "Ġabc": 258}
	for b := range 256 {
		vocab[string(bpe.ByteRune(byte(b)))] = b
	}
	raw, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"added_tokens":[{"id":259,"content":"<|end|>","special":true,"lstrip":true},{"id":260,"content":"  ","normalized":true}],` +
		steps + `,"decoder":{"type":"ByteLevel"},"model":{"merges":["Ġ a",["b","c"],"Ġa bc"],"vocab":` + string(raw) + `}}`)
}

// smallParts are tokenizer.json files of other models, small enough to fuzz.
var smallParts = []string{
	`{"added_tokens":[{"id":0,"content":"<unk>","special":true}],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` +
		`{"type":"Replace","pattern":{"String":" "},"content":"▁"},{"type":"NFKC"},{"type":"Lowercase"},{"type":"Strip","strip_left":true}]},` +
		`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a-z]+|\\s"},"behavior":"MergedWithNext"},` +
		`"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},` +
		`{"type":"Strip","content":" ","start":1,"stop":1}]},"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,` +
		`"merges":["a b",["▁","ab"]],"vocab":{"<unk>":0,"a":1,"b":2,"ab":3,"▁":4,"▁ab":5,"<0xFF>":6,"<0x0A>":7}}}`,
	`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"Punctuation"},{"type":"Whitespace"},` +
		`{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]},"decoder":{"type":"Metaspace","replacement":"▁"},` +
		`"post_processor":{"type":"RobertaProcessing","cls":["a",1],"sep":["b",2]},` +
		`"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5],["b",-2],["▁",-3],["▁a",-2.5]]}}`,
}

func FuzzFromHF(f *testing.F) {
	for _, raw := range smallParts {
		if _, err := Parse([]byte(raw)); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(raw))
	}
	for _, steps := range []string{
		`"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel"},"post_processor":{"type":"ByteLevel"}`,
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` + strconv.Quote(pretoken.PatternLlama3) +
			`},"behavior":"Isolated"},{"type":"ByteLevel","use_regex":false}]}`,
	} {
		raw := smallHF(f, steps)
		if _, err := Parse(raw); err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := Parse(raw)
		if err != nil {
			return
		}
		tokenizertest.CheckIDs(t, tok, "a abc<|end|>\n  12'S\xff世")
		before, after := tok.(tokenizer.Affixes).Affixes()
		for _, id := range append(before, after...) {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("affix %d of %d", id, tok.Size())
			}
		}
	})
}

func FuzzParts(f *testing.F) {
	g := readParts(f)
	for _, text := range g.Texts {
		f.Add(text)
	}
	f.Add("\xff a\x80\xe4\xb8\u0301")
	toks := make([]tokenizer.Tokenizer, len(g.Variants))
	for i, v := range g.Variants {
		var err error
		if toks[i], err = Parse(v.build(f)); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		for i, v := range g.Variants {
			tokenizertest.CheckIDs(t, toks[i], text)
			if v.Base == "llama2" && len(v.Changes) == 0 && utf8.ValidString(text) && !strings.Contains(text, "▁") && !strings.Contains(text, "</p>") {
				if got := tokenizer.Decode(toks[i], toks[i].Encode(text)); got != text {
					t.Fatalf("%q decodes to %q", text, got)
				}
			}
		}
	})
}
