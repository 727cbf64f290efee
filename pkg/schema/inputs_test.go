package schema

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func TestInputsMistakes(t *testing.T) {
	const (
		list = `"defaults": {"in": [], "kind": "", "cut": false}, "mapping": {"input": "$.in", "input_type": "$.kind", "truncate": "$.cut"}`
		bare = `"defaults": {"in": []}, "mapping": {"input": "$.in"}`
		one  = `"defaults": {"in": ""}, "mapping": {"input": "$.in"}`
		tail = `}, "response": {"mapping": {"embeddings": "$"}}}`
	)
	parse(t, `{"request": {`+list+`, "inputs": {"max": 2, "tasks": {"query": "q"}, "truncate": true, "cuts": false}`+tail)
	for _, test := range []struct{ request, inputs, want string }{
		{list, `7`, "/request/inputs: it is a number, not an object"},
		{list, `{"most": 7}`, "/request/inputs/most: unknown name"},
		{list, `{"max": 0}`, "/request/inputs/max: it must be an integer from 1 to 65536"},
		{list, `{"max": 65537}`, "/request/inputs/max: it must be an integer"},
		{list, `{"max": 1.5}`, "/request/inputs/max: it must be an integer"},
		{list, `{"max": "2"}`, "/request/inputs/max: it must be an integer"},
		{one, `{"max": 2}`, "/request/inputs/max: the default of input is not a list"},
		{list, `{"tasks": []}`, "/request/inputs/tasks: it is a list, not an object"},
		{list, `{"tasks": {"search": "q"}}`, "/request/inputs/tasks/search: unknown name; known are query, document, symmetric, classification, clustering"},
		{bare, `{"tasks": {"query": "q"}}`, "/request/inputs/tasks: the mapping lacks input_type"},
		{bare, `{"truncate": true}`, "/request/inputs/truncate: the mapping lacks truncate"},
		{list, `{"cuts": 1}`, "/request/inputs/cuts: it is a number, not true or false"},
	} {
		_, err := Parse([]byte(`{"request": {` + test.request + `, "inputs": ` + test.inputs + tail))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.inputs, err, test.want)
		}
	}
}

// A record of texts, of vectors or of scores is one by its keys in both directions.
func TestTask(t *testing.T) {
	for _, test := range []struct {
		sent, received string
		want           llm.Task
	}{
		{"prompt", "generated_text", llm.TaskGenerate},
		{"input", "embeddings", llm.TaskEmbed},
		{"input", "embedding", llm.TaskEmbed},
		{"input", "generated_text", llm.TaskGenerate},
		{"prompt", "embedding", llm.TaskGenerate},
		{"query", "results", llm.TaskGenerate},
	} {
		s := parse(t, `{"request": {"defaults": {"a": ""}, "mapping": {"`+test.sent+`": "$.a"}}, "response": {"mapping": {"`+test.received+`": "$.b"}}}`)
		if got := s.Task(); got != test.want {
			t.Errorf("%s to %s: %q", test.sent, test.received, got)
		}
	}
	ranks := parse(t, `{"request": {"defaults": {"q": "", "d": []}, "mapping": {"query": "$.q", "documents": "$.d"}}, "response": {"mapping": {"results": "$"}}}`)
	if got := ranks.Task(); got != llm.TaskRerank || (*Schema)(nil).Task() != llm.TaskGenerate {
		t.Errorf("%q", got)
	}
}
