package openapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"glossa/pkg/httpx"
)

type word struct {
	Text string `json:"text"`
}

// TestEvents: the schema of a stream describes an event, whose data is an answer as JSON, an
// error of the route, or the end marker.
func TestEvents(t *testing.T) {
	route := httpx.Route{Method: http.MethodGet, Pattern: "/words", Permission: httpx.Public, Doc: &httpx.Operation{
		ID: "words", Tag: "Words", Summary: "Stream words",
		Answers: []httpx.Answer{{Of: word{}}, {Media: "text/event-stream", Of: word{}, End: "[DONE]"}, {Media: "text/event-stream", Of: []word{}}},
	}}
	b, err := Document(Info{}, []httpx.Route{route})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","description":"a server-sent event","properties":{"data":{"anyOf":[` +
		`{"type":"string","contentMediaType":"application/json","contentSchema":{"anyOf":[` +
		`{"$ref":"#/components/schemas/WordsWord"},{"$ref":"#/components/schemas/WordsPlainError"},{"type":"array","items":{"$ref":"#/components/schemas/WordsWord"}}]}},` +
		`{"type":"string","const":"[DONE]"}]}},"required":["data"]}`
	if got := doc.Paths["/words"]["get"].Responses["200"].Content["text/event-stream"].Schema; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
