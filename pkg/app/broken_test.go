package app

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// brokenModels returns a directory of models that cannot answer, and the reason of each.
func brokenModels(t *testing.T) (dir string, reasons map[string]string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("../engine/arch/testdata/gpt2", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	config, weights, words := read("config.json"), read("model.safetensors"), read("tokenizer.json")
	nan := append([]byte{}, weights...)
	for i := range 4 { // the last value
		nan[len(nan)-4+i] = byte(math.Float32bits(float32(math.NaN())) >> (8 * i))
	}
	replaced := func(old, with string) []byte { return []byte(strings.Replace(string(words), old, with, 1)) }
	files := fstest.MapFS{}
	for name, data := range map[string][]byte{
		"none/config.json": config, "none/model.safetensors": weights,
		"unsupported/config.json": config, "unsupported/model.safetensors": weights, "unsupported/tokenizer.json": replaced(`"normalizer": `, `"normalizer":{"type":"Gone"},"x":`),
		"larger/config.json": config, "larger/model.safetensors": weights, "larger/tokenizer.json": replaced(`"vocab": {`, `"vocab":{"more":99999,`),
		"nan/config.json": config, "nan/model.safetensors": nan, "nan/tokenizer.json": words,
		"template/config.json": config, "template/model.safetensors": weights, "template/tokenizer.json": words,
		"template/chat_template.jinja":   []byte("{{ messages[0].content |\n shout }}"),
		"unconfigured/model.safetensors": weights, "adapter/adapter_model.safetensors": weights, "meta/consolidated.safetensors": weights,
	} {
		files[name] = &fstest.MapFile{Data: data}
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir, map[string]string{
		"none":         "none: it has no tokenizer: add tokenizer.json, ",
		"unsupported":  "unsupported/tokenizer.json: normalizer: Gone is not supported",
		"larger":       "larger/tokenizer.json: the tokenizer has 100000 tokens, the model 261",
		"nan":          `nan/model.safetensors: tensor "wte.weight": value 4175 is NaN`,
		"template":     "template: chat template default:2:2: there is no filter named 'shout'; a record may name another chat_template",
		"unconfigured": "unconfigured: it has model.safetensors, but no config.json",
		"adapter":      "adapter/adapter_model.safetensors: an adapter needs adapter_config.json and adapter_model.safetensors",
		"meta":         "meta/consolidated.safetensors: this layout is not supported",
	}
}

// A client of a model whose files are broken gets a 500 in its dialect's shape that names the
// file and the reason; a model that is known to be broken without reading weights is not
// listed.
func TestBrokenModels(t *testing.T) {
	dir, reasons := brokenModels(t)
	a, err := New(Config{Checkpoints: dir, Records: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	h := a.Handler()
	for name, reason := range reasons {
		for path, body := range map[string]string{
			"/v1/completions":                      `{"model":"` + name + `","prompt":"a"}`,
			"/v1/chat/completions":                 `{"model":"` + name + `","messages":[{"role":"user","content":"a"}]}`,
			"/complete":                            `{"model":"` + name + `","prompt":"a","maximum_tokens":1}`,
			"/v1/engines/" + name + "/completions": `{"prompt":"a"}`,
		} {
			res := ask(h, "POST", path, "", strings.NewReader(body))
			raw, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Error any }
			if err := json.Unmarshal(raw, &answer); err != nil || res.StatusCode != 500 || answer.Error == nil {
				t.Errorf("%s %s: %d %s", path, name, res.StatusCode, raw)
			}
			text, ok := answer.Error.(string)
			if object, is := answer.Error.(map[string]any); is {
				text, ok = object["message"].(string)
			}
			if !ok || !strings.Contains(text, reason) {
				t.Errorf("%s %s: %s, want %q", path, name, raw, reason)
			}
		}
	}
	listed, err := io.ReadAll(ask(h, "GET", "/v1/models", "", nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	for name := range reasons {
		if strings.Contains(string(listed), `"id":"`+name+`"`) != (name == "nan") {
			t.Errorf("%s in %s", name, listed)
		}
	}
}
