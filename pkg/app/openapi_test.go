package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"glossa/pkg/account"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// load reads the document as clients get it.
func load(t *testing.T, h http.Handler) *openapi3.T {
	t.Helper()
	res := ask(h, "GET", "/openapi.json", secrets[account.Admin], nil)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text(t, res)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Error(doc.OpenAPI)
	}
}

// TestDocumentIsTheRouteTable holds the document against the routes both ways.
func TestDocumentIsTheRouteTable(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t), Accounts: emptyAccounts(t)})
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	routed := map[string]bool{}
	for _, route := range a.Routes() {
		name := route.Method + " " + openapiPath(route.Pattern)
		routed[name] = true
		item := doc.Paths.Find(openapiPath(route.Pattern))
		if item == nil || item.GetOperation(route.Method) == nil {
			t.Errorf("%s is routed and not documented", name)
			continue
		}
		op := item.GetOperation(route.Method)
		if got := op.Extensions["x-permission"]; got != string(route.Permission) {
			t.Errorf("%s: x-permission is %v, the route's is %s", name, got, route.Permission)
		}
		security := op.Security
		if security == nil {
			security = &doc.Security
		}
		if public := len(*security) == 0; public != (route.Permission == httpx.Public) {
			t.Errorf("%s: public is %v in the document, its permission is %s", name, public, route.Permission)
		}
		if ok := op.Responses.Value("200"); neverServed[name] {
			if ok != nil {
				t.Errorf("%s: documented with 200", name)
			}
		} else if ok == nil {
			t.Errorf("%s: no 200", name)
		} else if isStream(op, ok.Value) && !route.Streams || route.Streams && !isStream(op, ok.Value) && ok.Value.Content["text/plain"] == nil {
			t.Errorf("%s: the route's streams is %v, the document's media types are not", name, route.Streams)
		}
		for _, status := range refusals(route) {
			if op.Responses.Value(fmt.Sprint(status)) == nil {
				t.Errorf("%s: no %d", name, status)
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if !routed[method+" "+path] {
				t.Errorf("%s %s is documented and not routed", method, path)
			}
		}
	}
}

// neverServed are the routes that only say why they are not served.
var neverServed = map[string]bool{
	"POST /semantic_embed": true, "POST /batch_semantic_embed": true, "POST /instructable_embed": true,
	"POST /rerank": true, "POST /steering_concepts": true,
}

// refusals lists the statuses that every such route can answer with, as its shape of
// errors gives them.
func refusals(route httpx.Route) (list []int) {
	var codes []llm.Code
	if route.Permission != httpx.Public {
		codes = append(codes, llm.Unauthenticated, llm.Forbidden)
	}
	if route.Permission == httpx.Inference {
		codes = append(codes, llm.Overloaded, llm.Internal, llm.Timeout, llm.Upstream)
	}
	if route.Method == http.MethodPost {
		codes = append(codes, llm.Invalid, httpx.TooLarge)
	}
	for _, code := range codes {
		status := httpx.Status(code)
		if route.Errors != nil {
			status, _ = route.Errors.Body(&llm.Error{Code: code})
		}
		list = append(list, status)
	}
	return list
}

// isStream tells whether the document says that an answer may be a stream: by its media
// type, or by x-stream, what is between the answers of one media type.
func isStream(op *openapi3.Operation, r *openapi3.Response) bool {
	return r.Content["text/event-stream"] != nil || op.Extensions["x-stream"] != nil
}

// TestDocumentHasTheParameters holds schemas of requests against the tables of their
// dialects.
func TestDocumentHasTheParameters(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []struct {
		schema, prefix string // of the rows that are the schema's
		table          []wire.Parameter
	}{
		{"ChatRequest", "", openai.Parameters()},
		{"CompletionRequest", "", openai.CompletionParameters()},
		{"EmbeddingRequest", "", openai.EmbeddingParameters()},
		{"VLLMTokenizeRequest", "", openai.TokenizeParameters()},
		{"CompletionsRequest", "completions ", textsynth.Parameters()},
		{"LogprobRequest", "logprob ", textsynth.Parameters()},
		{"TranslateRequest", "translate ", textsynth.Parameters()},
		{"TextSynthTokenizeRequest", "tokenize ", textsynth.Parameters()},
		{"InvokeRequest", "", invoke.Parameters()},
		{"InvokeBody", "body.", invoke.Parameters()},
	} {
		properties := doc.Components.Schemas[request.schema].Value.Properties
		taken := map[string]bool{}
		for _, p := range request.table {
			name, ok := strings.CutPrefix(p.Name, request.prefix)
			if !ok || p.Disposition == wire.Refused || strings.Contains(name, ".") {
				continue
			}
			taken[name] = true
			if properties[name] == nil {
				t.Errorf("%s of %s is taken and not documented", name, request.schema)
			}
		}
		for name := range properties {
			if !taken[name] {
				t.Errorf("%s of %s is documented and not taken", name, request.schema)
			}
		}
	}
}

