package tokenizer_test

import (
	"os"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/sentencepiece"
)

// The bytes of a text's tokens are the text: parts of runes and spaces included, special
// tokens left out.
func TestTokenBytes(t *testing.T) {
	const text = "a ß, 語 again"
	for name, parse := range map[string]func([]byte) (tokenizer.Tokenizer, error){
		"hf/testdata/gpt2.tokenizer.json":              hf.Parse,
		"hf/testdata/llama2.tokenizer.json":            hf.Parse,
		"sentencepiece/testdata/sp.bpebytes.model":     sentencepiece.Parse,
		"sentencepiece/testdata/sp.unigrambytes.model": sentencepiece.Parse,
	} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := tokenizer.TokenBytes(tok)
		if err != nil || len(tokens) != tok.Size() {
			t.Errorf("%s: %d of %d tokens, %v", name, len(tokens), tok.Size(), err)
			continue
		}
		var got strings.Builder
		for _, id := range tok.Encode(text) {
			got.WriteString(tokens[id])
		}
		if strings.TrimPrefix(got.String(), " ") != text {
			t.Errorf("%s: %q", name, got.String())
		}
		for special, id := range tok.(tokenizer.Specials).SpecialTokens() {
			if tokens[id] != "" {
				t.Errorf("%s: %s is %q", name, special, tokens[id])
			}
		}
	}
}

// A tokenizer that joins words by spaces has no bytes for its tokens.
func TestTokenBytesOfWords(t *testing.T) {
	artifacts, err := alpha.Train(alpha.Word, "one two one", 0)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := artifacts.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := tokenizer.TokenBytes(tok); err == nil {
		t.Errorf("%q", tokens)
	}
}
