package schema_test

import (
	"encoding/json"
	"fmt"
	"log"

	"glossa/pkg/schema"
)

// A schema maps the canonical keys to the JSON of one provider, in both directions.
func Example() {
	s, err := schema.Parse([]byte(`{
		"request": {
			"defaults": {"inputs": "", "parameters": {"max_new_tokens": 100, "temperature": 0.5}},
			"mapping": {
				"prompt": "$.inputs",
				"max_new_tokens": "$.parameters.max_new_tokens",
				"temperature": "$.parameters.temperature"
			}
		},
		"response": {"regex_sub": "", "mapping": {"generated_text": "$[0].generated_text"}}
	}`))
	if err != nil {
		log.Fatal(err)
	}
	request := map[string]any{"prompt": "Hello", "max_new_tokens": 20, "top_k": 40}
	body, err := json.Marshal(s.Request(request))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	fmt.Println(s.Unmapped(request))

	answer, err := s.Response.Read([]byte(`[{"generated_text": "Hello there"}]`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer["generated_text"])
	// Output:
	// {"inputs":"Hello","parameters":{"max_new_tokens":20,"temperature":0.5}}
	// [top_k]
	// Hello there
}

// The error of Parse joins all mistakes, each with its place.
func ExampleMistakes() {
	_, err := schema.Parse([]byte(`{"request": {"defaults": {}, "mapping": {"prompt": "inputs["}}}`))
	for _, mistake := range schema.Mistakes(err) {
		fmt.Println(mistake.Pointer)
	}
	// Output:
	// /response
	// /request/mapping/prompt
}
