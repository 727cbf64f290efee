package llmtest

import (
	"context"

	"glossa/pkg/llm"
)

// A Catalog is a list of models with backends; the first is the default.
type Catalog []llm.Model

// Open implements [llm.Models].
func (c Catalog) Open(_ context.Context, name string) (*llm.Model, error) {
	for i, m := range c {
		if name == "" || name == m.Name || name == m.Family+"/"+m.Name {
			return &c[i], nil
		}
	}
	return nil, llm.Errorf(llm.NotFound, "no model %q", name)
}

// List implements [llm.Models].
func (c Catalog) List(context.Context) (list []llm.ModelInfo, _ error) {
	for _, m := range c {
		list = append(list, m.ModelInfo)
	}
	return list, nil
}
