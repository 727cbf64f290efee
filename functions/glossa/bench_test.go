package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func runBench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := output(t.Context(), append([]string{"bench"}, args...)...)
	return out, err
}

// A saved model gives the same measurements as its shape, as lines of JSON and as a table.
func TestBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "alpha.gguf")
	short := []string{"--quant", "q4_0", "--threads", "1,2", "--batch", "2", "--prefill", "8", "--decode", "4", "--repeat", "1"}
	made, err := runBench(t, append(short, "--shape", "alpha-1.8m", "--save", file, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	read, err := runBench(t, append([]string{file, "--json"}, short...)...)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"alpha-1.8m": made, "alpha.gguf": read} {
		var phases []string
		for line := range strings.Lines(text) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			want := []string{"batch", "limit_fraction", "phase", "quant", "shape", "threads", "tokens_per_second"}
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
				t.Errorf("fields %v, want %v", got, want)
			}
			if fields["shape"] != name || fields["quant"] != "q4_0" || fields["batch"] != 2.0 {
				t.Errorf("%s", line)
			}
			phases = append(phases, fields["phase"].(string))
		}
		if want := []string{"prefill", "decode", "prefill", "decode"}; !slices.Equal(phases, want) {
			t.Errorf("%s: phases %v, want %v", name, phases, want)
		}
	}
	table, err := runBench(t, file, "--prefill", "0", "--decode", "4", "--threads", "1", "--repeat", "1")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 7 || !strings.HasPrefix(lines[1], "limit: ") || !strings.HasPrefix(lines[6], "from the file to the first token") || !strings.HasPrefix(lines[3], "SHAPE") || !strings.HasPrefix(lines[4], "alpha.gguf           q4_0         1     1  decode ") {
		t.Errorf("the table is\n%s", table)
	}
}

// A training run can be measured and saved like a published model.
func TestBenchRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "novels.gguf")
	short := []string{"--json", "--threads", "1", "--prefill", "8", "--decode", "0", "--repeat", "1"}
	for _, c := range []struct {
		shape, quant string
		args         []string
	}{
		{"novels", "f32", []string{"../../pkg/starter/runs/novels"}},
		{"checkpoint-8000.json", "f32", []string{"../../pkg/starter/runs/novels/checkpoint-8000.json"}},
		{"novels", "q8_0", []string{"../../pkg/starter/runs/novels", "--quant", "q8_0", "--save", file}},
		{"novels.gguf", "q8_0", []string{file}},
	} {
		text, err := runBench(t, append(c.args, short...)...)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(text), &fields); err != nil || fields["shape"] != c.shape || fields["quant"] != c.quant {
			t.Errorf("%v: %v in %s", c.args, err, text)
		}
	}
}

// Answers with and without drafts are measured as a table and as lines of JSON, of a shape and of
// a model.
func TestBenchSpeculate(t *testing.T) {
	short := []string{"--speculate", "--threads", "1", "--repeat", "1"}
	table, err := runBench(t, append(short, "--shape", "alpha-1.8m")...)
	if lines := strings.Split(strings.TrimSpace(table), "\n"); err != nil || len(lines) != 8 || !strings.HasPrefix(lines[0], "MODEL ") ||
		!strings.HasPrefix(lines[1], "alpha-1.8m           q8_0         1  edit     text  ") ||
		!strings.HasPrefix(lines[5], "alpha-1.8m           q8_0         1  talk     90 %  ") {
		t.Errorf("%v: the table is\n%s", err, table)
	}
	novels := "../../pkg/starter/runs/novels"
	text, err := runBench(t, append(short, novels, "--draft", novels, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		var r struct {
			Task   string
			Draft  string
			Tokens int
			Ratio  float64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Task == "" || r.Draft != novels || r.Tokens < 2 || r.Ratio <= 0 {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestBenchContext(t *testing.T) {
	args := []string{"--context", "16,200", "--shape", "alpha-1.8m", "--threads", "1,2", "--repeat", "1", "--decode", "5", "--kv", "q8"}
	table, err := runBench(t, args...)
	if lines := strings.Split(strings.TrimSpace(table), "\n"); err != nil || len(lines) != 5 || !strings.HasPrefix(lines[0], "MODEL ") ||
		!strings.HasPrefix(lines[1], "alpha-1.8m           q8_0         1      16  ") || !strings.HasPrefix(lines[4], "alpha-1.8m           q8_0         2     200  ") {
		t.Errorf("%v: the table is\n%s", err, table)
	}
	lines, err := runBench(t, append(args, "--json")...)
	if n := strings.Count(lines, `"prefill_ratio":1,`); err != nil || n != 2 {
		t.Errorf("%v: %d first lengths in\n%s", err, n, lines)
	}
}

func TestBenchRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`--shape: "gpt5" must be alpha-1.8m`:  {"--shape", "alpha-1.8m,gpt5"},
		`--quant: "q2" must be`:               {"--quant", "q2"},
		`--quant: "stored" must be`:           {"--quant", "stored"},
		`--kv: "q8_0" must be f32, bf16, q8`:  {"--kv", "q8_0"},
		`--threads: "0" must be an integer`:   {"--threads", "1,0"},
		`--batch: "x" must be an integer`:     {"--batch", "x"},
		"--repeat must be positive":           {"--repeat", "0"},
		"must not be negative":                {"--decode", "-1"},
		"needs one MODEL or --shape, and one": {"--save", "f.gguf"},
		"--speculate needs --batch 1":         {"--speculate", "--batch", "1,2"},
		`"neox-410m" must be alpha-1.8m, gpt`: {"--speculate", "--shape", "neox-410m"},
		"--draft needs a MODEL":               {"--speculate", "--draft", "a"},
		"--context takes positive numbers":    {"--context", "16,0"},
		"it needs --decode and --batch 1":     {"--context", "16", "--decode", "0"},
		"excludes --prefix, --speculate":      {"--context", "16", "--batch", "2"},
		"other than stored":                   {"model.gguf", "--save", "f.gguf"},
		`unexpected argument "b"`:             {"a", "b"},
	} {
		if _, err := runBench(t, args...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{"novels": "--shape measures built-in shapes", "gpt2-124m": "did you mean --shape gpt2-124m?"} {
		if _, err := runBench(t, name); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if _, err := runBench(t, "--shape", "alpha-1.8m", "--decode", "2000"); err == nil || !strings.Contains(err.Error(), "bench alpha-1.8m: 2000 tokens") {
		t.Errorf("got %v", err)
	}
	gone := filepath.Join(t.TempDir(), "no", "f.gguf")
	if _, err := runBench(t, "--shape", "alpha-1.8m", "--save", gone, "--prefill", "0", "--decode", "0"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
