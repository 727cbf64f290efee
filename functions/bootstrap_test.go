// Package functions_test runs the deployed programs, the bootstrap binary of each family
// of routes, under a local Lambda Runtime API.
package functions_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/app"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/host/runtimeapi"
	"glossa/pkg/version"
)

var update = flag.Bool("update", false, "rewrite events/*/*.golden")

const events = "../events"

// stamp is the version of the programs that the tests build, as `make build` links it.
const stamp = "v1.2.3 0123456789abcdef0123456789abcdef01234567 2026-11-22T10:00:00Z"

// built is a directory of the programs that tests have built.
var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "functions"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// build builds a family's deployed program for this machine, once for all tests.
func build(t testing.TB, family string) string {
	t.Helper()
	out := filepath.Join(built, family)
	if _, err := os.Stat(out); err != nil {
		buildInto(t, out, ".", family, runtime.GOARCH)
	}
	return out
}

// buildFor builds a family's program in a directory of functions, for an architecture.
func buildFor(t testing.TB, functions, family, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "bootstrap")
	buildInto(t, out, functions, family, arch)
	return out
}

// buildInto builds as `make build` does.
func buildInto(t testing.TB, out, functions, family, arch string) {
	t.Helper()
	link := "-s -w -X '" + reflect.TypeFor[version.Info]().PkgPath() + ".stamp=" + stamp + "'"
	flags, err := os.ReadFile("build.flags")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", slices.Concat([]string{"build"}, strings.Fields(string(flags)), []string{"-ldflags", link, "-o", out, "./" + family})...)
	cmd.Dir = functions
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
}

// metrics are the lines of a run without a loss yet; the last line is incomplete.
const metrics = `{"step":1,"lr":0.001}` + "\n" + `{"step":7,"lr":0.002}` + "\n" + `{"step":8,`

