package hf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// Unsupported parts are rejected by name.
func TestFromHFRefusals(t *testing.T) {
	gpt2, llama3 := string(tokenizertest.ReadFile(t, "testdata", "gpt2.tokenizer.json")), string(tokenizertest.ReadFile(t, "testdata", "llama3.tokenizer.json"))
	llama2, xglm := string(tokenizertest.ReadFile(t, "testdata", "llama2.tokenizer.json")), string(tokenizertest.ReadFile(t, "testdata", "xglm.tokenizer.json"))
	replace := func(raw, old, with string) string {
		t.Helper()
		if !strings.Contains(raw, old) {
			t.Fatalf("nothing to replace: %s", old)
		}
		return strings.Replace(raw, old, with, 1)
	}
	for _, c := range []struct{ raw, want string }{
		{``, "unexpected end"},
		{`[]`, "cannot unmarshal"},
		{`{}`, "model: vocab is empty"},
		{replace(gpt2, `"type":"BPE"`, `"type":"WordPiece"`), "model: unk_token or max_input_chars_per_word is missing"},
		{replace(gpt2, `"type":"BPE"`, `"type":"WordLevel"`), `type "WordLevel" is not supported, only BPE, Unigram and WordPiece`},
		{replace(gpt2, `"dropout":null`, `"dropout":0.1`), "dropout is not supported"},
		{replace(gpt2, `"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`), "continuing_subword_prefix is not"},
		{replace(gpt2, `"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`), "end_of_word_suffix is not"},
		{replace(gpt2, `"byte_fallback":false`, `"byte_fallback":true`), "byte_fallback is not supported with a model of bytes"},
		{replace(gpt2, `"normalizer":{"type":"NFC"}`, `"normalizer":{"type":"Other"}`), "normalizer: Other is not"},
		{replace(gpt2, `"normalizer":{"type":"NFC"}`, `"normalizer":{"type":"BertNormalizer"}`), "normalizer: BertNormalizer: clean_text"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Gone"}]}`), "normalizer: Gone is not"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Replace","pattern":{},"content":""}`), "normalizer: Replace: pattern: it has neither"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Replace","pattern":{"String":""},"content":""}`), "String is empty"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Replace","pattern":{"Regex":"(?=x)"},"content":""}`), "group (?=x"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Precompiled"}`), "precompiled_charsmap is missing"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Precompiled","precompiled_charsmap":"!"}`), "illegal base64"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Precompiled","precompiled_charsmap":"//8="}`), "cut off"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Sequence","normalizers":[`+strings.Repeat(`{"type":"Strip"},`, 64)+`{"type":"NFC"}]}`), "more than 64"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Metaspace"`), `pre_tokenizer: Metaspace: replacement ""`},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first"`), "add_prefix_space does not go with"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Sequence","normalizers":[`+strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaa"},`, 4)+
			`{"type":"Lowercase"}]}`), "normalizer: Lowercase: the steps up to it make texts too long"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Prepend","prepend":"`+strings.Repeat("a", 129)+`"}`), "prepend has 129 bytes"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+
			strings.Repeat(`{"type":"ByteLevel","use_regex":false},`, 12)+`{"type":"ByteLevel"}]`), "pre_tokenizer: ByteLevel: the steps up to it"},
		{replace(llama2, `"type":"Replace","pattern":{"String":"▁"},"content":" "`, `"type":"Replace","pattern":{"String":"▁"},"content":"                 "`), "decoder: Replace: the steps"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"UnicodeScripts"`), "pre_tokenizer: UnicodeScripts is not"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":"ab"`), `delimiter "ab" is not`},
		{replace(gpt2, `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"BertProcessing"`), "BertProcessing: cls or sep is missing"},
		{replace(gpt2, `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"BertProcessing","cls":["a",1],"sep":["b",99999]`), "id 99999 is not 0 to"},
		{replace(gpt2, `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"BertProcessing","cls":["a"]`), "is not a token and its id"},
		{replace(gpt2, `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"Other"`), "post_processor: Other is not"},
		{replace(gpt2, `"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"Metaspace"`), "decoder: Metaspace is not"},
		{replace(gpt2, `"Ġt":`, `"Ġt!":`), `"Ġt" is not in the vocabulary`},
		{replace(gpt2, `"A":32`, `"AA!":32`), `byte 0x41, spelled 'A', is missing`},
		{replace(gpt2, `"A":32`, `"A":33`), `"A" and "B" both have the id 33`},
		{replace(gpt2, `"A":32`, `"A":-1`), `"A" has id -1`},
		{replace(gpt2, `"A":32`, `"A":1000000000000`), `"A" has id 1000000000000`},
		{replace(gpt2, `"content":"<|end|>"`, `"content":"A"`), `added token "A" has id`},
		{replace(gpt2, `"content":"<|end|>"`, `"content":""`), "has 0 bytes"},
		{replace(gpt2, `"content":"<|end|>"`, `"content":"<|endoftext|>"`), `"<|endoftext|>" has id`},
		{replace(gpt2, `"merges":[`, `"merges":["a b c",`), "does not have two parts"},
		{replace(gpt2, `"merges":[`, `"merges":[["a"],`), "does not have two parts"},
		{replace(llama3, `\\s+(?!\\S)|\\s+`, `\\s+(?=\\S)`), `Split: pattern "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n`},
		{replace(llama3, `"behavior":"Isolated"`, `"behavior":"Gone"`), `behavior "Gone" is not`},
		{replace(llama3, `"Regex":`, `"Other":`), "neither Regex nor String"},
		{replace(llama3, `"single":[`, `"single":[{"Sequence":{"id":"B","type_id":0}},`), "single has another part"},
		{replace(llama3, `"single":[`, `"single":[{"SpecialToken":{"id":"gone","type_id":0}},`), `special_tokens has no "gone"`},
		{replace(llama3, `"id":"A"`, `"id":"C"`), "single has another part"},
		{replace(llama2, `"decoder":{`, `"decoder":null,"x":{`), "decoder: null is not"},
		{replace(llama2, `"type":"Fuse"`, `"type":"WordPiece"`), "decoder: ByteFallback: only Fuse may follow"},
		{replace(llama2, `"type":"ByteFallback"`, `"type":"CTC"`), "decoder: CTC: it is not supported"},
		{replace(llama2, `"type":"Strip"`, `"type":"Metaspace"`), "decoder: Metaspace: it is not supported after Fuse"},
		{replace(llama2, `"start":1`, `"start":-1`), "decoder: Strip: start -1"},
		{replace(llama2, `"content":" ","start"`, `"content":"","start"`), `content "" is not a character`},
		{replace(llama2, `"unk_token":"<unk>"`, `"unk_token":"<none>"`), `unk_token "<none>" is not`},
		{replace(xglm, `"unk_id":3`, `"unk_id":3000`), "unknown piece is 3000"},
		{replace(xglm, `"unk_id":3`, `"unk_id":null`), "neither an unknown piece"},
		{replace(xglm, `"vocab":[`, `"vocab":[["<s>",0.0],`), `"<s>" has the ids 0 and 1`},
		{replace(xglm, `"vocab":[`, `"vocab":[["<s>"],`), "is not a piece and its score"},
		{replace(xglm, `"vocab":[`, `"vocab":[["q",1e999],`), "cannot unmarshal number"},
	} {
		tok, err := Parse([]byte(c.raw))
		if err == nil || tok != nil || !strings.HasPrefix(err.Error(), "tokenizer.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	if _, err := Parse([]byte(replace(gpt2, `"merges":[`, `"merges":[["Ġ","t"],["Ġ","t"],`))); err == nil || !strings.Contains(err.Error(), "repeats") {
		t.Errorf("repeated merge: %v", err)
	}
}

