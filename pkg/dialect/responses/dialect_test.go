package responses

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openapi"
	"glossa/pkg/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// chunks is a backend that plays chunks back, and then an error if there is one.
type chunks struct {
	list []llm.Chunk
	err  error
	seen **llm.Request
}

func (c chunks) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if c.seen != nil {
			*c.seen = req
		}
		for _, chunk := range c.list {
			if !yield(chunk, nil) {
				return
			}
		}
		if c.err != nil {
			yield(llm.Chunk{}, c.err)
		}
	}
}

// ends returns the last chunk of a row.
func ends(why llm.Finish) llm.Chunk {
	return llm.Chunk{Finish: why, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 2, Output: 5, Reasoning: 1}}
}

// everything reasons, says a text whose character spans two tokens, and calls three tools,
// of which the last one has no id.
var everything = []llm.Chunk{
	{Reasoning: "Two "}, {Reasoning: "places."},
	{Tokens: []llm.Token{{Text: "\xe2\x82", Logprob: -0.5, Top: []llm.Token{{Text: "\xe2\x82", Logprob: -0.5}, {Piece: "<|end|>", Logprob: math.Inf(-1)}}}}},
	{Text: "€<", Tokens: []llm.Token{{Text: "\xac<", Logprob: -0.25, Top: []llm.Token{}}}},
	{Text: "b>"},
	{Calls: []llm.Call{{ID: "call_a", Name: "weather"}}}, {Calls: []llm.Call{{Arguments: `{"city":`}}},
	{Calls: []llm.Call{{Arguments: `"<Pau>"}`}, {Index: 1, ID: "call_b", Name: "patch", Arguments: `{"input":"*** Beg`}}},
	{Calls: []llm.Call{{Index: 1, Arguments: `in\n\"<\""}`}}},
	{Calls: []llm.Call{{Index: 2, Name: "time", Arguments: "{}"}}},
}

func play(why llm.Finish, list ...llm.Chunk) chunks {
	return chunks{list: append(append([]llm.Chunk{}, list...), ends(why))}
}

func testModels() llm.Fixed {
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", InProcess: true}, Backend: b}
	}
	remote := model("remote", play(llm.FinishEOS, llm.Chunk{Text: "hi"}))
	remote.InProcess = false
	drops := model("drops", play(llm.FinishEOS, llm.Chunk{Text: "hi"}))
	drops.Drops = true
	partial := chunks{list: []llm.Chunk{{Text: "hi"}, {Finish: llm.FinishEOS, Usage: &llm.Usage{Partial: true}}}}
	return llm.Fixed{
		model("everything", play(llm.FinishEOS, everything...)), remote, drops,
		model("length", play(llm.FinishLength, llm.Chunk{Text: "Once"})),
		model("call-length", play(llm.FinishLength, llm.Chunk{Calls: []llm.Call{{ID: "call_a", Name: "weather", Arguments: `{"city":""}`}}})),
		model("filtered", play(llm.FinishFiltered)), model("partial", partial),
		model("thinks", play(llm.FinishLength, llm.Chunk{Reasoning: "Hm"})),
		model("after", play(llm.FinishEOS, llm.Chunk{Tokens: []llm.Token{{Text: "{}", Logprob: -1}}, Calls: []llm.Call{{ID: "call_a", Name: "time", Arguments: "{}"}}}, llm.Chunk{Text: "Done."})),
		model("breaks", chunks{list: []llm.Chunk{{Text: "Once"}}, err: llm.Errorf(llm.Upstream, "the model <x> failed")}),
		model("bug", chunks{list: []llm.Chunk{{Text: "Once"}}, err: fmt.Errorf("a secret of ours")}),
		model("reopens", chunks{list: []llm.Chunk{{Calls: []llm.Call{{Name: "time"}}}, {Calls: []llm.Call{{Index: 1, Arguments: "{}"}}}}}),
		model("too-long", chunks{err: llm.TooManyTokens("the prompt has", 300, 256)}),
		model("untold", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "messages[1]", Message: "no"}}),
		model("late", chunks{list: []llm.Chunk{{Text: "Once"}}, err: &llm.Error{Code: llm.Unsupported, Param: "tools[0].parameters", Message: "too deep"}}),
		model("picky", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "tools[0].parameters", Message: "too deep"}}),
	}
}

