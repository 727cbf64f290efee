package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// What is not supported is refused by name.
func TestFromHFRefusals(t *testing.T) {
	gpt2, llama3 := string(readGolden(t, "gpt2.tokenizer.json")), string(readGolden(t, "llama3.tokenizer.json"))
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
		{`{}`, "pre_tokenizer: null"},
		{replace(gpt2, `"type":"BPE"`, `"type":"Unigram"`), `type "Unigram" is not supported`},
		{replace(gpt2, `"dropout":null`, `"dropout":0.1`), "dropout is not supported"},
		{replace(gpt2, `"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`), "continuing_subword_prefix is not"},
		{replace(gpt2, `"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`), "end_of_word_suffix is not"},
		{replace(gpt2, `"byte_fallback":false`, `"byte_fallback":true`), "byte_fallback is not supported"},
		{replace(gpt2, `"normalizer":{"type":"NFC"}`, `"normalizer":{"type":"NFKC"}`), "normalizer: NFKC is not"},
		{replace(gpt2, `"type":"NFC"}`, `"type":"Sequence","normalizers":[{"type":"Lowercase"}]}`), "normalizer: Lowercase in a Sequence"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false`, `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true`), "add_prefix_space is not"},
		{replace(gpt2, `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Metaspace"`), "pre_tokenizer: Metaspace is not"},
		{replace(gpt2, `"use_regex":true`, `"use_regex":false`), "use_regex false without a Split"},
		{replace(gpt2, `"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"BertProcessing"`), "post_processor: BertProcessing is not"},
		{replace(gpt2, `"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"Metaspace"`), "decoder: Metaspace is not"},
		{replace(gpt2, `"Ġt":`, `"Ġt!":`), `"Ġt" is not in the vocabulary`},
		{replace(gpt2, `"A":32`, `"AA!":32`), `byte 0x41, spelled 'A', is missing`},
		{replace(gpt2, `"A":32`, `"A":33`), `"A" and "B" have both id 33`},
		{replace(gpt2, `"A":32`, `"A":-1`), `"A" has id -1`},
		{replace(gpt2, `"A":32`, `"A":1000000000000`), `"A" has id 1000000000000`},
		{replace(gpt2, `"content":"<|end|>"`, `"content":"A"`), `added token "A" has id`},
		{replace(gpt2, `"content":"<|end|>"`, `"content":""`), "has 0 bytes"},
		{replace(gpt2, `"content":"<|end|>"`, `"content":"<|endoftext|>"`), `"<|endoftext|>" has id`},
		{replace(gpt2, `"merges":[`, `"merges":["a b c",`), "has not two parts"},
		{replace(gpt2, `"merges":[`, `"merges":[["a"],`), "has not two parts"},
		{replace(llama3, `\\s+(?!\\S)|\\s+`, `\\s+`), "only those of GPT-2 and Llama 3"},
		{replace(llama3, `"behavior":"Isolated"`, `"behavior":"Removed"`), `behavior "Removed" is not`},
		{replace(llama3, `"invert":false`, `"invert":true`), "invert is not supported"},
		{replace(llama3, `"Regex":`, `"String":`), "no Regex"},
		{replace(llama3, `"use_regex":false`, `"use_regex":true`), "use_regex after a Split"},
		{replace(llama3, `"type":"Split"`, `"type":"Digits"`), "a Sequence of 2 is not supported"},
	} {
		tok, err := FromHF([]byte(c.raw))
		if err == nil || tok != nil || !strings.HasPrefix(err.Error(), "tokenizer.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	if _, err := FromHF([]byte(replace(gpt2, `"merges":[`, `"merges":[["Ġ","t"],["Ġ","t"],`))); err == nil || !strings.Contains(err.Error(), "repeats") {
		t.Errorf("repeated merge: %v", err)
	}
}

func TestFromVocabMergesRefusals(t *testing.T) {
	vocab, merges := readGolden(t, "gpt2.vocab.json"), readGolden(t, "gpt2.merges.txt")
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
		if tok, err := FromVocabMerges(c.vocab, c.merges); err == nil || tok != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// Merges in the old form say the same.
func TestOldMerges(t *testing.T) {
	raw := string(readGolden(t, "gpt2.tokenizer.json"))
	head, merges, _ := strings.Cut(raw, `"merges":[[`)
	merges = strings.ReplaceAll(merges, `"],["`, "\x00")
	merges = strings.ReplaceAll(merges, `","`, " ")
	merges = strings.Replace(strings.ReplaceAll(merges, "\x00", `","`), `"]]`, `"]`, 1)
	old, err := FromHF([]byte(head + `"merges":[` + merges))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range goldenCases(t, "gpt2") {
		if got := old.Encode(c.Text); !slices.Equal(got, c.Plain) {
			t.Errorf("%q: %v, want %v", c.Text, got, c.Plain)
		}
	}
}

// A decoder returns bytes as they come, nothing for special and unknown ids.
func TestByteDecoder(t *testing.T) {
	tok := golden(t, "llama3")
	d := tok.NewDecoder()
	var parts []string
	for b := range len("世") {
		parts = append(parts, d.Next(int(tok.model.bytes["世"[b]])))
	}
	if strings.Join(parts, "") != "世" || len(parts[0]) != 1 {
		t.Errorf("parts %q", parts)
	}
	end := tok.SpecialTokens()["<|end|>"]
	if tok.Piece(end) != "<|end|>" || d.Next(end)+d.Next(-1)+d.Next(tok.Size())+d.Flush() != "" {
		t.Error("special or unknown ids have text")
	}
	if tok.Piece(-1)+tok.Piece(tok.Size()) != "" || tok.Piece(int(tok.model.bytes[' '])) != "Ġ" {
		t.Error("Piece")
	}
}
