package openapi_test

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"

	"glossa/pkg/dialect/openai"
	"glossa/pkg/llm"
	"glossa/pkg/openapi"
)

// Every documented route of a dialect is a path of the document.
func ExampleDocument() {
	routes := openai.Routes(openai.Config{Models: llm.Fixed{}})
	document, err := openapi.Document(openapi.Info{Title: "My models", Version: "1"}, routes)
	if err != nil {
		log.Fatal(err)
	}
	var d struct {
		OpenAPI string
		Paths   map[string]any
	}
	if err := json.Unmarshal(document, &d); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.OpenAPI, slices.Contains(slices.Collect(maps.Keys(d.Paths)), "/v1/chat/completions"))
	// Output:
	// 3.1.0 true
}
