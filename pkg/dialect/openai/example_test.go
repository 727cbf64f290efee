package openai_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"glossa/pkg/dialect/openai"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// This program serves a model of its own process to the clients of OpenAI.
func Example() {
	model, err := arch.OpenPath("../../starter/runs/novels")
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(model, engine.Config{Name: "novels"})
	if err != nil {
		log.Fatal(err)
	}
	models := llm.Fixed{{ModelInfo: e.Info(), Backend: e}}
	mux := httpx.Mux{Routes: openai.Routes(openai.Config{Models: models})}
	server := httptest.NewServer(mux.Handler()) // in a server: http.ListenAndServe(address, mux.Handler())
	defer server.Close()

	response, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(
		`{"model": "novels", "prompt": "The old lighthouse", "max_tokens": 8, "temperature": 0}`))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Choices []struct{ Text string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Choices[0].Text)
	// Output:
	// stood among lonely reeds, far from the
}
