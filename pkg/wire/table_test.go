package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

type drawing struct {
	Temperature *float64           `json:"temperature"`
	Bias        map[string]float64 `json:"bias"`
}

type order struct {
	ID     string            `json:"id"`
	Model  string            `json:"model"`
	Prompt Many[string]      `json:"prompt"`
	Stop   Many[string]      `json:"stop"`
	Limit  *int              `json:"limit"`
	Length *int              `json:"length"`
	Turns  []turn            `json:"turns"`
	Format *format           `json:"format"`
	Layers []int             `json:"layers"`
	Audio  json.RawMessage   `json:"audio"`
	Extra  json.RawMessage   `json:"extra"`
	Form   json.RawMessage   `json:"form"`
	User   string            `json:"user"`
	Shape  *string           `json:"shape"`
	Code   string            `json:"code"`
	Labels map[string]string `json:"labels"`
	drawing
}

type turn struct {
	Role string          `json:"role"`
	Name json.RawMessage `json:"name"`
}

type format struct {
	Kind string `json:"kind"`
}

func orders() *Table {
	return For[order](
		Parameter{Name: "model", Required: true, Note: "the model"},
		Parameter{Name: "id", Required: true, Missing: "an order needs an id", Default: "none"},
		Parameter{Name: "prompt", Count: Between(1, 2), Noun: "string", Canonical: "prompt"},
		Parameter{Name: "stop", Count: AtMost(2), NotEmpty: true},
		Parameter{Name: "limit", Bounds: AtLeast(0), Canonical: "max_new_tokens", Default: 16},
		Parameter{Name: "length", Bounds: AtLeast(1), Canonical: "max_new_tokens", Absent: "to the end"},
		Parameter{Name: "temperature", Bounds: AboveUpTo(0, 2), Default: 0.7, Note: "how random the draw is"},
		Parameter{Name: "bias", Bounds: Between(-100, 100), TokenIDs: true},
		Parameter{Name: "turns", Count: AtLeast(1), Noun: "turn"},
		Parameter{Name: "turns.role", Required: true, OneOf: []string{"user", "system", "tool"}},
		Parameter{Name: "turns.name", Disposition: Refused, Note: "no template writes names", Neutral: []string{`""`}},
		Parameter{Name: "format"},
		Parameter{Name: "format.kind", OneOf: []string{"text"}, Default: "text", Canonical: "schema"},
		Parameter{Name: "layers", Bounds: Between(-1, 9)},
		Parameter{Name: "audio", Disposition: Refused, Note: "answers are text"},
		Parameter{Name: "extra", Disposition: Refused, Note: "there are none", Neutral: []string{`{}`}},
		Parameter{Name: "form", Schema: AnyObject()},
		Parameter{Name: "shape", Canonical: "schema"},
		Parameter{Name: "user", Disposition: NoEffect, Note: "labels the caller"},
		Parameter{Name: "code", MaxText: 3},
		Parameter{Name: "labels", Count: AtMost(2), Noun: "pair", MaxKey: 4, MaxText: 3},
	)
}

