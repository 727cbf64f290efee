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

// open opens the model at a path.
func open(path, name string) (llm.Model, error) {
	model, err := arch.OpenPath(path)
	if err != nil {
		return llm.Model{}, err
	}
	e, err := engine.New(model, engine.Config{Name: name})
	if err != nil {
		return llm.Model{}, err
	}
	return llm.Model{ModelInfo: e.Info(), Backend: e}, nil
}

// This program serves a model of its own process to the clients of OpenAI.
func Example() {
	model, err := open("../../starter/runs/novels", "novels")
	if err != nil {
		log.Fatal(err)
	}
	mux := httpx.Mux{Routes: openai.Routes(openai.Config{Models: llm.Fixed{model}})}
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