// TestDocumentHasTheParametersOfAlephAlpha holds the schemas of requests against the
// dialect's own table, both ways. Of refused keys a schema has the values taken.
func TestDocumentHasTheParametersOfAlephAlpha(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{
		"/complete": "CompleteRequest", "/embed": "EmbedRequest", "/evaluate": "EvaluateRequest",
		"/tokenize": "TokenizeRequest", "/detokenize": "DetokenizeRequest",
		"/explain": "ExplainRequest", "/translate": "AlephAlphaTranslateRequest",
	} {
		left := maps.Clone(doc.Components.Schemas[name].Value.Properties)
		for _, p := range alephalpha.Parameters() {
			key, ok := strings.CutPrefix(p.Name, path+" ")
			if ok && left[key] == nil {
				t.Errorf("%s is not documented", p.Name)
			}
			delete(left, key)
		}
		for key := range left {
			t.Errorf("%s %s is documented and has no row", path, key)
		}
	}
}

// TestDocumentHasTheLanguages holds the enumeration of languages against the dialect's.
func TestDocumentHasTheLanguages(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, code := range doc.Components.Schemas["Language"].Value.Enum {
		listed = append(listed, fmt.Sprint(code))
	}
	if !slices.Equal(listed, textsynth.Languages()) {
		t.Errorf("documented: %v", listed)
	}
}

// fits checks an answer against the document.
func fits(doc *openapi3.T, method, pattern string, res *http.Response, body string) error {
	response := doc.Paths.Find(pattern).GetOperation(method).Responses.Value(fmt.Sprint(res.StatusCode))
	if response == nil {
		return fmt.Errorf("status %d is not documented: %s", res.StatusCode, body)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	media := response.Value.Content[kind]
	switch {
	case media == nil:
		return fmt.Errorf("media type %s is not documented", kind)
	case kind == "application/json":
		return answers(media.Schema, body)
	case kind == "application/x-ndjson":
		return lines(media.Schema, body)
	case kind != "text/event-stream":
		return nil
	case strings.HasSuffix(pattern, "/v1/completions"):
		return events(doc.Components.Schemas["CompletionChunk"], body)
	case strings.Contains(pattern, "chat/completions"):
		return events(doc.Components.Schemas["ChatCompletionChunk"], body)
	case pattern == "/complete":
		return events(doc.Components.Schemas["CompletionEvent"], body)
	}
	return events(doc.Components.Schemas["InferenceEvent"], body)
}

// answers checks an answer, or the several of a stream that are each followed by two
// line feeds.
func answers(schema *openapi3.SchemaRef, body string) error {
	for answer := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if err := matches(schema, answer); err != nil {
			return fmt.Errorf("%s: %w", answer, err)
		}
	}
	return nil
}

