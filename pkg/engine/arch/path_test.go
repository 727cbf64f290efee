package arch_test

import (
	"errors"
	"io/fs"
	"testing"

	"glossa/pkg/engine/arch"
)

// A path may be relative, the working directory itself or a file.
func TestOpenPath(t *testing.T) {
	t.Chdir("testdata/gpt2")
	for _, path := range []string{".", "./", "../gpt2", "../gpt2-gguf/model.gguf"} {
		m, err := arch.OpenPath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if m.Type != "gpt2" {
			t.Errorf("%s: %s", path, m.Type)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := arch.OpenPath("../missing")
	if e, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v, %v", e, err)
	}
}
