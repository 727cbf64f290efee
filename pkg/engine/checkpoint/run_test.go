package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/engine/checkpoint"
)

const runConfig = `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0},
	"trainConfig":{"iters":10},"configHash":"12345678","runId":"r1","domain":"abc"}`

func file(text string, age time.Duration) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1e9, 0).Add(-age)}
}

// big is as large as the smallest accepted checkpoint.
var big = strings.Repeat("x", 1024)

func TestScan(t *testing.T) {
	fsys := fstest.MapFS{
		"old/config.json":                           file(runConfig, 0),
		"old/checkpoint-900.json":                   file(big, 3*time.Hour),
		"old/checkpoint-1000.json":                  file(big+"more", 2*time.Hour),
		"old/checkpoint-2000.json":                  file(big[1:], 0), // too small
		"old/checkpoint-3000.json.0":                file(big, 0),
		"old/xcheckpoint-4000.json":                 file(big, 0),
		"old/metrics.jsonl":                         file(`{"loss":3,"valLoss":2.5}`+"\n"+`{"loss":2,"valLoss":1.5}`+"\n", 0),
		"new/config.json":                           file(strings.Replace(runConfig, `"domain":"abc"`, `"x":0`, 1), 0),
		"new/checkpoint-5.json":                     file(big, time.Hour),
		"new/metrics.jsonl":                         file(`{"loss":2,"valLoss":null}`, 0),
		"bare/checkpoint-5.json":                    file(big, 0),
		"begun/config.json":                         file(runConfig, 0),
		".tmp/config.json":                          file(runConfig, 0),
		".tmp/checkpoint-5.json":                    file(big, 0),
		"bad/config.json":                           file(`{"modelConfig":{"vocabSize":-3}}`, 0),
		"bad/checkpoint-5.json":                     file(big, 0),
		"worse/config.json":                         file(`{`, 0),
		"worse/checkpoint-5.json":                   file(big, 0),
		"huge/config.json":                          file(strings.Repeat(" ", 2<<20), 0),
		"step/config.json":                          file(runConfig, 0),
		"step/checkpoint-99999999999999999999.json": file(big, 0),
		"file.json":                                 file(runConfig, 0),
	}
	runs, problems := checkpoint.Scan(fsys)
	if len(runs) != 2 || runs[0].ID != "new" || runs[1].ID != "old" {
		t.Fatalf("runs: %+v", runs)
	}
	fresh, old := runs[0], runs[1]
	if old.Step != 1000 || old.Checkpoint != "old/checkpoint-1000.json" || old.Size != 1028 || old.Dir != "old" || !old.ModTime.Equal(time.Unix(1e9, 0).Add(-2*time.Hour)) {
		t.Errorf("old: %+v", old)
	}
	c := old.Config
	if c.Domain != "abc" || c.RunID != "r1" || c.ConfigHash != "12345678" || string(c.TrainConfig) != `{"iters":10}` || c.ModelConfig.NHead != 2 || string(c.Raw) != runConfig {
		t.Errorf("config: %+v", c)
	}
	if old.LastLoss == nil || *old.LastLoss != 1.5 || fresh.LastLoss == nil || *fresh.LastLoss != 2 || fresh.Config.Domain != "novels" {
		t.Errorf("losses or domain: %+v %+v", old, fresh)
	}
	var about []string
	for _, p := range problems {
		about = append(about, p.Error())
	}
	for i, want := range []string{"run bad: config.json: modelConfig: vocabSize: -3", "run huge: huge/config.json: more than", "run step: checkpoint-9", "run worse: config.json: unexpected end"} {
		if i >= len(about) || !strings.HasPrefix(about[i], want) {
			t.Errorf("problem %d: %q, want %q", i, about, want)
		}
	}
	if len(about) != 4 {
		t.Errorf("problems: %q", about)
	}
}

// Without times, as in an embedded file system, names determine the order.
func TestScanOrder(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, name := range []string{"b", "c", "a"} {
		fsys[name+"/config.json"] = &fstest.MapFile{Data: []byte(runConfig)}
		fsys[name+"/checkpoint-1.json"] = &fstest.MapFile{Data: []byte(big)}
	}
	runs, problems := checkpoint.Scan(fsys)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) || problems != nil {
		t.Error(ids, problems)
	}
}

