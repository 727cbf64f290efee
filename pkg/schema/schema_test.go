package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func parse(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const small = `{
	"request": {
		"defaults": {"inputs": "", "top_k": 1, "parameters": {"stop": ["x"], "seed": null}, "list": [{"a": 1}, {"a": 2}]},
		"mapping": {"prompt": "$.inputs", "seed": "$.parameters.seed", "stop": "$.parameters.stop", "all": "$.list[*].a",
			"far": "$.list[7].a", "gone": "$.parameters.gone", "whole": "$", "prompt again": "$.inputs"}
	},
	"response": {"mapping": {"generated_text": "$.[0].text", "seed": "$.[0]['seed']", "id": "$.[0].id", "first": "$..text"}},
	"response-with-stream": {"regex_sub": "^data:", "mapping": {"generated_text": "$.token.text", "seed": "$.seed"}}
}`

func TestParseForms(t *testing.T) {
	quoted, _ := json.Marshal(small)
	for _, text := range []string{small, string(quoted), " " + small + "\n"} {
		s := parse(t, text)
		out, err := json.Marshal(s)
		if err != nil || !same(t, json.RawMessage(out), json.RawMessage(small)) {
			t.Errorf("%v %s", err, out)
		}
		if again := parse(t, string(out)); string(again.text) != string(s.text) {
			t.Errorf("%s\n%s", again.text, s.text)
		}
	}
}

func TestSeed(t *testing.T) {
	for _, name := range []string{"seed-claude.json", "seed-tgi.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		s := parse(t, string(text))
		if out, _ := json.Marshal(s); !same(t, json.RawMessage(out), json.RawMessage(text)) {
			t.Errorf("%s: %s", name, out)
		}
		if len(s.Warnings()) > 0 {
			t.Errorf("%s: %v", name, s.Warnings())
		}
	}
}

func TestMistakes(t *testing.T) {
	ok := `"request": {"defaults": {"a": 1}, "mapping": {"prompt": "$.a"}}, "response": {"mapping": {}}`
	parse(t, "{"+ok+"}")
	for text, want := range map[string]string{
		``:                      "unexpected end",
		`{`:                     "unexpected end",
		`[]`:                    "it is a list, not an object",
		`{} {}`:                 "data after",
		`"{"`:                   "in the string: ",
		`"[]"`:                  "it is a list, not an object",
		`{}`:                    "/request: it is missing\n/response: it is missing",
		"{" + ok + `, "x/y":1}`: "/x~1y: unknown name",
		"{" + ok + `, "response-with-stream": 1}`:   "/response-with-stream: it is a number",
		"{" + ok + `, "response-with-stream": {}}`:  "/response-with-stream/mapping: it is missing",
		"{" + ok + `, "chat_template": ""}`:         "/chat_template",
		"{" + ok + `, "response": {"mapping": {}}}`: "/response: this name appears twice",
		`{"request": {"defaults": [], "mapping": {"a": 1}, "omit_null": 1}, "response": {"mapping": {"b": "$.["}, "regex_sub": "(?=a)"}}`: "/request/omit_null: it is a number, not true or false\n" +
			"/request/defaults: it is a list, not an object\n" +
			"/request/mapping/a: it is a number, not a path\n" +
			`/response/regex_sub: the regular expression "(?=a)": look-ahead, (?=…), is not supported` + "\n" +
			`/response/mapping/b: the path "$.[": the bracket must contain`,
		`{"request": {"defaults": {}, "mapping": {}}, "response": {"regex_sub": 1, "mapping": {"x": "$.a|b"}}}`: "/response/regex_sub: it is a number, not a string\n" +
			`/response/mapping/x: the path "$.a|b": a union is not supported at "|b"`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "nests deeper than 128",
		strings.Repeat(" ", maxSchema+1):                    "larger than a megabyte",
		"{" + ok + `, "request": {"defaults": {"a": ` + strings.Repeat("1", 10) + `, "a": 2}, "mapping": {}}}`:            "/request/defaults/a: this name appears twice",
		`{"request": {"defaults": {"a": 1}, "mapping": {` + manyKeys(501) + `}}, "response": {"mapping": {}}}`:            "/request/mapping: it has more than 500 keys",
		`{"request": {"defaults": ` + chain(100) + `, "mapping": {"x": "$..a..a..a..a.x"}}, "response": {"mapping": {}}}`: "meets too many values",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s\n got %v\nwant %s", text, err, want)
		}
	}
}