func testHandler() http.Handler {
	now := func() time.Time { return time.Unix(1739900000, 0) }
	return (&httpx.Mux{Routes: Routes(Config{Models: testModels(), Now: now}), Fallback: Errors}).Handler()
}

func ask(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/responses", strings.NewReader(body)))
	return w
}

var ids = regexp.MustCompile(`(resp|msg|rs|fc|ctc|call)_[0-9a-f]{24,30}`)

// TestGolden sends the files of testdata.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	h := testHandler()
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := ask(h, string(body))
		got := fmt.Sprintf("%d %s\nX-Glossa-Guarantee: %s\n\n", w.Code, w.Header().Get("Content-Type"), w.Header().Get("X-Glossa-Guarantee"))
		names := map[string]string{}
		got += ids.ReplaceAllStringFunc(w.Body.String(), func(id string) string {
			if names[id] == "" {
				names[id] = fmt.Sprintf("%s_%024d", strings.Split(id, "_")[0], len(names)+1)
			}
			return names[id]
		})
		golden := strings.TrimSuffix(file, ".json") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", file, err, got, want)
		}
	}
}

const (
	allTools = `"tools":[{"type":"function","name":"weather"},{"type":"custom","name":"patch","format":{"type":"text"}},{"type":"function","name":"time","parameters":null,"strict":true}]`
	hi       = `"input":"hi"`
)

// stream returns the events of a stream, after checking their frames and numbers.
func stream(t *testing.T, body string) (events []event) {
	t.Helper()
	for i, frame := range strings.Split(strings.TrimSuffix(ask(testHandler(), body).Body.String(), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(frame, "\ndata: ")
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type || e.SequenceNumber != i {
			t.Fatalf("frame %d: %v: %s", i, err, frame)
		}
		events = append(events, e)
	}
	return events
}

// TestRoundTrip: each output is accepted unchanged as input, and models read the same.
func TestRoundTrip(t *testing.T) {
	for _, model := range testModels() {
		for _, options := range []string{``, `,"reasoning":{"summary":"auto"}`, `,"top_logprobs":2`} {
			w := ask(testHandler(), `{"model":"`+model.Name+`",`+hi+`,`+allTools+options+`}`)
			if w.Code != 200 {
				continue
			}
			var sent struct{ Output []json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
				t.Fatal(err)
			}
			items, err := json.Marshal(sent.Output)
			if err != nil {
				t.Fatal(err)
			}
			var in createRequest
			if err := createTable.Decode([]byte(`{"input":`+string(items)+`}`), &in); err != nil {
				t.Fatalf("%s: %v", model.Name, err)
			}
			g, err := in.request()
			if err != nil {
				t.Fatalf("%s: %v: %s", model.Name, err, items)
			}
			rows, _, err := llm.Collect(model.Generate(t.Context(), g.Request), 1)
			if err != nil {
				t.Fatal(err)
			}
			got := llm.Chunk{}
			for _, m := range g.Prompts[0].Messages {
				if m.Role != "assistant" {
					t.Errorf("%s: role %s", model.Name, m.Role)
				}
				got.Reasoning += m.Reasoning
				for _, p := range m.Parts {
					got.Text += p.Text
				}
				got.Calls = append(got.Calls, m.Calls...)
			}
			want := rows[0]
			if len(want.Calls) > 2 {
				want.Calls[2].ID = got.Calls[2].ID // it got one here
			}
			if got.Reasoning != want.Reasoning || got.Text != want.Text || !reflect.DeepEqual(got.Calls, want.Calls) {
				t.Errorf("%s: got %+v, want %+v", model.Name, got, want)
			}
		}
	}
}

// TestMerged: a chat template sees one message for what the assistant did in one turn.
func TestMerged(t *testing.T) {
	w := ask(testHandler(), `{"model":"everything",`+hi+`,`+allTools+`}`)
	var sent struct{ Output json.RawMessage }
	if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
		t.Fatal(err)
	}
	var in createRequest
	if err := createTable.Decode([]byte(`{"input":`+string(sent.Output)+`}`), &in); err != nil {
		t.Fatal(err)
	}
	if list, err := in.messages(); err != nil || len(list) != 1 || len(list[0].Calls) != 3 {
		t.Errorf("got %+v %v", list, err)
	}
}

