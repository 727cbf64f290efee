package openapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

type order struct {
	Name string `json:"name"`
}

type receipt struct {
	Name  string `json:"name" doc:"of the order"`
	Count int    `json:"count,omitempty"`
}

// shape gives errors a status of their own.
type shape struct{}

type failure struct {
	Why string `json:"why"`
}

func (shape) Body(e *llm.Error) (int, any) {
	if e.Code == llm.NotFound {
		return http.StatusGone, failure{e.Message}
	}
	return httpx.Status(e.Code), failure{e.Message}
}

func (shape) InBand(*llm.Error) []byte { return nil }

func routes() []httpx.Route {
	orders := wire.For[order](wire.Parameter{Name: "name", Required: true, Note: "what is ordered"})
	return []httpx.Route{
		{
			Method: http.MethodPost, Pattern: "/shops/{shop...}/orders", Permission: httpx.Inference, Errors: shape{},
			Doc: &httpx.Operation{
				ID: "order", Tag: "Shop", Summary: "Order", Body: orders, Example: `{"name": "tea"}`,
				Path:    []httpx.PathParameter{{Name: "shop", Description: "the name of the shop"}},
				Answers: []httpx.Answer{{Status: http.StatusCreated, Of: receipt{}}},
			},
		},
		{
			Method: http.MethodGet, Pattern: "/{$}", Permission: httpx.Public,
			Doc: &httpx.Operation{ID: "home", Tag: "Shop", Summary: "Get the page", Answers: []httpx.Answer{{Media: "text/html", Description: "a page"}}},
		},
		{Method: http.MethodGet, Pattern: "/secret"},
	}
}

// TestDocument: an operation has its parameters, its body with an example, its answer, and
// each error with the status and the shape that its route gives it.
func TestDocument(t *testing.T) {
	b, err := Document(Info{Title: "shop", Version: "1", Tags: []Tag{{Name: "Shop"}, {Name: "Unused"}}}, routes())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tags       []Tag
		Paths      map[string]map[string]operationJSON
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Tags) != 1 || len(doc.Paths) != 2 {
		t.Errorf("%d tags, %d paths", len(doc.Tags), len(doc.Paths))
	}
	op := doc.Paths["/shops/{shop}/orders"]["post"]
	for _, status := range []string{"201", "400", "401", "403", "410", "413", "429", "500", "502", "503", "504"} {
		if op.Responses[status] == nil {
			t.Errorf("no %s", status)
		}
	}
	for status, want := range map[string]string{"201": "ShopReceipt", "410": "ShopFailure"} {
		if !strings.Contains(string(op.Responses[status]), `"$ref":"#/components/schemas/`+want+`"`) || doc.Components.Schemas[want] == nil {
			t.Errorf("%s is %s", status, op.Responses[status])
		}
	}
	if body := string(op.RequestBody); !strings.Contains(body, `"value":{"name":"tea"}`) || !strings.Contains(body, `"required":["name"]`) {
		t.Errorf("the body is %s", body)
	}
	if home := doc.Paths["/"]["get"]; home.Security == nil || len(*home.Security) != 0 || home.Responses["401"] != nil || op.Security != nil {
		t.Errorf("public routes need no key, and others do: %+v", home)
	}
}

type operationJSON struct {
	RequestBody json.RawMessage
	Responses   map[string]json.RawMessage
	Security    *[]any
}

// TestShared: of routes that share a path the bodies and the answers of both are described.
func TestShared(t *testing.T) {
	list := routes()
	other := list[0]
	other.Doc = &httpx.Operation{
		ID: "rent", Tag: "Rental", Summary: "Rent", Path: list[0].Doc.Path, Example: `{"days": 3}`,
		Body: wire.For[struct {
			Days *int `json:"days"`
		}](wire.Parameter{Name: "days", Bounds: wire.AtLeast(1)}),
		Answers: []httpx.Answer{{Status: http.StatusCreated, Of: struct {
			Days int `json:"days"`
		}{}}},
	}
	b, err := Document(Info{}, []httpx.Route{httpx.Shared(nil, list[0], other)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"summary":"Order; or: rent"`, `"rent":{"value":{"days":3}}`, `"anyOf":[{"type":"object","properties":{"name"`, `"tags":["Shop","Rental"]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

// pointed is a shape of errors whose bodies are pointers.
type pointed struct{ httpx.Errors }

func (pointed) Body(e *llm.Error) (int, any) {
	return httpx.Status(e.Code), &struct {
		Why string `json:"why"`
	}{e.Message}
}

// TestPointers: the body of an error that is a pointer is not null.
func TestPointers(t *testing.T) {
	route := routes()[0]
	route.Errors = pointed{}
	b, err := Document(Info{}, []httpx.Route{route})
	if err != nil || !strings.Contains(string(b), `"why"`) || strings.Contains(string(b), `"null"`) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestIncomplete: documentation that lacks something is an error of the program.
func TestIncomplete(t *testing.T) {
	wildcard, unknown := routes()[:1], routes()[:1]
	wildcard[0].Doc.Path = nil
	unknown[0].Doc.Codes = []llm.Code{"unheard_of"}
	for name, list := range map[string][]httpx.Route{"a wildcard": wildcard, "a code": unknown} {
		if _, err := Document(Info{}, list); err == nil {
			t.Errorf("%s without a description is accepted", name)
		}
	}
}
