package catalog

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func priced(prices string) *item {
	return parseItem([]byte(`{"pk":"models","sk":"bedrock-a.b","prices":` + prices + `}`))
}

func TestPrices(t *testing.T) {
	for text, want := range map[string]llm.Prices{
		`{"input":3,"output":15}`:                     {Input: 3e6, CachedInput: 3e6, Output: 15e6},
		`{"input":3,"cached_input":0.3,"output":15}`:  {Input: 3e6, CachedInput: 3e5, Output: 15e6},
		`{"input":1e-6,"cached_input":0}`:             {Input: 1},
		`{"currency":"USD","request":0.002}`:          {Request: 2e9},
		`{"input":0.000001,"output":100000}`:          {Input: 1, CachedInput: 1, Output: 1e11},
		`"{\"input\":2.50,\"output\":null}"`:          {Input: 25e5, CachedInput: 25e5},
		`{"input":0,"output":0,"cached_input":0.000}`: {},
	} {
		it := priced(text)
		if len(it.mistakes) > 0 || it.prices == nil || *it.prices != want {
			t.Errorf("%s: %v, %v", text, it.prices, it.mistakes)
			continue
		}
		rec := it.record(Row{Family: Bedrock, Name: "a.b"})
		if e := rec.entry(nil); *e.Prices != want {
			t.Errorf("%s: the model has %v", text, e.Prices)
		}
	}
	if it := parseItem([]byte(`{"pk":"models","sk":"bedrock-a.b"}`)); it.prices != nil {
		t.Errorf("without prices: %v", it.prices)
	}
}

// Every mistake names its field.
func TestWrongPrices(t *testing.T) {
	for text, want := range map[string]string{
		`{"input":-1}`:                  "/prices/input",
		`{"input":"3"}`:                 "/prices/input",
		`{"input":"NaN"}`:               "/prices/input",
		`{"input":1e400}`:               "/prices/input",
		`{"input":[3]}`:                 "/prices/input",
		`{"input":true}`:                "/prices/input",
		`{"output":100000.5}`:           "/prices/output",
		`{"output":0.0000001}`:          "/prices/output",
		`{"input":1,"cached_input":-2}`: "/prices/cached_input",
		`{"request":1e12}`:              "/prices/request",
		`{"input":1,"currency":"EUR"}`:  "/prices/currency",
		`{"input":1,"inputs":1}`:        "/prices/inputs",
		`{"cached_input":1}`:            "/prices",
		`{}`:                            "/prices",
		`[]`:                            "/prices",
		`3`:                             "/prices",
	} {
		it := priced(text)
		if len(it.mistakes) == 0 || it.mistakes[0].Pointer != want {
			t.Errorf("%s: %v, want a mistake at %s", text, it.mistakes, want)
		}
		for _, m := range it.mistakes {
			if strings.Contains(m.Message, "Go ") || strings.Contains(m.Message, "llm.") {
				t.Errorf("%s: %v", text, m)
			}
		}
	}
}