// golden returns a directory of runs with the golden checkpoint as model "golden".
func golden(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, "golden")
	var ck bytes.Buffer
	err := checkpoint.WriteALPH(&ck, checkpointtest.Golden())
	if err == nil {
		err = os.Mkdir(run, 0o755)
	}
	config := fmt.Sprintf(`{"modelConfig": %s, "trainConfig": {}, "configHash": "00000000", "runId": "r1"}`, checkpointtest.Golden().ModelConfigRaw)
	for name, content := range map[string][]byte{"config.json": []byte(config), "checkpoint-7.json": ck.Bytes(), "metrics.jsonl": []byte(metrics)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(run, name), content, 0o644)
		}
	}
	when := time.Unix(1739900000, 0)
	if err == nil {
		err = os.Chtimes(filepath.Join(run, "checkpoint-7.json"), when, when)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// addModel adds a copy of a directory, as a model of that name, to a directory of runs. It is
// older than the others.
func addModel(t *testing.T, runs, name, from string) {
	t.Helper()
	dir := filepath.Join(runs, name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1739800000, 0)
	for _, f := range files {
		if err := os.Chtimes(filepath.Join(dir, f.Name()), when, when); err != nil {
			t.Fatal(err)
		}
	}
}

// models returns the directories of the models that the events of families name, by family
// and name.
func models() map[string]map[string]string {
	translator := map[string]string{"translator": "testdata/translator"}
	return map[string]map[string]string{
		"textsynth": translator, "alephalpha": translator,
		"embeddings": {
			"encoder": "../pkg/engine/testdata/encoders/bert", "ranker": "../pkg/engine/testdata/rerankers/bert",
			"m3": "../pkg/engine/testdata/vectors/bge-m3", "late": "../pkg/engine/testdata/vectors/pylate",
		},
	}
}

// start runs the bootstrap under the local Runtime API.
func start(t *testing.T, binary, runs string, environment ...string) *runtimeapi.Function {
	t.Helper()
	f, err := runtimeapi.Start(t.Context(), runtimeapi.Options{
		Binary: binary, Timeout: time.Minute, MemoryMB: 512, Stderr: t.Output(),
		Env: append([]string{"GLOSSA_CHECKPOINTS=" + runs, "GLOSSA_OPEN=true", "GLOSSA_STREAM_URL=true", "GLOSSA_STREAM_REST=true"}, environment...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// An answer is a response without its volatile parts.
type answer struct {
	status int
	kind   string // Content-Type
	body   string
}

// volatile matches parts that differ between runs, and last digits that differ between
// instruction sets.
var volatile = regexp.MustCompile(`(chatcmpl|cmpl|rerank|score|embed)-[0-9a-f]{24}|(resp|msg|req)_[0-9a-f]{24,30}|"id":"req_[0-9a-f]{24}"|"(created|created_at|completed_at|\w+_duration)":(?:\d+|"[^"]*")|,"cost":[^,}]+|"cost":[^,}]+,|,"prompt_tokens_details":\{"cached_tokens":\d+\}|(-?\d+\.\d{5})\d+`)

func (a answer) String() string {
	body := volatile.ReplaceAllStringFunc(a.body, func(s string) string {
		switch {
		case strings.Contains(s, `"cost":`): // of the time that a call took, which only Lambda bills
			return ""
		case strings.Contains(s, `"cached_tokens":`): // by earlier events
			return ""
		case strings.HasPrefix(s, `"c`), strings.HasSuffix(strings.SplitN(s, `":`, 2)[0], "_duration"):
			return volatile.ReplaceAllString(s, `"$3":0`)
		case strings.HasPrefix(s, `"id"`):
			return `"id":"req_ID"`
		case strings.Contains(s, "_"):
			return volatile.ReplaceAllString(s, "${2}_ID")
		case strings.Contains(s, "."):
			return volatile.ReplaceAllString(s, "$4")
		}
		return volatile.ReplaceAllString(s, "$1-ID")
	})
	return fmt.Sprintf("%d %s\n\n%s\n", a.status, a.kind, body)
}

// Each event gives the same answer from the deployed binary, through every front door,
// and from the same routes under plain HTTP.
func TestEvents(t *testing.T) {
	for _, family := range app.Families() {
		runs := golden(t)
		for name, from := range models()[family] {
			addModel(t, runs, name, from)
		}
		cfg, environment := app.Config{Checkpoints: runs, KeepResponses: -1}, []string(nil) // a function without a table stores nothing
		if family == "batches" {
			cfg.Batches = t.TempDir()
			environment = []string{"GLOSSA_BATCHES=" + t.TempDir()}
		}
		if family == "invoke" {
			remote := newProviders(t)
			cfg, environment = remote.config(t, runs), remote.environment()
		}
		plain, err := app.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		f := start(t, build(t, family), runs, environment...)
		doors := []door{
			{"function URL", f.FunctionURL(true), ""},
			{"REST", f.RESTProxy(true, "prod"), "/prod"},
			{"plain HTTP", plain.Handler(family), ""},
		}
		files, err := filepath.Glob(filepath.Join(events, family, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no events for %s: %v", family, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(file, ".json")
			t.Run(family+"/"+filepath.Base(name), func(t *testing.T) { check(t, f, name, doors) })
		}
	}
}

// check compares the answers to the event in name.json with name.golden.
func check(t *testing.T, f *runtimeapi.Function, name string, doors []door) {
	event, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	got := invoke(t, f, event).String()
	if *update {
		if err := os.WriteFile(name+".golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	if !runtimeapi.Alike(got, string(want)) {
		t.Errorf("the event gives\n%s\nwant\n%s", got, want)
	}
	for _, door := range doors {
		if got := door.send(t, event).String(); !runtimeapi.Alike(got, string(want)) {
			t.Errorf("%s gives\n%s\nwant\n%s", door.name, got, want)
		}
	}
}

// invoke sends the function an event and reads its streamed answer.
func invoke(t *testing.T, f *runtimeapi.Function, event []byte) answer {
	t.Helper()
	r, err := f.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.Prelude.StatusCode, r.Prelude.Headers["Content-Type"], string(body)}
}

// A door is an HTTP entry point to the routes.
type door struct {
	name    string
	handler http.Handler
	stage   string // prefix of its paths
}

// send sends an event's request over HTTP.
func (d door) send(t *testing.T, event []byte) answer {
	t.Helper()
	var e struct {
		RawPath        string
		RawQueryString string
		Body           string
		RequestContext struct{ HTTP struct{ Method string } }
	}
	if err := json.Unmarshal(event, &e); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.handler)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), e.RequestContext.HTTP.Method, server.URL+d.stage+e.RawPath+"?"+e.RawQueryString, strings.NewReader(e.Body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), string(body)}
}

// A stream is sent in Lambda's streaming protocol, token by token. The tests of pkg/host
// show that each chunk is sent before the next is generated.
func TestStreamed(t *testing.T) {
	f := start(t, build(t, "openai"), golden(t))
	event, err := os.ReadFile(filepath.Join(events, "openai", "chat-stream.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if want := "application/vnd.awslambda.http-integration-response"; r.ContentType != want {
		t.Errorf("Content-Type %q, want %q", r.ContentType, want)
	}
	frames := 0
	for chunk, err := range r.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		frames += bytes.Count(chunk, []byte("\n\n"))
	}
	if frames != 6 { // the role, three tokens, the end with usage, [DONE]
		t.Errorf("%d frames", frames)
	}
}
