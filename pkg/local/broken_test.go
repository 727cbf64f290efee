package local

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/llm"
)

// What makes a model unusable is found when it is listed, or else when its weights are read.
// The listing and the error for clients name the file and the reason.
func TestBrokenModels(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(goldens + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	words := string(read("gpt2/tokenizer.json"))
	config, weights := read("gpt2/config.json"), read("gpt2/model.safetensors")
	nan := append([]byte{}, weights...)
	for i := range 4 { // the last value
		nan[len(nan)-4+i] = byte(math.Float32bits(float32(math.NaN())) >> (8 * i))
	}
	replaced := func(old, with string) string {
		if !strings.Contains(words, old) {
			t.Fatalf("nothing to replace: %s", old)
		}
		return strings.Replace(words, old, with, 1)
	}
	for _, c := range []struct {
		name, tokenizer string
		weights         []byte
		listed          bool
		want            string
	}{
		{"good", words, weights, true, ""},
		{"unsupported", replaced(`"normalizer": `, `"normalizer":{"type":"Gone"},"x":`), weights, false, "tokenizer.json: normalizer: Gone is not supported"},
		{"none", "", weights, false, "none: it has no tokenizer: add tokenizer.json, vocab.json with merges.txt, "},
		{"larger", replaced(`"vocab": {`, `"vocab":{"more":99999,`), weights, false, "larger/tokenizer.json: the tokenizer has 100000 tokens, the model "},
		{"cut", words[:len(words)/2], weights, false, "cut/tokenizer.json: the file is cut off or not JSON"},
		{"nan", words, nan, true, `tensor "wte.weight": value 4175 is NaN`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{c.name + "/config.json": {Data: config}, c.name + "/model.safetensors": {Data: c.weights}}
			if c.tokenizer != "" {
				files[c.name+"/tokenizer.json"] = &fstest.MapFile{Data: []byte(c.tokenizer)}
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, files); err != nil {
				t.Fatal(err)
			}
			p := start(t, settings{checkpoints: dir})
			_, problems := p.Entries(t.Context())
			if c.listed != (len(problems) == 0) || !c.listed && !strings.Contains(problems[0].Error(), c.want) {
				t.Errorf("problems %v, want %q", problems, c.want)
			}
			_, err := p.open(t, c.name)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Internal || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Message, c.name) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
