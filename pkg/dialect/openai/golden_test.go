package openai

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var callID = regexp.MustCompile(`call_[0-9a-f]{24}`)

var answerID = regexp.MustCompile(`(chatcmpl|cmpl)-[0-9a-f]{24}`)

// sent writes an answer as it goes over the wire, with one id for all answers.
func sent(h http.Handler, method, target, body string) string {
	w := ask(h, method, target, body)
	ids := answerID.FindAllString(w.Body.String(), -1)
	for _, id := range ids {
		if id != ids[0] {
			return "the ids of one answer differ: " + id
		}
	}
	out := fmt.Sprintf("%d %s\n", w.Code, w.Header().Get("Content-Type"))
	if wait := w.Header().Get("Retry-After"); wait != "" {
		out += "Retry-After: " + wait + "\n"
	}
	if held := w.Header().Get("X-Glossa-Guarantee"); held != "" {
		out += "X-Glossa-Guarantee: " + held + "\n"
	}
	out += "\n" + answerID.ReplaceAllString(w.Body.String(), "$1-a1b2c3d4e5f6a1b2c3d4e5f6")
	return callID.ReplaceAllString(out, "call_a1b2c3d4e5f6a1b2c3d4e5f6")
}

// TestGolden sends the files of each directory to its routes, all with one answer.
func TestGolden(t *testing.T) {
	for _, dir := range []struct {
		name   string
		least  int // files
		routes []string
	}{
		{"testdata", 10, []string{"/v1/chat/completions", "/chat/completions"}},
		{"testdata/completions", 10, []string{"/v1/completions"}},
		{"testdata/embeddings", 4, []string{"/v1/embeddings"}},
	} {
		files, err := filepath.Glob(dir.name + "/*.json")
		if err != nil || len(files) < dir.least {
			t.Fatalf("%d files in %s, %v", len(files), dir.name, err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(file, ".json"), func(t *testing.T) { checkGolden(t, file, dir.routes) })
		}
	}
}

func checkGolden(t *testing.T, file string, routes []string) {
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := testHandler()
	got := sent(h, "POST", routes[0], string(body))
	for _, route := range routes[1:] {
		if alias := sent(h, "POST", route, string(body)); alias != got {
			t.Errorf("%s answers otherwise: %s", route, alias)
		}
	}
	golden := strings.TrimSuffix(file, ".json") + ".golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestModels(t *testing.T) {
	h := testHandler()
	const novels = `{"id":"novels-5hr","object":"model","created":1739900000,"owned_by":"alpha"}`
	const claude = `{"id":"org/claude:1","object":"model","created":0,"owned_by":"bedrock"}`
	missing := func(name string) string {
		return `{"error":{"message":"The model '` + name + `' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"}}`
	}
	for _, test := range []struct {
		target string
		status int
		want   string
	}{
		{"/v1/models/novels-5hr", 200, novels},
		{"/v1/models/local/novels-5hr", 200, novels},
		{"/v1/models/alias-of-novels-5hr", 200, novels},
		{"/v1/models/org/claude:1", 200, claude},
		{"/v1/models/org%2Fclaude%3A1", 200, claude},
		{"/v1/models/bedrock%2Forg%2Fclaude:1", 200, claude},
		{"/v1/models/gpt-4", 404, missing("gpt-4")},
		{"/v1/models/", 404, missing("")},
		{"/v1/models/a%22%3Cb", 404, missing(`a\"<b`)},
	} {
		w := ask(h, "GET", test.target, "")
		if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != test.want {
			t.Errorf("%s: got %d %s", test.target, w.Code, got)
		}
	}
	list := ask(h, "GET", "/v1/models", "").Body.String()
	if !strings.HasPrefix(list, `{"object":"list","data":[`+novels+","+claude+",") {
		t.Errorf("got %s", list)
	}
	empty := Routes(Config{Models: catalog{}})
	if w := ask(muxOf(empty...), "GET", "/v1/models", ""); w.Body.String() != `{"object":"list","data":[]}`+"\n" {
		t.Errorf("got %s", w.Body)
	}
}
