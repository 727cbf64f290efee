package layers

import (
	"errors"
	"io/fs"
	"strings"
)

// module returns the path of the module in the tree fsys.
func module(fsys fs.FS) (string, error) {
	text, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", errors.New("go.mod: there is no module path")
}
