package local

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The directory of one model is not one of models, and the problem says so, whatever form the model has.
func TestDirectoryOfAModel(t *testing.T) {
	for _, file := range []string{"model.safetensors", "checkpoint-7.json", "metrics.jsonl"} {
		fsys := fstest.MapFS{"config.json": {Data: []byte("{}")}, file: {Data: []byte("{}")}}
		runs, problems := New(Config{}).Scan(fsys)
		if len(runs) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "it is the directory of a model: name the directory that holds it") {
			t.Errorf("%s: %v %v", file, runs, problems)
		}
	}
}