func TestFromVocabMergesRefusals(t *testing.T) {
	vocab, merges := tokenizertest.ReadFile(t, "testdata", "gpt2.vocab.json"), tokenizertest.ReadFile(t, "testdata", "gpt2.merges.txt")
	for _, c := range []struct {
		vocab, merges []byte
		want          string
	}{
		{nil, merges, "vocab.json: unexpected end"},
		{[]byte(`null`), merges, "vocab is empty"},
		{[]byte(`{"a":0}`), nil, "is missing"},
		{vocab, []byte("#version: 0.2\na b c\n"), "merges.txt: line 2"},
		{vocab, []byte("zq zq\n"), `"zq" is not in the vocabulary`},
	} {
		if tok, err := ParseGPT2(c.vocab, c.merges); err == nil || tok != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// Merges in the old form mean the same.
func TestOldMerges(t *testing.T) {
	raw := string(tokenizertest.ReadFile(t, "testdata", "gpt2.tokenizer.json"))
	head, merges, _ := strings.Cut(raw, `"merges":[[`)
	merges = strings.ReplaceAll(merges, `"],["`, "\x00")
	merges = strings.ReplaceAll(merges, `","`, " ")
	merges = strings.Replace(strings.ReplaceAll(merges, "\x00", `","`), `"]]`, `"]`, 1)
	old, err := Parse([]byte(head + `"merges":[` + merges))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range tokenizertest.Cases(t, "testdata", "gpt2") {
		if got := old.Encode(c.Text); !slices.Equal(got, c.Plain) {
			t.Errorf("%q: %v, want %v", c.Text, got, c.Plain)
		}
	}
}

// Added tokens that are read after normalizing decode to their normal form. The texts are those
// of tokenizers 0.23.3.
func TestDecodeNormalized(t *testing.T) {
	const spaces = `{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}`
	for _, c := range []struct{ normalizer, added, text, want string }{
		{spaces, `"<sep>", "normalized": true`, "a <sep> b", " a <sep> b"},
		{spaces, `"<sep>", "normalized": false`, "a<sep>b", " a<sep> b"},
		{`{"type": "Lowercase"}`, `"<SEP>", "normalized": true`, "a<Sep>b", "a<sep>b"},
	} {
		tok, err := Parse(fmt.Appendf(nil, `{"normalizer": %s, "pre_tokenizer": null, "added_tokens": [{"id": 6, "content": %s}],
			"decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]},
			"model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1, "b": 2, "▁": 3, "▁a": 4, "▁b": 5}, "merges": [["▁", "a"], ["▁", "b"]]}}`,
			c.normalizer, c.added))
		if err != nil {
			t.Fatal(err)
		}
		if got := tokenizer.Decode(tok, tok.Encode(c.text)); got != c.want {
			t.Errorf("%s: %q decodes to %q, want %q", c.added, c.text, got, c.want)
		}
	}
}

// A decoder returns bytes immediately, and nothing for special and unknown ids.
func TestByteDecoder(t *testing.T) {
	tok := golden(t, "llama3")
	d := tok.NewDecoder()
	byteID := func(b byte) int { return encodePiece(tok.model, string([]byte{b}))[0] }
	var parts []string
	for b := range len("世") {
		parts = append(parts, d.Next(byteID("世"[b])))
	}
	if strings.Join(parts, "") != "世" || len(parts[0]) != 1 {
		t.Errorf("parts %q", parts)
	}
	end := tok.SpecialTokens()["<|end|>"]
	if tok.Piece(end) != "<|end|>" || d.Next(end)+d.Next(-1)+d.Next(tok.Size())+d.Flush() != "" {
		t.Error("special or unknown ids have text")
	}
	if tok.Piece(-1)+tok.Piece(tok.Size()) != "" || tok.Piece(byteID(' ')) != "Ġ" {
		t.Error("Piece")
	}
}
