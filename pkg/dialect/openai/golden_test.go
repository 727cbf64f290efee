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

var answerID = regexp.MustCompile(`chatcmpl-[0-9a-f]{24}`)

// wire writes an answer as it goes over the wire, with one id for all answers.
func wire(h http.Handler, method, target, body string) string {
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
	return out + "\n" + answerID.ReplaceAllString(w.Body.String(), "chatcmpl-a1b2c3d4e5f6a1b2c3d4e5f6")
}

// TestGolden sends testdata/*.json to both names of the route.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	h := testHandler()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := wire(h, "POST", "/v1/chat/completions", string(body))
			if alias := wire(h, "POST", "/chat/completions", string(body)); alias != got {
				t.Errorf("/chat/completions answers otherwise: %s", alias)
			}
			golden := filepath.Join("testdata", name+".golden")
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
		})
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
	empty := Routes(Config{Models: catalog{}})[0]
	if w := ask(muxOf(empty), "GET", "/v1/models", ""); w.Body.String() != `{"object":"list","data":[]}`+"\n" {
		t.Errorf("got %s", w.Body)
	}
}