func TestTable(t *testing.T) {
	table := orders()
	for body, want := range map[string]string{
		`{"model":"m","id":"i"}`:               "",
		`{}`:                                   "invalid model: is required",
		`{"model":"m"}`:                        "invalid : an order needs an id",
		`{"model":""}`:                         "invalid model: is required",
		`{"model":"m","id":"i","prompt":null}`: "",
		`{"model":"m","id":"i","prompt":[]}`:   "invalid prompt: at least one string is required",
		`{"model":"m","id":"i","prompt":["a","b","c"]}`:              "invalid prompt: at most 2 strings",
		`{"model":"m","id":"i","prompt":["a",null]}`:                 "invalid prompt[1]: must be a string, not null",
		`{"model":"m","id":"i","stop":""}`:                           "invalid stop: must not be empty",
		`{"model":"m","id":"i","stop":["a",""]}`:                     "invalid stop[1]: must not be empty",
		`{"model":"m","id":"i","limit":-1}`:                          "invalid limit: must not be negative",
		`{"model":"m","id":"i","limit":0}`:                           "",
		`{"model":"m","id":"i","length":0}`:                          "invalid length: must be at least 1",
		`{"model":"m","id":"i","temperature":0}`:                     "invalid temperature: must be greater than 0 and at most 2",
		`{"model":"m","id":"i","temperature":2}`:                     "",
		`{"model":"m","id":"i","temperature":2.1}`:                   "invalid temperature: must be greater than 0 and at most 2",
		`{"model":"m","id":"i","bias":{"7":100,"05":1}}`:             `invalid bias: "05" is not a token id`,
		`{"model":"m","id":"i","bias":{"7":-100.5}}`:                 "invalid bias: the bias of token 7 must be between -100 and 100",
		`{"model":"m","id":"i","turns":[]}`:                          "invalid turns: at least one turn is required",
		`{"model":"m","id":"i","turns":[{"role":"user"},{}]}`:        "invalid turns[1].role: is required",
		`{"model":"m","id":"i","turns":[{"role":"bot"}]}`:            `invalid turns[0].role: must be user, system or tool, not "bot"`,
		`{"model":"m","id":"i","turns":[{"role":"tool","name":1}]}`:  `unsupported turns[0].name: no template writes names; only "" is accepted`,
		`{"model":"m","id":"i","turns":[{"role":"user","name":""}]}`: "",
		`{"model":"m","id":"i","format":{"kind":"xml"}}`:             `invalid format.kind: must be text, not "xml"`,
		`{"model":"m","id":"i","layers":[0,-2]}`:                     "invalid layers[1]: must be between -1 and 9",
		`{"model":"m","id":"i","audio":{}}`:                          "unsupported audio: answers are text",
		`{"model":"m","id":"i","audio":null,"user":"u"}`:             "",
		`{"model":"m","id":"i","turns":[{"nmae":1}]}`:                "unknown_parameter turns[0].nmae: unknown parameter",
		`{"model":"m","id":"i","extra":{ },"form":{"a":1}}`:          "",
		`{"model":"m","id":"i","extra":{"a":1}}`:                     "unsupported extra: there are none; only {} is accepted",
		`{"model":"m","id":"i","code":"äöü"}`:                        "",
		`{"model":"m","id":"i","code":"abcd"}`:                       "invalid code: must have at most 3 characters",
		`{"model":"m","id":"i","labels":{"äöüß":"äöü","":""}}`:       "",
		`{"model":"m","id":"i","labels":{"a":"","b":"","c":""}}`:     "invalid labels: at most 2 pairs",
		`{"model":"m","id":"i","labels":{"colour":""}}`:              `invalid labels: the key "colour" must have at most 4 characters`,
		`{"model":"m","id":"i","labels":{"a":"abcd"}}`:               "invalid labels.a: must have at most 3 characters",
	} {
		if got := describe(table.Decode([]byte(body), new(order))); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
	if got := describe(orders().DecodeAt("orders[3]", []byte(`{"model":"m","id":"i","limit":-1}`), new(order))); got != "invalid orders[3].limit: must not be negative" {
		t.Error(got)
	}
}

// TestTableIsWhole: For compares rows and keys.
func TestTableIsWhole(t *testing.T) {
	rows := orders().Parameters("")
	for name, list := range map[string][]Parameter{
		"no row":           rows[1:],
		"no row inside":    append(append([]Parameter{}, rows[:8]...), rows[9:]...),
		"no key":           append(rows, Parameter{Name: "colour"}),
		"two rows":         append(rows, rows[0]),
		"refused and read": append(append([]Parameter{}, rows[1:]...), Parameter{Name: "model", Disposition: Refused}),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: For does not panic", name)
				}
			}()
			For[order](list...)
		}()
	}
}

// TestRename: errors of models name the client's key.
func TestRename(t *testing.T) {
	table, sent := orders(), &order{Length: new(5)}
	for _, test := range []struct {
		in   llm.Error
		v    *order
		want string
	}{
		{llm.Error{Param: "max_new_tokens"}, sent, "length"},
		{llm.Error{Param: "max_new_tokens"}, &order{}, "limit"},
		{llm.Error{Param: "temperature"}, sent, "temperature"},
		{llm.Error{Code: llm.TooLong}, sent, "prompt"},
		{llm.Error{Code: llm.TooLong, Param: "max_new_tokens"}, sent, "length"},
		{llm.Error{Code: llm.TooLong, Param: "texts[1]"}, sent, "texts[1]"},
		{llm.Error{Code: llm.TooLong, Param: "max_new_tokens[2]"}, sent, "length[2]"},
		{llm.Error{Param: "max_new_tokens[2].name"}, sent, "max_new_tokens[2].name"},
		{llm.Error{Param: "schema"}, sent, "format.kind"},
		{llm.Error{Param: "schema"}, &order{Format: &format{}}, "format.kind"},
		{llm.Error{Param: "schema"}, &order{Shape: new("round")}, "shape"},
		{llm.Error{Param: "schema"}, &order{Format: &format{Kind: "text"}, Shape: new("round")}, "format.kind"},
		{llm.Error{}, sent, ""},
	} {
		e, ok := errors.AsType[*llm.Error](table.Rename(&test.in, test.v))
		if !ok || e.Param != test.want {
			t.Errorf("%+v: %v", test.in, e)
		}
	}
	if other := errors.New("other"); !errors.Is(table.Rename(other, sent), other) {
		t.Error("another error was changed")
	}
}

