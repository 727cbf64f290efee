package hf

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// Check agrees with Parse on the files that Parse reads, and accepts their beginnings.
func TestCheck(t *testing.T) {
	for _, name := range []string{"gpt2", "llama3", "llama2", "xglm", "wordpiece"} {
		raw := tokenizertest.ReadFile(t, "testdata", name+".tokenizer.json")
		tok, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		size, err := Check(raw, false)
		if err != nil || size != tok.Size() {
			t.Errorf("%s: size %d, %v, want %d", name, size, err, tok.Size())
		}
		for n := 1; n < len(raw)-2; n += 1 + n/20 {
			size, err := Check(raw[:n], true)
			if err != nil || size != 0 && size != tok.Size() {
				t.Errorf("%s: the first %d bytes: size %d, %v", name, n, size, err)
			}
			if _, err := Check(raw[:n], false); err == nil {
				t.Errorf("%s: the first %d bytes are not cut off", name, n)
			}
		}
	}
}

// Check names the parts that Parse would reject.
func TestCheckRefusals(t *testing.T) {
	gpt2 := string(tokenizertest.ReadFile(t, "testdata", "gpt2.tokenizer.json"))
	for _, c := range []struct{ old, with, want string }{
		{`"type":"BPE"`, `"type":"WordLevel"`, `model: type "WordLevel" is not supported`},
		{`"dropout":null`, `"dropout":0.1`, "dropout is not supported"},
		{`"normalizer":{"type":"NFC"}`, `"normalizer":{"type":"Gone"}`, "normalizer: Gone is not supported"},
		{`"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"UnicodeScripts"`, "pre_tokenizer: UnicodeScripts is not"},
		{`"post_processor":{"type":"ByteLevel"`, `"post_processor":{"type":"Other"`, "post_processor: Other is not"},
		{`"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"Other"`, "decoder: Other is not"},
		{`"A":32`, `"A":-1`, "the id -1 is not 0 to"},
		{`"A":32`, `"A":1000000000000`, "the id 1000000000000 is not 0 to"},
		{`"vocab":{`, `"vocab":7,"x":{`, "neither an object nor an array"},
		{`"vocab":{`, `"x":{`, "vocab is empty"},
	} {
		if !strings.Contains(gpt2, c.old) {
			t.Fatalf("nothing to replace: %s", c.old)
		}
		_, err := Check([]byte(strings.Replace(gpt2, c.old, c.with, 1)), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	for _, raw := range []string{"", "[]", "{", `{"model"`, `{"model":`, `{"a":}`, `{"a",}`} {
		if _, err := Check([]byte(raw), false); err == nil {
			t.Errorf("%q is accepted", raw)
		}
	}
}

// A listing checks every tokenizer: 128k entries as in Llama 3.
func BenchmarkCheck(b *testing.B) {
	var vocab, merges strings.Builder
	for i := range 128_000 {
		fmt.Fprintf(&vocab, `%q: %d, `, fmt.Sprintf("Ġpiece%06d", i), i)
		fmt.Fprintf(&merges, `"Ġpiece %06d", `, i)
		fmt.Fprintf(&merges, `"Ġpiec e%06d", `, i)
	}
	gpt2, err := os.ReadFile("testdata/gpt2.tokenizer.json")
	if err != nil {
		b.Fatal(err)
	}
	head, _, _ := strings.Cut(string(gpt2), `"vocab":`)
	raw := []byte(head + `"vocab":{` + strings.TrimSuffix(vocab.String(), ", ") + `},"merges":[` + strings.TrimSuffix(merges.String(), ", ") + `]}}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := Check(raw, false); err != nil {
			b.Fatal(err)
		}
	}
}