func TestScanDirectory(t *testing.T) {
	root := t.TempDir()
	runs, problems := checkpoint.Scan(os.DirFS(root))
	if runs != nil || problems != nil {
		t.Error(runs, problems)
	}
	if _, problems := checkpoint.Scan(os.DirFS(filepath.Join(root, "none"))); len(problems) != 1 {
		t.Error("a missing root is no problem")
	}
	dir := filepath.Join(root, "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The last line of long metrics is found; an incomplete line is ignored.
	metrics := strings.Repeat(`{"loss":9}`+"\n", 200_000) + `{"loss":0.25}` + "\n"
	for name, text := range map[string]string{"config.json": runConfig, "checkpoint-1.json": big, "metrics.jsonl": metrics} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := t.TempDir()
	for name, to := range map[string]string{"linked": dir, "nowhere": filepath.Join(root, "none"), "itself": links, "file": filepath.Join(dir, "config.json")} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Skipf("links cannot be made: %v", err)
		}
	}
	if runs, problems = checkpoint.Scan(os.DirFS(links)); len(runs) != 1 || runs[0].ID != "linked" || problems != nil {
		t.Errorf("links: %+v %v", runs, problems)
	}
	runs, problems = checkpoint.Scan(os.DirFS(root))
	if len(runs) != 1 || problems != nil || runs[0].LastLoss == nil || *runs[0].LastLoss != 0.25 {
		t.Errorf("%+v %v", runs, problems)
	}
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(metrics+`{"loss":0.`), 0o644); err != nil {
		t.Fatal(err)
	}
	if runs, _ = checkpoint.Scan(os.DirFS(root)); len(runs) != 1 || runs[0].LastLoss != nil {
		t.Errorf("%+v", runs)
	}
}

// The hashes were computed in Node from the rule of Alpha's trainer.
func TestConfigHash(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:      "5465b825",
		`{"a":1}`: "8b9e4511",
		`{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0.1}`: "a917c8be",
		// Numbers, escapes, and nested keys that the outer object lacks.
		"{\"b\":{\"b\":1,\"c\":2,\"z\":3},\"c\":[{\"b\":1e-7,\"q\":1},-0,1e21,0.000001,123456789012345680000]," +
			"\"\u00e9\U0001f600\uff00\":\"\\u0007\\b\\n\\\"\\\\/<>&\u2028\U0001f600\",\"n\":null,\"t\":true}": "31baf5e0",
		"{\"\uff00\":1,\"\U00010000\":2}": "80cefd66", // keys sort by UTF-16 code units
	} {
		if got := checkpoint.ConfigHash(json.RawMessage(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	c := checkpoint.ModelConfig{VocabSize: 3, BlockSize: 4, NLayer: 1, NEmbd: 4, NHead: 2, Dropout: 0.1}
	if got, want := checkpoint.ConfigHash(c), checkpoint.ConfigHash(json.RawMessage(`{"nHead":2,"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"dropout":1e-1}`)); got != want || len(got) != 8 {
		t.Errorf("%s, want %s", got, want)
	}
	for _, v := range []any{nil, 1, []int{1}, make(chan int), json.RawMessage(`{`)} {
		if got := checkpoint.ConfigHash(v); got != "" {
			t.Errorf("%v: %q", v, got)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(runConfig, `{"loss":1}`)
	f.Add(`{"modelConfig":null}`, "\n\n")
	f.Fuzz(func(t *testing.T, config, metrics string) {
		runs, problems := checkpoint.Scan(fstest.MapFS{
			"good/config.json":       file(runConfig, 0),
			"good/checkpoint-1.json": file(big, 0),
			"run/config.json":        file(config, time.Hour),
			"run/checkpoint-1.json":  file(big, time.Hour),
			"run/metrics.jsonl":      file(metrics, 0),
		})
		if len(runs)+len(problems) != 2 || runs[0].ID != "good" {
			t.Fatalf("%+v %v", runs, problems)
		}
		for _, r := range runs {
			checkpoint.ConfigHash(r.Config.Raw)
			if r.Config.ModelConfig.NHead < 1 {
				t.Fatalf("%+v", r.Config)
			}
		}
	})
}
