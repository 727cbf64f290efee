package httpx_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

type greeting struct {
	Name string `json:"name"`
}

// A handler returns its error; the mux writes it, and recovers from panics.
func ExampleMux() {
	table := wire.For[greeting](wire.Parameter{Name: "name", Required: true, Note: "whom to greet"})
	greet := func(w http.ResponseWriter, r *http.Request) error {
		var in greeting
		if err := httpx.Decode(r, table, &in); err != nil {
			return err
		}
		if in.Name == "nobody" {
			return llm.Errorf(llm.NotFound, "there is nobody")
		}
		return httpx.JSON(w, http.StatusOK, map[string]string{"text": "Hello, " + in.Name})
	}
	mux := httpx.Mux{Routes: []httpx.Route{{Method: "POST", Pattern: "/greet", Permission: httpx.Public, Handle: greet}}}
	handler := mux.Handler()

	for _, body := range []string{`{"name": "Thea"}`, `{"name": "nobody"}`, `{}`} {
		r := httptest.NewRequest("POST", "/greet", strings.NewReader(body))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
		if w.Code == http.StatusOK {
			fmt.Println(strings.TrimSpace(w.Body.String()))
		}
	}
	// Output:
	// 200 application/json
	// {"text":"Hello, Thea"}
	// 404 application/json
	// 400 application/json
}

// A stream sends each value as it comes.
func ExampleStream() {
	w := httptest.NewRecorder()
	stream := httpx.NewStream(context.Background(), w, httpx.SSE)
	for _, word := range []string{"Hello", "there"} {
		if err := stream.Send(map[string]string{"text": word}); err != nil {
			return // the client left
		}
	}
	fmt.Print(w.Body)
	// Output:
	// data: {"text":"Hello"}
	//
	// data: {"text":"there"}
}
