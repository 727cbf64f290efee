package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const archGoldens = "../../pkg/engine/arch/testdata/"

// filesOf returns the files of a directory of goldens.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(archGoldens + dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(archGoldens+dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// withHome sets the user's directory, and returns its subdirectory of models.
func withHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GLOSSA_HOME", dir)
	return filepath.Join(dir, "models")
}

// say runs a command with an input and returns its status, output and notes.
func say(t *testing.T, in string, args ...string) (status int, out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(in), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// A model is downloaded by its name, answers, and then starts without the hub. Every command
// finds it without a flag.
func TestRun(t *testing.T) {
	models := withHome(t)
	h := newHubOf(t, filesOf(t, "gpt2"))
	tail := []string{"--temperature", "0", "--max-tokens", "4", "--endpoint", h.URL}
	status, first, notes := say(t, "", append([]string{"run", "hf.co/acme/tiny:latest", "the hen"}, tail...)...)
	if status != 0 || first == "" || !strings.Contains(notes, "acme/tiny at main is commit ") || !strings.Contains(notes, "to download: ") {
		t.Fatalf("status %d, %q, %s", status, first, notes)
	}
	if _, err := os.Stat(filepath.Join(models, "tiny", "model.safetensors")); err != nil {
		t.Error(err)
	}
	h.Close()
	for _, name := range []string{"acme/tiny", "tiny", "tiny:latest", "https://huggingface.co/acme/tiny"} {
		status, out, notes := say(t, "the hen", append([]string{"run", name}, tail...)...)
		if status != 0 || out != first || notes != "" {
			t.Errorf("%s: status %d, %q, %q, want %q", name, status, out, notes, first)
		}
	}
	if status, out, notes := say(t, "the hen\n", append([]string{"run", "tiny", "--interactive"}, tail...)...); status != 0 || out != first || !strings.Contains(notes, "(tiny, context of ") {
		t.Errorf("status %d, %q, %s", status, out, notes)
	}
	if status, out, notes := say(t, "the hen", "chat", "tiny", "--temperature", "0", "--max-tokens", "4"); status != 0 || out != first {
		t.Errorf("chat: status %d, %q, %s", status, out, notes)
	}
	if _, out, _ := say(t, "", "models"); !strings.Contains(out, "tiny ") || !strings.Contains(out, models) {
		t.Errorf("models: %s", out)
	}
	if status, out, notes := say(t, "the hen", append([]string{"run", "tiny", "--quant", "q8_0"}, tail...)...); status != 0 || out == "" {
		t.Errorf("--quant: status %d, %q, %s", status, out, notes)
	}
	if _, out, _ := say(t, "", "__complete", "run", "ti"); !strings.Contains(out, "tiny\n") {
		t.Errorf("completion: %s", out)
	}
}

// Weights that do not fit as they are stored are loaded in a smaller format, with the reason.
// A model that fits in no format is refused before anything is downloaded.
func TestRunFits(t *testing.T) {
	models := withHome(t)
	h := newHubOf(t, filesOf(t, "gpt2"))
	size := len(h.files["model.safetensors"])
	args := []string{"run", "acme/tiny", "the hen", "--max-tokens", "4", "--endpoint", h.URL}
	t.Setenv("GLOSSA_MEMORY", "1kB")
	if status, _, notes := say(t, "", args...); status != 1 || !strings.Contains(notes, "fit in no format into the 1.0 kB") {
		t.Errorf("status %d, %s", status, notes)
	}
	if _, err := os.Stat(filepath.Join(models, "tiny")); err == nil {
		t.Error("it was downloaded")
	}
	t.Setenv("GLOSSA_MEMORY", strconv.Itoa(size*4/5)+"B")
	if status, out, notes := say(t, "", args...); status != 0 || out == "" || !strings.Contains(notes, ": they are loaded as ") {
		t.Errorf("status %d, %q, %s", status, out, notes)
	}
	t.Setenv("GLOSSA_MEMORY", "1kB")
	if status, _, notes := say(t, "", "run", "tiny", "the hen"); status != 1 || !strings.Contains(notes, "it does not fit into memory") {
		t.Errorf("status %d, %s", status, notes)
	}
}

// One of several GGUF files is downloaded: that which fits, or that which the user names.
func TestRunQuantisations(t *testing.T) {
	models := withHome(t)
	model := filesOf(t, "gpt2-gguf")["model.gguf"]
	large := filesOf(t, "llama-f32-gguf")["model.gguf"]
	h := newHubOf(t, map[string][]byte{
		"README.md": []byte("# tiny"), "tiny-Q4_K_M.gguf": model, "tiny-Q8_0.gguf": large, "tiny-IQ1_S.gguf": model, "mmproj-tiny-F16.gguf": model,
	})
	t.Setenv("GLOSSA_MEMORY", "100kB")
	status, out, errs := say(t, "", "pull", "acme/tiny-GGUF", "--endpoint", h.URL)
	for _, want := range []string{
		"acme/tiny-GGUF has 3 quantisations; weights may take 100.0 kB of this machine's memory:\n", "\n* Q4_K_M  ", "\n  Q8_0    ", "fits in a smaller format\n", "not chosen by itself\n",
		"Q4_K_M is chosen: it is the common balance of quality and size, and fits; acme/tiny-GGUF:QUANT chooses another\n", ": 1 file, ",
		filepath.Join(models, "tiny-GGUF") + " is complete: glossa run tiny-GGUF\n",
	} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, %q is not in\n%s%s", status, want, out, errs)
		}
	}
	t.Setenv("GLOSSA_MEMORY", "1GB")
	status, out, errs = say(t, "", "pull", "acme/tiny-GGUF:q8_0", "--endpoint", h.URL)
	if status != 0 || !strings.Contains(out, " is complete: glossa run tiny-GGUF:Q8_0\n") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if files, _ := filepath.Glob(filepath.Join(models, "tiny-GGUF", "*.gguf")); len(files) != 2 {
		t.Errorf("%q", files)
	}
	if status, _, errs = say(t, "", "pull", "acme/tiny-GGUF:Q5_K_M", "--endpoint", h.URL); status != 1 || !strings.Contains(errs, `has no quantisation "Q5_K_M": use one of IQ1_S (`) {
		t.Errorf("status %d, %s", status, errs)
	}
	h.Close()
	for _, name := range []string{"acme/tiny-GGUF:q4_k_m", "tiny-GGUF:Q8_0", "acme/tiny-GGUF"} {
		if status, _, notes := say(t, "the hen", "run", name, "--max-tokens", "1", "--endpoint", h.URL); strings.Contains(notes, "hub: ") {
			t.Errorf("%s needs the hub: %d, %s", name, status, notes)
		}
	}
}

