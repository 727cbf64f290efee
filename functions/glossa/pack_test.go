package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func runPack(ctx context.Context, args ...string) (out, notes string, err error) {
	return output(ctx, append([]string{"pack"}, args...)...)
}

const packSource = "../../pkg/engine/arch/testdata/gpt2"

// A packed model is listed, and answers like its source.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	for _, quant := range packFormats {
		file := filepath.Join(dir, "small-"+quant+".safetensors")
		for range 2 { // the second replaces the first
			out, notes, err := runPack(t.Context(), packSource, "-o", file, "--quant", quant)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out, file+": GPT-2, ") || !strings.Contains(out, " weights in "+quant+" of ") {
				t.Errorf("said %q", out)
			}
			if lines := strings.Split(strings.TrimSpace(notes), "\n"); !strings.Contains(lines[len(lines)-1], " of ") {
				t.Errorf("the bar is %q", notes)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(packFormats) {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	t.Setenv("GLOSSA_CHECKPOINTS", dir)
	table, _, err := output(t.Context(), "models")
	if err != nil {
		t.Fatalf("%v\n%s", err, table)
	}
	for _, quant := range packFormats {
		if !strings.Contains(table, "small-"+quant+" ") {
			t.Errorf("small-%s is not among\n%s", quant, table)
		}
	}
}

// An Alpha run can be packed, and gives the same text.
func TestPackRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "models", "mine.safetensors")
	out, _, err := runPack(t.Context(), "../../pkg/starter/runs/novels", "-o", file, "--quant", "f32")
	if err != nil || !strings.Contains(out, ": Alpha, ") {
		t.Fatalf("%q, %v", out, err)
	}
	t.Setenv("GLOSSA_CHECKPOINTS", filepath.Dir(file))
	say := func(model string) string {
		var answer, notes bytes.Buffer
		args := []string{"chat", model, "--temperature", "0", "--max-tokens", "30"}
		if err := command(t.Context(), strings.NewReader("The old lighthouse\n"), &answer, &notes, args...); err != nil {
			t.Fatal(err, notes.String())
		}
		return answer.String()
	}
	if got, want := say("mine"), say("novels"); got != want || len(want) < 40 {
		t.Errorf("packed it says %q, not %q", got, want)
	}
}

// A source that does not exist is named, with the directory of a downloaded model.
func TestPackOfNothing(t *testing.T) {
	models := withHome(t)
	place(t, models, map[string][]byte{"tiny/config.json": []byte("{}")})
	t.Chdir(t.TempDir())
	for source, want := range map[string]string{
		"nothing": "nothing does not exist: name a training run, ",
		"tiny":    "tiny does not exist here: the model of glossa pull is " + filepath.Join(models, "tiny") + "\n",
		"../tiny": "../tiny does not exist: name a training run, ",
	} {
		for _, args := range [][]string{{"pack", source}, {"publish", source, "--checkpoints", "."}} {
			if status, _, notes := say(t, "", args...); status != 1 || !strings.Contains(notes, want) {
				t.Errorf("%q: status %d, %s", args, status, notes)
			}
		}
	}
}

// Without -o the name consists of the source's name and the format.
func TestPackNames(t *testing.T) {
	source, err := filepath.Abs(packSource)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if _, _, err := runPack(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("gpt2-q8_0.safetensors"); err != nil {
		t.Error(err)
	}
	quantised := filepath.Join(filepath.Dir(source), "llama-q4_k-gguf", "model.gguf")
	out, _, err := runPack(t.Context(), quantised)
	if err != nil || !strings.Contains(out, "model.safetensors: ") || !strings.Contains(out, " weights in stored of ") {
		t.Errorf("%q, %v", out, err)
	}
	before, after := stat(t, quantised), stat(t, "model.safetensors")
	if after > before*5/4 {
		t.Errorf("%d bytes of K-quants became %d", before, after)
	}
}

// The head can have a format of its own.
func TestPackHead(t *testing.T) {
	source, err := filepath.Abs("../../pkg/engine/arch/testdata/llama-q4_k-gguf/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	out, _, err := runPack(t.Context(), source, "--quant", "f32", "--head", "q4_k")
	if err != nil || !strings.Contains(out, "model-f32-head-q4_k.safetensors: Llama, ") || !strings.Contains(out, " weights in f32 with q4_k head of ") {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := runPack(t.Context(), source, "--quant", "f32"); err != nil {
		t.Fatal(err)
	}
	if with, without := stat(t, "model-f32-head-q4_k.safetensors"), stat(t, "model-f32.safetensors"); with >= without {
		t.Errorf("%d bytes with a head in q4_k, %d without", with, without)
	}
	t.Setenv("GLOSSA_CHECKPOINTS", ".")
	for _, name := range []string{"model-f32-head-q4_k", "model-f32"} {
		if status, _, notes := say(t, "", "chat", name, "--temperature", "0", "--max-tokens", "3", "hello"); status != 0 {
			t.Errorf("%s: status %d, %s", name, status, notes)
		}
	}
	if status, _, notes := say(t, "", "pack", source, "--head", "q5"); status != 2 || !strings.Contains(notes, `--head: "q5" must be q8_0, `) {
		t.Errorf("status %d, %s", status, notes)
	}
}

// stat returns the size of a file.
func stat(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Only packed models are overwritten, and partial files do not remain.
func TestPackRefuses(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious.safetensors")
	if err := os.WriteFile(precious, []byte("other weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "new.safetensors")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		args  []string
		usage bool
		want  string
	}{
		{t.Context(), nil, true, "missing argument SOURCE"},
		{t.Context(), []string{packSource, "-o", "x.bin"}, true, ".safetensors"},
		{t.Context(), []string{packSource, "-o", fresh, "--quant", "q5_1"}, true, `"q5_1"`},
		{t.Context(), []string{packSource, "-o", precious}, false, "not replaced"},
		{t.Context(), []string{"no-such-model", "-o", fresh}, false, "no-such-model"},
		{t.Context(), []string{packSource, "-o", filepath.Join(precious, "x.safetensors")}, false, precious},
		{gone, []string{packSource, "-o", fresh}, false, "canceled"},
	} {
		_, _, err := runPack(c.ctx, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, errUsage) != c.usage {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "other weights" {
		t.Errorf("%q, %v", b, err)
	}
}