// chain returns nested objects of depth n.
func chain(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d": "$.a"`, i)
	}
	return strings.Join(keys, ", ")
}

func TestWarnings(t *testing.T) {
	s := parse(t, `{
		"request": {
			"defaults": {"p": 0.9, "top_k": 40, "topP": 0.5, "n": 3, "seed": 1, "stopSequences": ["x"], "deep": [{"presence_penalty": 0.5}], "echo": true, "best_of": 1},
			"mapping": {"max_new_token": "$.n", "maxNewTokens": "$.n", "top_p": "$.topP", "max_tokens": "$.n", "watermarks": "$.n", "unlike": "$.n", "nowhere": "$.x.y", "typo": "$"}
		},
		"response": {"mapping": {"generated_txt": "$.a", "stop_reason": "$.b", "mine": "$.c", "text": "$.d", "tokens_of_mine": "$.e",
			"finish_rea": "$.f", "output_text": "$.g", "output_tokens": "$.h", "completion_tokens": "$.i"}}
	}`)
	var got []string
	for _, w := range s.Warnings() {
		got = append(got, w.Error())
	}
	for i, want := range []string{
		`/request/mapping/max_new_token: "max_new_token" is not a canonical key; did you mean "max_new_tokens"?`,
		`/request/mapping/maxNewTokens: "maxNewTokens" is not a canonical key; did you mean "max_new_tokens"?`,
		`/request/mapping/max_tokens: "max_tokens" is not a canonical key; did you mean "max_new_tokens"?`,
		`/request/mapping/watermarks: "watermarks" is not a canonical key; did you mean "watermark"?`,
		`/request/mapping/nowhere: the path $["x"]["y"] matches nothing in the defaults: the key is not sent`,
		`/request/mapping/typo: the path $ matches nothing in the defaults: the key is not sent`,
		`/request/defaults/p: the default is always sent, even if a request turns top_p off: no key leads here`,
		`/request/defaults/top_k: the default is always sent, even if a request turns top_k off: no key leads here`,
		`/request/defaults/stopSequences: the default is always sent, even if a request turns stop off: no key leads here`,
		`/request/defaults/deep/0/presence_penalty: the default is always sent, even if a request turns presence_penalty off: no key leads here`,
		`/response/mapping/generated_txt: "generated_txt" is not a canonical key; did you mean "generated_text"?`,
		`/response/mapping/stop_reason: "stop_reason" is not a canonical key; did you mean "finish_reason"?`,
		`/response/mapping/output_text: "output_text" is not a canonical key; did you mean "generated_text"?`,
	} {
		if i >= len(got) || got[i] != want {
			t.Fatalf("warning %d:\n got %s\nwant %s", i, strings.Join(got, "\n     "), want)
		}
	}
	if len(got) != 13 {
		t.Errorf("more: %q", got[13:])
	}
}

// The table of keys contains each parameter once, and no key is similar to another.
func TestKeys(t *testing.T) {
	var names []string
	for _, k := range Keys() {
		if slices.Contains(names, k.Name) {
			t.Error(k.Name, " stands twice")
		}
		names = append(names, k.Name)
		if near := nearKey(k.Name); near != "" {
			t.Errorf("%s is taken for %s", k.Name, near)
		}
		for _, s := range k.Synonyms {
			if near := nearKey(s); near != k.Name {
				t.Errorf("%s, a synonym of %s, is taken for %q", s, k.Name, near)
			}
		}
	}
	for f := range reflect.TypeFor[llm.Params]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("llm"), ",")
		if !slices.Contains(names, name) {
			t.Errorf("%s, %s, is no canonical key", f.Name, name)
		}
	}
}

func TestFinish(t *testing.T) {
	for word, want := range map[string]llm.Finish{
		"end_turn": llm.FinishEOS, "COMPLETE": llm.FinishEOS, "FINISH": llm.FinishEOS, "eos_token": llm.FinishEOS, "stop": llm.FinishEOS, "new word": llm.FinishEOS,
		"stop_sequence": llm.FinishStop, "STOP_CRITERIA_MET": llm.FinishStop, "length": llm.FinishLength, "MAX_TOKENS": llm.FinishLength,
		"model_context_window_exceeded": llm.FinishContext, "content_filtered": llm.FinishFiltered, "ERROR_TOXIC": llm.FinishFiltered,
	} {
		if got := Finish(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}
