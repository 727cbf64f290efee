package openai

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/openapi"
)

// TestExamples: the table of each route accepts the route's example.
func TestExamples(t *testing.T) {
	ids := map[string]bool{}
	for _, route := range Routes(Config{}) {
		doc := route.Doc
		if ids[doc.ID] {
			t.Errorf("two operations have the id %s", doc.ID)
		}
		ids[doc.ID] = true
		if doc.Body == nil {
			continue
		}
		in := reflect.New(doc.Body.Type()).Interface()
		if err := doc.Body.Decode([]byte(doc.Example), in); err != nil {
			t.Errorf("%s: %v", doc.ID, err)
		}
		var err error
		switch in := in.(type) {
		case *chatRequest:
			_, err = in.request()
		case *completionRequest:
			_, err = in.request()
		case *embeddingRequest:
			_, err = in.request()
		case *tokenizeRequest:
			_, err = in.input()
		case *rerankRequest:
			_, err = in.request()
		case *scoreRequest:
			_, err = in.request()
		case *embedRequest:
			_, err = in.request()
		case *inputsRequest:
			_, err = in.request()
		case *classifyRequest:
			_, err = in.request()
		case *predictRequest:
			_, err = in.request()
		case *plainRequest:
			_, err = in.sparse()
		case *similarityRequest:
			_, err = in.request()
		case *poolingRequest:
			_, err = in.request()
		case *decodeRequest:
			_, err = in.lists()
		}
		if err != nil {
			t.Errorf("%s: %v", doc.ID, err)
		}
	}
}

// TestDocument: each route is described, with its body, its answers and its errors.
func TestDocument(t *testing.T) {
	b, err := openapi.Document(openapi.Info{}, Routes(Config{}))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Body      any            `json:"requestBody"`
			Responses map[string]any `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, route := range Routes(Config{}) {
		method := map[string]string{"GET": "get", "POST": "post"}[route.Method]
		op, ok := doc.Paths[openapi.Path(route.Pattern)][method]
		invalid, _ := route.Errors.Body(&llm.Error{Code: llm.Invalid})
		if !ok || op.Responses["200"] == nil || op.Responses[strconv.Itoa(invalid)] == nil || op.Responses["503"] == nil || (op.Body != nil) != (route.Method == "POST") {
			t.Errorf("%s %s: %v", route.Method, route.Pattern, op)
		}
	}
}
