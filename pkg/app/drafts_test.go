package app

import (
	"maps"
	"strings"
	"testing"
)

// Draft models are set by the names of their models, each once.
func TestParseDrafts(t *testing.T) {
	for setting, want := range map[string]map[string]string{
		"": nil, "a=b": {"a": "b"}, "a:q4=b, c=b": {"a:q4": "b", "c": "b"},
	} {
		cfg, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_DRAFTS": setting}[name] })
		if err != nil || !maps.Equal(cfg.Drafts, want) {
			t.Errorf("%q: %v, %v", setting, cfg.Drafts, err)
		}
	}
	for setting, want := range map[string]string{
		"a": `"a" must be MODEL=DRAFT`, "a=": "must be MODEL=DRAFT", "=b": "must be MODEL=DRAFT", "a=b,": `"" must be`, "a=b,a=c": `"a" has two draft models`,
	} {
		_, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_DRAFTS": setting}[name] })
		if err == nil || !strings.Contains(err.Error(), "GLOSSA_DRAFTS: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", setting, err, want)
		}
	}
}