// lines checks the objects of a stream that has one a line.
func lines(schema *openapi3.SchemaRef, body string) error {
	for line := range strings.Lines(body) {
		if err := matches(schema, line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// events checks the data of each event of a stream.
func events(schema *openapi3.SchemaRef, body string) error {
	n := 0
	for frame := range strings.SplitSeq(body, "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		switch {
		case frame == "" || data == "[DONE]":
			continue
		case !ok:
			return fmt.Errorf("frame %q has no data", frame)
		}
		if err := matches(schema, data); err != nil {
			return fmt.Errorf("%s: %w", data, err)
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("no events in %q", body)
	}
	return nil
}

// matches checks JSON against a schema. OpenAPI 3.1's are JSON Schema 2020-12.
func matches(schema *openapi3.SchemaRef, body string) error {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return err
	}
	return schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}

// A call is a request whose answer must fit the document.
type call struct {
	method, path, pattern string // the path of the document, if it is another
	role                  account.Role
	body                  string
	status                int
}

// check sends the request and sees that it and its answer fit the document.
func (c call) check(t *testing.T, h http.Handler, doc *openapi3.T) {
	t.Helper()
	res := ask(h, c.method, c.path, secrets[c.role], strings.NewReader(c.body))
	body := text(t, res)
	if c.pattern == "" {
		c.pattern, _, _ = strings.Cut(c.path, "?")
	}
	if res.StatusCode != c.status {
		t.Errorf("%s %s %s: %d, want %d: %s", c.method, c.path, c.body, res.StatusCode, c.status, body)
		return
	}
	if err := fits(doc, c.method, c.pattern, res, body); err != nil {
		t.Errorf("%s %s %s: %v", c.method, c.path, c.body, err)
	}
	if request := doc.Paths.Find(c.pattern).GetOperation(c.method).RequestBody; c.status == 200 && c.body != "" && request != nil && !strings.HasPrefix(body, `{"error":`) {
		if err := matches(request.Value.Content["application/json"].Schema, c.body); err != nil {
			t.Errorf("%s %s: the request %s: %v", c.method, c.path, c.body, err)
		}
	}
}

// TestFormsFitTheDocument: what the golden model cannot spell, another one answers.
func TestFormsFitTheDocument(t *testing.T) {
	a, _ := scripted(t)
	h := a.Handler()
	doc := load(t, h)
	for _, c := range callsForms() {
		c.check(t, h, doc)
	}
}

func TestAnswersFitTheDocument(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t)})
	addTranslator(t, a)
	h := a.Handler()
	doc := load(t, h)
	answered := map[string]bool{}
	for _, c := range calls(t) {
		c.check(t, h, doc)
		pattern, _, _ := strings.Cut(cmp.Or(c.pattern, c.path), "?")
		answered[fmt.Sprint(c.method, " ", pattern, " ", c.status)] = true
	}
	checkUploads(t, h, doc, answered)
	for _, route := range a.Routes() { // what each route answers to those who may not, and to too much
		pattern := openapiPath(route.Pattern)
		path := strings.NewReplacer("{id}", "golden", "{engine_id}", "golden", "{name}", "golden").Replace(pattern)
		try := func(key string, body io.Reader) {
			res := ask(h, route.Method, path, key, body)
			if err := fits(doc, route.Method, pattern, res, text(t, res)); err != nil || res.StatusCode < 400 {
				t.Errorf("%s %s: %d, %v", route.Method, path, res.StatusCode, err)
			}
		}
		if route.Permission != httpx.Public {
			try("", nil)
			for role, key := range secrets {
				if !role.May(route.Permission) {
					try(key, nil)
				}
			}
		}
		if route.Method == http.MethodPost && route.MaxBody == 0 {
			try(secrets[account.Admin], io.LimitReader(spaces{}, httpx.DefaultMaxBody+1))
		}
		if name := route.Method + " " + pattern; !answered[name+" 200"] && !(neverServed[name] && answered[name+" 400"]) {
			t.Errorf("%s was not tried", name)
		}
	}
}

// spaces is a reader without end.
type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestFitsCanFail holds the check itself to answers that are wrong.
func TestFitsCanFail(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(status int, kind string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}}
	}
	const list = `{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"x"}]}`
	const path = "/v1/models"
	if err := fits(doc, "GET", path, answer(200, "application/json"), list); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"status": fits(doc, "GET", path, answer(418, "application/json"), list),
		"type":   fits(doc, "GET", path, answer(200, "text/html"), list),
		"value":  fits(doc, "GET", path, answer(200, "application/json"), strings.Replace(list, "1", `"1"`, 1)),
		"absent": fits(doc, "GET", path, answer(200, "application/json"), strings.Replace(list, `"created":1,`, "", 1)),
		"more":   fits(doc, "GET", path, answer(200, "application/json"), strings.Replace(list, `"created"`, `"new":1,"created"`, 1)),
		"event":  fits(doc, "POST", "/v1/chat/completions", answer(200, "text/event-stream"), "data: {}\n\n"),
	} {
		if err == nil {
			t.Errorf("a wrong %s passes", name)
		}
	}
}