// accumulate joins the events of a stream as SDKs do, and refuses what they refuse.
func accumulate(t *testing.T, events []event) *response {
	t.Helper()
	if events[0].Type != "response.created" || events[1].Type != "response.in_progress" {
		t.Fatalf("begins with %s, %s", events[0].Type, events[1].Type)
	}
	var items []*item
	joined, id := map[string]string{}, events[0].Response.ID // deltas, by item
	for _, e := range events[2:] {
		kind := strings.TrimPrefix(e.Type, "response.")
		switch whole := ""; {
		case e.Response != nil:
			if e.Response.ID != id || len(items) != len(e.Response.Output) {
				t.Fatalf("%s: id %s, %d items", e.Type, e.Response.ID, len(items))
			}
			for i, it := range e.Response.Output {
				if it.ID != items[i].ID {
					t.Errorf("item %d is called %s and %s", i, it.ID, items[i].ID)
				}
			}
			return e.Response
		case kind == "output_item.added":
			if *e.OutputIndex != len(items) || e.Item.Status != inProgress {
				t.Errorf("%+v", e)
			}
			items = append(items, e.Item)
		case *e.OutputIndex != len(items)-1:
			t.Errorf("%s of item %d, the last is %d", e.Type, *e.OutputIndex, len(items)-1)
		case kind == "output_item.done":
			if e.Item.ID != items[*e.OutputIndex].ID || e.Item.Status == inProgress {
				t.Errorf("%+v", e)
			}
		case e.ItemID != items[*e.OutputIndex].ID:
			t.Errorf("%s of %s", e.Type, e.ItemID)
		case e.Delta != nil:
			joined[e.ItemID] += *e.Delta
		case strings.HasSuffix(kind, ".done"):
			for _, s := range []*string{e.Text, e.Arguments, e.Input} {
				if s != nil {
					whole = *s
				}
			}
			if e.Part != nil {
				whole = e.Part.Text
			}
			if whole != joined[e.ItemID] {
				t.Errorf("%s: %q, joined %q", e.Type, whole, joined[e.ItemID])
			}
		}
	}
	t.Fatal("no last event")
	return nil
}