// A GGUF model of which no file fits as it is stored is loaded in a smaller format, as it is by its
// quantisation.
func TestRunFitsGGUF(t *testing.T) {
	withHome(t)
	model := filesOf(t, "llama-f32-gguf")["model.gguf"]
	h := newHubOf(t, map[string][]byte{"tiny-F32.gguf": model, "tiny-BF16.gguf": model})
	t.Setenv("GLOSSA_MEMORY", strconv.Itoa(len(model)*4/5)+"B")
	for _, name := range []string{"acme/tiny-GGUF", "acme/tiny-GGUF:F32"} {
		status, out, notes := say(t, "", "run", name, "the hen", "--max-tokens", "1", "--endpoint", h.URL)
		if status != 0 || out == "" || !strings.Contains(notes, ": they are loaded as ") {
			t.Errorf("%s: status %d, %q, %s", name, status, out, notes)
		}
		if name == "acme/tiny-GGUF" && !strings.Contains(notes, "BF16 is chosen: it fits if its weights are loaded in a smaller format") {
			t.Errorf("the reason is not in %s", notes)
		}
	}
	t.Setenv("GLOSSA_MEMORY", "1kB")
	if status, _, notes := say(t, "", "run", "acme/other-GGUF", "the hen", "--endpoint", h.URL); status != 1 || !strings.Contains(notes, "it does not fit into memory: its smallest form, BF16, needs") {
		t.Errorf("status %d, %s", status, notes)
	}
}

// GGUF files in subdirectories of a repository are models like others.
func TestRunSubdirectory(t *testing.T) {
	models := withHome(t)
	model := filesOf(t, "gpt2-gguf")["model.gguf"]
	h := newHubOf(t, map[string][]byte{"tiny-Q4_0.gguf": model, "BF16/tiny-BF16.gguf": model, "q8/tiny.gguf": model, "q6/tiny.gguf": model})
	tail := []string{"the hen", "--max-tokens", "1", "--endpoint", h.URL}
	names := []string{"acme/tiny-GGUF:BF16", "https://huggingface.co/acme/tiny-GGUF/blob/main/q8/tiny.gguf"}
	for _, name := range names {
		if status, out, notes := say(t, "", append([]string{"run", name}, tail...)...); status != 0 || out == "" {
			t.Errorf("%s: status %d, %q, %s", name, status, out, notes)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(models, "tiny-GGUF", "*.gguf")); len(files) != 2 {
		t.Errorf("%q", files)
	}
	if status, _, notes := say(t, "", "run", "https://huggingface.co/acme/tiny-GGUF/blob/main/q6/tiny.gguf", "the hen", "--max-tokens", "1", "--endpoint", h.URL); status != 0 || !strings.Contains(notes, "to download: ") {
		t.Errorf("another file of the same name: status %d, %s", status, notes)
	}
	h.Close()
	for _, name := range names {
		if status, out, notes := say(t, "", append([]string{"run", name}, tail...)...); status != 0 || out == "" {
			t.Errorf("%s needs the hub: status %d, %q, %s", name, status, out, notes)
		}
	}
}

// A name without an owner that no model has is an error that says how to download one.
func TestRunRefuses(t *testing.T) {
	withHome(t)
	for name, want := range map[string]struct {
		status int
		says   string
	}{
		"novles":          {1, `there is no model "novles"; did you mean "novels"?; to download a model, name its owner too: glossa run OWNER/NAME`},
		"../novels":       {2, "--checkpoints .. novels"},
		"novels.gguf":     {1, "--checkpoints . novels"},
		"acme/tiny:a:b":   {2, "is not the name of a quantisation"},
		"acme/tiny/other": {2, "is not OWNER/NAME"},
	} {
		if status, out, notes := say(t, "", "run", name, "hello", "--endpoint", "http://127.0.0.1:1"); status != want.status || out != "" || !strings.Contains(notes, want.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", name, status, notes, want.status, want.says)
		}
	}
	if status, _, notes := say(t, "hi", "run", "acme/tiny", "--checkpoints", t.TempDir()+"/none"); status != 1 || !strings.Contains(notes, "does not exist") {
		t.Errorf("%d, %s", status, notes)
	}
	if status, _, notes := say(t, "", "run", "novels", "hi", "--quant", "q3"); status != 2 || !strings.Contains(notes, `--quant: "q3" must be stored`) {
		t.Errorf("%d, %s", status, notes)
	}
	if status, out, notes := say(t, "", "run", "novels", "The old", "--max-tokens", "2"); status != 0 || out == "" || notes != "" {
		t.Errorf("a starter: %d, %q, %q", status, out, notes)
	}
}