// TestTexts: the documentation has the bounds and defaults that are checked.
func TestTexts(t *testing.T) {
	for _, p := range orders().Parameters("") {
		want, ok := map[string]string{
			"prompt": "1 to 2 strings", "limit": "0 or more; default 16", "length": "1 or more; default: to the end",
			"temperature": "above 0, up to 2; default 0.7; how random the draw is", "turns.role": "user, system or tool", "stop": "up to 2 elements; not empty",
			"code": "up to 3 characters", "labels": "up to 2 pairs; keys of up to 4 characters; values of up to 3 characters",
		}[p.Name]
		if got := p.Text(); ok && got != want {
			t.Errorf("%s: got %q, want %q", p.Name, got, want)
		}
	}
}

// TestSchema: the schema has the bounds of the table.
func TestSchema(t *testing.T) {
	b, err := json.Marshal(orders().Schema())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"model":{"type":"string","description":"The model."}`,
		`"prompt":{"anyOf":[{"type":"string"},{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}},{"type":"null"}]}`,
		`"stop":{"anyOf":[{"type":"string","minLength":1},{"type":"array","maxItems":2,"items":{"type":"string","minLength":1}},{"type":"null"}]}`,
		`"limit":{"type":["integer","null"],"default":16,"minimum":0}`,
		`"temperature":{"type":["number","null"],"description":"How random the draw is.","default":0.7,"exclusiveMinimum":0,"maximum":2}`,
		`"role":{"type":"string","enum":["user","system","tool"]}`,
		`"name":{"type":["string","null"],"description":"Not supported: no template writes names.","enum":["",null],"x-disposition":"unsupported"}`,
		`"format":{"anyOf":[{"type":"object","properties":{"kind":{"type":["string","null"],"enum":["text",null],"default":"text"}},"additionalProperties":false},{"type":"null"}]}`,
		`"extra":{"description":"Not supported: there are none.","anyOf":[{"type":"object","additionalProperties":false},{"type":"null"}],"x-disposition":"unsupported"}`,
		`"form":{"anyOf":[{"type":"object","additionalProperties":{}},{"type":"null"}]}`,
		`"code":{"type":["string","null"],"maxLength":3}`,
		`"labels":{"anyOf":[{"type":"object","maxProperties":2,"propertyNames":{"maxLength":4},"additionalProperties":{"type":"string","maxLength":3}},{"type":"null"}]}`,
		`"required":["model","id"]`, `"additionalProperties":false`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "audio") {
		t.Error("a key that is always refused is documented")
	}
}

// answer is a type of answers to make a schema from.
type answer struct {
	ID     string  `json:"id" doc:"the id"`
	Reason *string `json:"reason" enum:"stop,length"`
	Parent *answer `json:"parent,omitempty"`
	*Pointed
	Bytes []byte `json:"bytes,omitempty"`
}

func TestSchemas(t *testing.T) {
	s := Schemas{Prefix: "House"}
	ref := s.Of(reflect.TypeFor[[]answer]())
	b, err := json.Marshal([]any{ref, s.Components})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"type":"array","items":{"$ref":"#/components/schemas/HouseAnswer"}},{"HouseAnswer":{"type":"object","properties":{` +
		`"id":{"type":"string","description":"the id"},"reason":{"type":["string","null"],"enum":["stop","length",null]},` +
		`"parent":{"$ref":"#/components/schemas/HouseAnswer"},"deep":{"type":"integer"},"bytes":{"type":"string","contentEncoding":"base64"}},` +
		`"required":["id","reason"],"additionalProperties":false}}]`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// FuzzTable: accepted requests are within the bounds, and every error is the client's fault.
func FuzzTable(f *testing.F) {
	table := orders()
	f.Add([]byte(`{"model":"m","id":"i","temperature":1,"bias":{"5":1},"turns":[{"role":"user"}]}`))
	f.Add([]byte(`{"model":"m","id":"i","stop":["a"],"layers":[1.0]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in order
		if err := table.Decode(b, &in); err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Invalid && e.Code != llm.Unsupported && e.Code != UnknownParam {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		if in.Model == "" || in.Temperature != nil && !(*in.Temperature > 0 && *in.Temperature <= 2) || in.Limit != nil && *in.Limit < 0 {
			t.Errorf("%q was taken", b)
		}
	})
}
