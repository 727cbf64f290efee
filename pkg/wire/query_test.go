package wire

import (
	"reflect"
	"testing"
)

type asked struct {
	Query string   `json:"query"`
	Steps *int     `json:"steps"`
	Temp  *float64 `json:"temp"`
	List  []string `json:"list"`
}

func TestDecodeQuery(t *testing.T) {
	table := For[asked](
		Parameter{Name: "query", Required: true, Missing: "empty prompt"},
		Parameter{Name: "steps", Bounds: Between(0, 500)},
		Parameter{Name: "temp", Bounds: AtLeast(0)},
		Parameter{Name: "list"},
	)
	for query, want := range map[string]string{
		"query=a":                   "",
		"query=a&steps=245.0":       "",
		"":                          "invalid : empty prompt",
		"query=":                    "invalid : empty prompt",
		"query=a&steps=501":         "invalid steps: must be between 0 and 500",
		"query=a&steps=x":           "invalid steps: must be an integer",
		"query=a&steps=1e30":        "invalid steps: must be an integer",
		"query=a&temp=NaN":          "invalid temp: must be a number",
		"query=a&temp=1&temp=2":     "invalid temp: appears twice",
		"query=a&Steps=1":           "unknown_parameter Steps: unknown parameter",
		"query=%ff":                 "invalid query: not valid UTF-8",
		"%ff=a":                     "invalid : the query string is not valid UTF-8",
		"query=%zz":                 "invalid : the query string is malformed",
		"query=a&list=b":            "invalid list: cannot be sent in the query string",
		"query=a&steps=2&temp=0.5&": "",
	} {
		if got := describe(table.DecodeQuery(query, new(asked))); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	in := asked{Steps: new(7)} // from the body, which is decoded first
	if err := table.DecodeQuery("query=a&temp=0.5", &in); err != nil || !reflect.DeepEqual(in, asked{Query: "a", Steps: new(7), Temp: new(0.5)}) {
		t.Errorf("%+v, %v", in, err)
	}
}
