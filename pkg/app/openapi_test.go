package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"glossa/pkg/account"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openapi"
)

// load reads the document as clients receive it. Events of streams have their own schema,
// named as in [eventsOf].
func load(t *testing.T, h http.Handler) *openapi3.T {
	t.Helper()
	var raw map[string]any
	if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/openapi.json", secrets[account.Admin], nil))), &raw); err != nil {
		t.Fatal(err)
	}
	schemas := raw["components"].(map[string]any)["schemas"].(map[string]any)
	for path, methods := range raw["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			content, _ := op.(map[string]any)["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)
			for _, media := range content {
				schema, _ := media.(map[string]any)["schema"].(map[string]any)
				if properties, ok := schema["properties"].(map[string]any); ok && properties["data"] != nil {
					schema, _ = properties["data"].(map[string]any)
				}
				if ways, ok := schema["anyOf"].([]any); ok {
					schema, _ = ways[0].(map[string]any)
				}
				if schema["contentSchema"] != nil {
					schemas[eventsOf(method, path)] = schema["contentSchema"]
				}
			}
		}
	}
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// eventsOf names the schema of a stream's events.
func eventsOf(method, path string) string {
	return "events-" + strings.ToLower(method) + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path)
}

// whole returns the document of all routes.
func whole(t *testing.T) (*App, *openapi3.T) {
	t.Helper()
	a := golden(t, Config{Auth: true, Keys: keys(t), Accounts: emptyAccounts(t), Batches: t.TempDir()})
	return a, load(t, a.Handler())
}

func TestDocumentIsValid(t *testing.T) {
	_, doc := whole(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Error(doc.OpenAPI)
	}
}

// Every tag of an operation is described, and the introduction names those of dialects.
func TestEveryTagIsDescribed(t *testing.T) {
	_, doc := whole(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, name := range op.Tags {
				if tag := doc.Tags.Get(name); tag == nil || tag.Description == "" {
					t.Errorf("%s %s: the tag %s is not described", method, path, name)
				}
				if name != serviceTag && !strings.Contains(doc.Info.Description, name) {
					t.Errorf("the introduction does not name %s", name)
				}
			}
		}
	}
}

// TestEveryFieldIsDescribed checks that each property of the shared schemas has a description, or
// is a schema that another place describes.
func TestEveryFieldIsDescribed(t *testing.T) {
	_, doc := whole(t)
	seen := 0
	var check func(path string, s *openapi3.SchemaRef)
	check = func(path string, s *openapi3.SchemaRef) {
		for name, p := range s.Value.Properties {
			if seen++; p.Ref == "" && p.Value.Description == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
			if p.Ref == "" {
				check(path+"."+name, p)
			}
		}
		if items := s.Value.Items; items != nil && items.Ref == "" {
			check(path+"[]", items)
		}
	}
	for name, s := range doc.Components.Schemas {
		check(name, s)
	}
	if seen < 300 {
		t.Errorf("only %d properties", seen)
	}
}

// TestDocumentIsTheRouteTable checks that every route is documented correctly.
func TestDocumentIsTheRouteTable(t *testing.T) {
	a, doc := whole(t)
	ids := map[string]string{}
	for _, route := range a.Routes() {
		name := route.Method + " " + openapi.Path(route.Pattern)
		if neverServed[name] {
			continue
		}
		item := doc.Paths.Find(openapi.Path(route.Pattern))
		if item == nil || item.GetOperation(route.Method) == nil {
			t.Errorf("%s is routed and not documented", name)
			continue
		}
		op := item.GetOperation(route.Method)
		if other := ids[op.OperationID]; other != "" || op.OperationID == "" || op.Summary == "" || strings.HasSuffix(op.Summary, ".") {
			t.Errorf("%s: the id %q is also that of %q, or the summary %q is not one", name, op.OperationID, other, op.Summary)
		}
		ids[op.OperationID] = name
		if got := op.Extensions["x-permission"]; got != string(route.Permission) {
			t.Errorf("%s: x-permission is %v, the route's is %s", name, got, route.Permission)
		}
		ok := op.Responses.Value("200")
		if ok == nil {
			t.Errorf("%s: no 200", name)
			continue
		}
		streams := false
		for kind := range ok.Value.Content {
			streams = streams || kind == "text/event-stream" || kind == "application/x-ndjson" || kind == "text/plain" && route.Permission == httpx.Inference
		}
		if lineFeeds := strings.HasSuffix(route.Pattern, "/completions") && strings.HasPrefix(route.Pattern, "/v1/engines/"); streams != (route.Streams && !lineFeeds) {
			t.Errorf("%s: the route's Streams is %v, the document's media types are not", name, route.Streams)
		}
		for _, status := range refusals(route) {
			if op.Responses.Value(fmt.Sprint(status)) == nil {
				t.Errorf("%s: no %d", name, status)
			}
		}
	}
}

