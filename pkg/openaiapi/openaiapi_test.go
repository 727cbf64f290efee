package openaiapi

import (
	"testing"

	"glossa/pkg/llm"
)

func TestOpenNamesTheNearest(t *testing.T) {
	models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "novels"}}}
	for name, want := range map[string]string{
		"novel":  "The model 'novel' does not exist; did you mean 'novels'?",
		"gpt-4o": "The model 'gpt-4o' does not exist",
	} {
		_, err := Open(t.Context(), models, name)
		if e := llm.AsError(err); e.Code != llm.NotFound || e.Param != "model" || e.Message != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