// TestStreams: a stream's deltas joined are the texts of its events, and its last event has
// the answer that is sent whole.
func TestStreams(t *testing.T) {
	for _, model := range []string{"everything", "remote", "length", "call-length", "filtered", "partial", "thinks", "after"} {
		for _, options := range []string{``, `,"reasoning":{"summary":"auto"}`, `,"top_logprobs":2`} {
			body := `"model":"` + model + `",` + hi + `,` + allTools + options + `}`
			got := accumulate(t, stream(t, `{"stream":true,`+body))
			var want response
			if err := json.Unmarshal(ask(testHandler(), `{`+body).Body.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			write := func(r *response) string {
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				return ids.ReplaceAllString(string(b), "$1")
			}
			if write(got) != write(&want) {
				t.Errorf("%s: streamed %s, whole %s", model, write(got), write(&want))
			}
		}
	}
}

// UnmarshalJSON is only needed by tests.
func (o *object) UnmarshalJSON(b []byte) error { *o = object(b); return nil }

// UnmarshalJSON is only needed by tests.
func (c *choice) UnmarshalJSON(b []byte) error { *c = choice(b); return nil }

// TestCodex parses a stream as Codex does: it needs the items, and response.completed with
// an id and usage with details.
func TestCodex(t *testing.T) {
	const body = `{"model":"everything","instructions":"x","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],` + allTools +
		`,"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k"}`
	items, text, summary, end := []string{}, "", "", ""
	for line := range strings.SplitSeq(ask(testHandler(), body).Body.String(), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type, Delta string
			Summary     *int64 `json:"summary_index"`
			Item        struct {
				Type, Name, Arguments, Input string
				CallID                       string `json:"call_id"`
			}
			Response struct {
				ID    string
				Usage *struct {
					Input int64 `json:"input_tokens"`
					In    struct {
						Cached *int64 `json:"cached_tokens"`
					} `json:"input_tokens_details"`
					Output int64 `json:"output_tokens"`
					Out    struct {
						Reasoning *int64 `json:"reasoning_tokens"`
					} `json:"output_tokens_details"`
					Total int64 `json:"total_tokens"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "response.output_item.done":
			items = append(items, e.Item.Type+" "+e.Item.Name+e.Item.Arguments+e.Item.Input)
		case "response.output_text.delta":
			text += e.Delta
		case "response.reasoning_summary_text.delta":
			summary += e.Delta
			if e.Summary == nil {
				t.Error("no summary_index")
			}
		case "response.completed":
			u := e.Response.Usage
			if u == nil || u.In.Cached == nil || u.Out.Reasoning == nil || u.Total != u.Input+u.Output {
				t.Errorf("usage %+v", u)
			}
			end = e.Response.ID
		}
	}
	want := []string{"reasoning ", "message ", `function_call weather{"city":"<Pau>"}`, "custom_tool_call patch*** Begin\n\"<\"", "function_call time{}"}
	if !reflect.DeepEqual(items, want) || text != "€<b>" || summary != "Two places." || !strings.HasPrefix(end, "resp_") {
		t.Errorf("%q, %q, %q, %q", items, text, summary, end)
	}
}

// TestFailures: an error after the first event is the event response.failed, and nothing follows.
func TestFailures(t *testing.T) {
	for model, want := range map[string]string{
		"breaks":  `"error":{"code":"upstream_error","message":"the model <x> failed"}`,
		"bug":     `"error":{"code":"server_error","message":"internal error"}`,
		"reopens": `"error":{"code":"upstream_error","message":"the model continued a call that had ended"}`,
	} {
		body := ask(testHandler(), `{"model":"`+model+`","stream":true,`+hi+`}`).Body.String()
		frames := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		last := frames[len(frames)-1]
		if !strings.HasPrefix(last, "event: response.failed\n") || !strings.Contains(last, want) || !strings.Contains(last, `"status":"failed"`) {
			t.Errorf("%s: %s", model, last)
		}
	}
	if got := string(Errors.InBand(&llm.Error{Code: llm.Internal, Message: "m"})); got != "event: error\ndata: {\"type\":\"error\",\"code\":null,\"message\":\"m\",\"param\":null}\n\n" {
		t.Errorf("got %q", got)
	}
	if w := ask(testHandler(), `{"model":"too-long","stream":true,`+hi+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), "context_length_exceeded") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := ask(testHandler(), `{"model":"untold",`+hi+`}`); !strings.Contains(w.Body.String(), `"param":"input"`) {
		t.Errorf("got %s", w.Body)
	}
	image := `{"model":"remote","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/gif;base64,R0lGODlhAQABAAAAACw="}]}]}`
	if w := ask(testHandler(), image); !strings.Contains(w.Body.String(), `the model \"remote\" reads text only`) || !strings.Contains(w.Body.String(), `"param":"input"`) {
		t.Errorf("got %s", w.Body)
	}
	picky := `{"model":"picky",` + hi + `,` + allTools + `,"tool_choice":{"type":"function","name":"time"}}`
	if w := ask(testHandler(), picky); !strings.Contains(w.Body.String(), `"param":"tools[2].parameters"`) {
		t.Errorf("got %s", w.Body)
	}
	late := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(strings.Replace(picky, "picky", `late","stream":true,"user":"`, 1)))
	err := Routes(Config{Models: testModels()})[0].Handle(httptest.NewRecorder(), late) // for the log
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param != "tools[2].parameters" {
		t.Errorf("got %+v", err)
	}
}

// TestExample: the table of each route accepts the route's example, and the document
// describes each route.
func TestExample(t *testing.T) {
	doc, err := openapi.Document(openapi.Info{}, Routes(Config{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range Routes(Config{}) {
		if described := strings.Contains(string(doc), `"`+route.Pattern+`"`); described != (route.Doc != nil) {
			t.Errorf("%s: described: %v", route.Pattern, described)
		}
		if route.Doc == nil || route.Doc.Body == nil {
			continue
		}
		var in createRequest
		if err := createTable.Decode([]byte(route.Doc.Example), &in); err != nil {
			t.Fatal(err)
		}
		if _, err := in.request(); err != nil {
			t.Errorf("%s: %v", route.Pattern, err)
		}
	}
}

// FuzzRequest: any body is translated or gets an error for the client.
func FuzzRequest(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(`{` + hi + `,` + allTools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"patch"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in createRequest
		err := createTable.Decode(b, &in)
		if err == nil {
			_, err = in.request()
		}
		if code := llm.AsError(err); err != nil && code.Code != llm.Invalid && code.Code != llm.Unsupported && code.Code != wire.UnknownParam {
			t.Errorf("%s: %v", b, err)
		}
	})
}
