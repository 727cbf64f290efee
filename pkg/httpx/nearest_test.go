package httpx

import (
	"context"
	"errors"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// listed is a server of these models.
type listed []string

func (l listed) Open(context.Context, string) (*llm.Model, error) {
	return nil, llm.Errorf(llm.NotFound, "no such model")
}

func (l listed) List(context.Context) (list []llm.ModelInfo, err error) {
	if len(l) == 0 {
		return nil, errors.New("the table cannot be read")
	}
	for _, name := range l {
		list = append(list, llm.ModelInfo{Name: name})
	}
	return list, nil
}

func TestNearestModel(t *testing.T) {
	models := listed{"abc", "novels", "Qwen3-0.6B", "Qwen3-0.6B-Base", strings.Repeat("long", 40)}
	for name, want := range map[string]string{
		"novel": "novels", "Novels": "novels", "noevls": "novels", "local/novells": "novels", "novels:latest": "novels", "nove": "",
		"Qwen/Qwen3-0.6B": "Qwen3-0.6B", "qwen/qwen3-0.6b-base": "Qwen3-0.6B-Base", "Qwen3-0,6B": "Qwen3-0.6B",
		"abd": "abc", "ab": "", "": "", "/": "", "gpt-4o": "", strings.Repeat("long", 41): "", strings.Repeat("n", 1000): "",
	} {
		if got := NearestModel(t.Context(), models, name); got != want {
			t.Errorf("%.40s: %q, want %q", name, got, want)
		}
	}
	if got := NearestModel(t.Context(), listed(nil), "novel"); got != "" {
		t.Errorf("without a list: %q", got)
	}
}
