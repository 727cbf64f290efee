package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mixture of experts that does not fit runs from a packed file, and the commands say so. Another
// file is refused with the advice to pack it.
func TestLargerThanMemory(t *testing.T) {
	models := withHome(t)
	const source = "../../pkg/engine/arch/testdata/mixtral-gguf"
	if err := os.CopyFS(filepath.Join(models, "loose"), os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if status, _, notes := say(t, "", "pack", filepath.Join(source, "model.gguf"), "-o", filepath.Join(models, "packed.safetensors")); status != 0 {
		t.Fatal(notes)
	}
	_, want, _ := say(t, "", "run", "packed", "a", "--max-tokens", "5", "--temperature", "0")
	t.Setenv("GLOSSA_MEMORY", "75KiB")
	var m shownModel
	if _, out, _ := say(t, "", "models", "show", "packed", "--json"); json.Unmarshal([]byte(out), &m) != nil || m.Refused != "" || m.Experts < 1 || m.Experts >= m.Memory["stored"] {
		t.Errorf("%+v", m)
	}
	if _, out, _ := say(t, "", "models", "show", "packed"); !strings.Contains(out, "kB in memory, the others stay in the file until they are used") {
		t.Error(out)
	}
	status, out, notes := say(t, "", "run", "packed", "a", "--max-tokens", "5", "--temperature", "0")
	if status != 0 || out != want || want == "" || !strings.Contains(notes, "the others stay in the file") {
		t.Errorf("status %d, %q, want %q; %s", status, out, want, notes)
	}
	const advice = "it does not fit into memory: its smallest form, q4_0, needs 79.7 kB, and weights may take 76.8 kB; its experts could stay in a local file that glossa pack writes"
	if status, _, notes := say(t, "", "run", "loose", "a"); status != 1 || !strings.Contains(notes, advice) {
		t.Errorf("status %d, %s", status, notes)
	}
	if _, out, _ := say(t, "", "models", "show", "loose"); !strings.Contains(out, advice) {
		t.Error(out)
	}
}