// TestExamples checks that each operation with a body has an example that the server answers.
func TestExamples(t *testing.T) {
	a, _ := whole(t)
	tried := 0
	for _, route := range a.Routes() {
		shares := route.Shares
		if len(shares) == 0 {
			shares = []httpx.Route{route}
		}
		for _, share := range shares {
			if share.Doc == nil || share.Doc.Body == nil {
				continue
			}
			tried++
			if err := share.Doc.Body.Decode([]byte(share.Doc.Example), reflect.New(share.Doc.Body.Type()).Interface()); err != nil {
				t.Errorf("%s: %v", share.Doc.ID, err)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d operations have a body", tried)
	}
}

// neverServed are the routes that only explain why they are not served.
var neverServed = map[string]bool{
	"POST /instructable_embed": true, "POST /steering_concepts": true,
}

// refusals lists the statuses that every route of this kind can answer with, in its
// shape of errors.
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

// TestDocumentHasTheLanguages compares the enumeration of languages with the dialect's.
func TestDocumentHasTheLanguages(t *testing.T) {
	_, doc := whole(t)
	body := doc.Paths.Find("/v1/engines/{engine_id}/translate").Post.RequestBody.Value.Content["application/json"].Schema.Value
	var listed []string
	for _, code := range body.Properties["target_lang"].Value.Enum {
		listed = append(listed, fmt.Sprint(code))
	}
	if !slices.Equal(listed, textsynth.Languages()) {
		t.Errorf("documented: %v", listed)
	}
}

// fits checks an answer against the document.
func fits(doc *openapi3.T, method, pattern string, res *http.Response, body string) error {
	if neverServed[method+" "+pattern] {
		return nil // such routes are not documented
	}
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
		return lines(doc.Components.Schemas[eventsOf(method, pattern)], body)
	case kind != "text/event-stream":
		return nil
	}
	return events(doc.Components.Schemas[eventsOf(method, pattern)], body)
}

// answers checks an answer, or several in a stream, each followed by two line feeds.
func answers(schema *openapi3.SchemaRef, body string) error {
	for answer := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if err := matches(schema, answer); err != nil {
			return fmt.Errorf("%s: %w", answer, err)
		}
	}
	return nil
}

// lines checks the objects of a stream, one a line.
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
		if _, rest, named := strings.Cut(frame, "\ndata: "); named && strings.HasPrefix(frame, "event: ") {
			frame = "data: " + rest
		}
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

// matches checks JSON against a schema. The schemas of OpenAPI 3.1 are JSON Schema 2020-12.
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

// check sends the request and checks it and its answer against the document.
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
	if request := bodyOf(doc, c.method, c.pattern); c.status == 200 && c.body != "" && request != nil && !strings.HasPrefix(body, `{"error":`) {
		if err := matches(request.Value.Content["application/json"].Schema, c.body); err != nil {
			t.Errorf("%s %s: the request %s: %v", c.method, c.path, c.body, err)
		}
	}
}

// bodyOf returns the description of the body of an operation, nil if there is none.
func bodyOf(doc *openapi3.T, method, pattern string) *openapi3.RequestBodyRef {
	item := doc.Paths.Find(pattern)
	if item == nil {
		return nil
	}
	return item.GetOperation(method).RequestBody
}

// TestFormsFitTheDocument uses a model that can spell what the golden model cannot.
func TestFormsFitTheDocument(t *testing.T) {
	a, _ := scripted(t)
	h := a.Handler()
	doc := load(t, h)
	for _, c := range callsForms() {
		c.check(t, h, doc)
	}
}

func TestAnswersFitTheDocument(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t), Batches: t.TempDir()})
	addTranslator(t, a)
	addRanker(t, a)
	addEncoder(t, a)
	addModel(t, a, "weights", "../engine/testdata/vectors/splade-bert")
	h := a.Handler()
	doc := load(t, h)
	answered := map[string]bool{}
	for _, c := range append(calls(t), call{"POST", "/embed_sparse", "", account.Client, `{"model":"weights","inputs":"a"}`, 200}) {
		c.check(t, h, doc)
		pattern, _, _ := strings.Cut(cmp.Or(c.pattern, c.path), "?")
		answered[fmt.Sprint(c.method, " ", pattern, " ", c.status)] = true
	}
	checkUploads(t, h, doc, answered)
	storedCalls(t, a, h, doc, answered)
	batchCalls(t, h, doc, answered)
	for _, route := range a.Routes() { // answers for missing permissions and for too large requests
		pattern := openapi.Path(route.Pattern)
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

// spaces is an endless reader.
type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestFitsCanFail checks that the check itself rejects wrong answers.
func TestFitsCanFail(t *testing.T) {
	_, doc := whole(t)
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
