package catalog_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"glossa/pkg/catalog"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// A catalog reads records and opens the models that they describe by the openers of their
// families.
func Example() {
	records := fstest.MapFS{
		"all-models.json": {Data: []byte(`{"pk": "models", "sk": "all-models", "models": [
			{"model_type": "Greeter", "model_name": "acme.greeter", "model_family": "bedrock", "streaming": false}
		]}`)},
		"bedrock-acme.json": {Data: []byte(`{"pk": "models", "sk": "bedrock-acme", "schema": {
			"request": {"defaults": {"text": ""}, "mapping": {"prompt": "$.text"}},
			"response": {"regex_sub": "", "mapping": {"generated_text": "$.text"}}
		}}`)},
	}
	c := catalog.New(catalog.Config{
		Source: catalog.Files{FS: records},
		Openers: map[string]catalog.Opener{
			catalog.Bedrock: func(_ context.Context, record *catalog.Record) (llm.Backend, error) {
				return llmtest.Script{"Hello from ", record.BedrockID()}, nil
			},
		},
	})
	m, err := c.Open(context.Background(), "acme.greeter")
	if err != nil {
		log.Fatal(err)
	}
	request := &llm.Request{Prompts: []llm.Prompt{llm.Text("Hi")}}
	rows, _, err := llm.Collect(m.Generate(context.Background(), request), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Family, m.Type, rows[0].Text)
	// Output:
	// bedrock Greeter Hello from acme.greeter
}
