package app

import (
	_ "embed" // for the document
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"glossa/pkg/host"
	"glossa/pkg/httpx"
)

//go:embed openapi.json
var document []byte

const documentPath = "/openapi.json"

// description returns the route of the OpenAPI document, which tells of the given routes
// and of itself. What is not mounted here is left out of it, but for who comes through a
// gateway: all families stand behind one, and one function answers for them. Who has no
// key may read it, as the page does before there is one: it is the same everywhere.
func description(routes []httpx.Route, all func() []httpx.Route) httpx.Route {
	own := sync.OnceValues(func() ([]byte, error) { return describe(document, routes) })
	whole := sync.OnceValues(func() ([]byte, error) { return describe(document, all()) })
	return httpx.Route{
		Method: http.MethodGet, Pattern: documentPath, Permission: httpx.Public,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			body := own
			if host.BehindGateway(r.Context()) {
				body = whole
			}
			b, err := body()
			if err != nil {
				return err
			}
			return httpx.JSON(w, http.StatusOK, json.RawMessage(b))
		},
	}
}

// describe keeps of the document's paths those that routes have.
func describe(document []byte, routes []httpx.Route) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	var paths map[string]map[string]json.RawMessage
	if err := json.Unmarshal(doc["paths"], &paths); err != nil {
		return nil, fmt.Errorf("openapi.json: paths: %w", err)
	}
	kept := map[string]map[string]json.RawMessage{}
	keep := func(pattern, method string) {
		path, method := openapiPath(pattern), strings.ToLower(method)
		if operation, ok := paths[path][method]; ok {
			if kept[path] == nil {
				kept[path] = map[string]json.RawMessage{}
			}
			kept[path][method] = operation
		}
	}
	for _, route := range routes {
		keep(route.Pattern, route.Method)
	}
	keep(documentPath, http.MethodGet)
	var err error
	if doc["paths"], err = json.Marshal(kept); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// openapiPath spells a pattern as OpenAPI does: it has no "..." for the rest.
func openapiPath(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "...}", "}"), "{$}", "")
}
