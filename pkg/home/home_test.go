package home_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"glossa/pkg/home"
)

func TestModels(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the table are absolute on other systems only")
	}
	for name, test := range map[string]struct {
		goos string
		env  map[string]string
		want string // "": an error
		says string
	}{
		"linux":                      {"linux", map[string]string{"HOME": "/h"}, "/h/.local/share/glossa/models", ""},
		"freebsd":                    {"freebsd", map[string]string{"HOME": "/h"}, "/h/.local/share/glossa/models", ""},
		"linux with XDG":             {"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/glossa/models", ""},
		"a relative XDG directory":   {"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "d"}, "/h/.local/share/glossa/models", ""},
		"macOS":                      {"darwin", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/h/Library/Application Support/glossa/models", ""},
		"windows":                    {"windows", map[string]string{"LocalAppData": "/l", "HOME": "/h"}, "/l/glossa/models", ""},
		"the variable":               {"darwin", map[string]string{"HOME": "/h", "GLOSSA_HOME": "/g"}, "/g/models", ""},
		"linux without a home":       {"linux", nil, "", "set GLOSSA_HOME or HOME"},
		"macOS without a home":       {"darwin", map[string]string{"XDG_DATA_HOME": "/d"}, "", "set GLOSSA_HOME or HOME"},
		"windows without a home":     {"windows", map[string]string{"HOME": "/h"}, "", "set GLOSSA_HOME or LocalAppData"},
		"the variable is cleaned up": {"linux", map[string]string{"GLOSSA_HOME": "/g/../x/"}, "/x/models", ""},
	} {
		got, err := home.Models(test.goos, func(name string) string { return test.env[name] })
		if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, test.want, test.says)
		}
	}
}

// A relative directory does not change its meaning when the program changes its own.
func TestRelative(t *testing.T) {
	got, err := home.Dir(runtime.GOOS, func(name string) string { return map[string]string{"GLOSSA_HOME": "here"}[name] })
	if err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "here" {
		t.Errorf("%q, %v", got, err)
	}
}
