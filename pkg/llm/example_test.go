package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A parrot is a backend that repeats its prompts, word by word.
type parrot struct{}

// Generate implements [llm.Backend].
func (parrot) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		usage := &llm.Usage{}
		// Apply rejects each parameter that set does not take, by its name.
		limit := 100
		err := req.Apply(func(name string, value any) bool {
			if name == "max_new_tokens" {
				limit = value.(int)
			}
			return name == "max_new_tokens"
		})
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		for row := range req.Rows() { // completion i of prompt p is row p*N+i
			text, finish := said(req.Prompts[row/max(req.N, 1)]), llm.FinishEOS
			words := strings.SplitAfter(text, " ")
			usage.Input += len(words)
			if len(words) > limit {
				words, finish = words[:limit], llm.FinishLength
			}
			for _, word := range words {
				if ctx.Err() != nil {
					yield(llm.Chunk{}, ctx.Err())
					return
				}
				usage.Output++
				if !yield(llm.Chunk{Row: row, Text: word}, nil) {
					return
				}
			}
			last := llm.Chunk{Row: row, Finish: finish}
			if row == req.Rows()-1 {
				last.Usage = usage
			}
			if !yield(last, nil) {
				return
			}
		}
	}
}

// said returns the text of a prompt or the last message of a chat.
func said(p llm.Prompt) string {
	if text, ok := p.Text(); ok {
		return text
	}
	var text strings.Builder
	if n := len(p.Messages); n > 0 {
		for _, part := range p.Messages[n-1].Parts {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

// This program serves a backend of its own to the clients of two protocols. TestBackend in
// package llmtest checks a backend against the rules of Backend.
func Example() {
	models := llm.Fixed{{
		ModelInfo: llm.ModelInfo{Name: "parrot", Family: "mine", Streaming: true},
		Backend:   parrot{},
	}}
	mux := httpx.Mux{Routes: slices.Concat(
		openai.Routes(openai.Config{Models: models}),
		textsynth.Routes(textsynth.Config{Models: models}),
	)}
	server := httptest.NewServer(mux.Handler()) // in a server: http.ListenAndServe(address, mux.Handler())
	defer server.Close()

	var chat struct {
		Choices []struct{ Message struct{ Content string } }
	}
	post(server.URL+"/v1/chat/completions", `{"model": "parrot", "messages": [{"role": "user", "content": "Hello there"}]}`, &chat)
	fmt.Println(chat.Choices[0].Message.Content)

	var completion struct{ Text string }
	post(server.URL+"/v1/engines/parrot/completions", `{"prompt": "One two three", "max_tokens": 2}`, &completion)
	fmt.Printf("%q\n", completion.Text)

	var refused struct{ Error string }
	post(server.URL+"/v1/engines/parrot/completions", `{"prompt": "One", "temperature": 0.5}`, &refused)
	fmt.Println(strings.HasPrefix(refused.Error, "temperature"))
	// Output:
	// Hello there
	// "One two "
	// true
}

func post(url, body string, answer any) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		log.Fatal(err)
	}
}
