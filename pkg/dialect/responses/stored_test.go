package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// kept is a store without bounds. A clock that passes an expiry is the store's own concern.
type kept struct {
	mu      sync.Mutex
	texts   map[string]string // by owner, a slash, and id
	expires time.Time         // of the last one
	fault   error             // of all calls
}

func (k *kept) Put(_ context.Context, owner, id string, text []byte, expires time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fault == nil {
		k.texts[owner+"/"+id], k.expires = string(text), expires
	}
	return k.fault
}

func (k *kept) Get(_ context.Context, owner, id string, room func(int64) error) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, ok := k.texts[owner+"/"+id]
	switch {
	case k.fault != nil:
		return nil, k.fault
	case !ok:
		return nil, llm.Errorf(llm.NotFound, "no such document")
	}
	return []byte(text), room(int64(len(text)))
}

func (k *kept) Delete(_ context.Context, owner, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.texts[owner+"/"+id]; !ok {
		return llm.Errorf(llm.NotFound, "no such document")
	}
	delete(k.texts, owner+"/"+id)
	return k.fault
}

type ownerKey struct{}

// A server stores the responses of two owners, whom the header Owner names.
type server struct {
	*kept
	cfg *Config
	http.Handler
	seen   *llm.Request // by the model "everything"
	failed []error
}

func newServer(more ...llm.Model) *server {
	s := &server{kept: &kept{texts: map[string]string{}}}
	models := append(testModels(), more...)
	b := models[0].Backend.(chunks)
	b.seen = &s.seen
	models[0].Backend = b
	cfg := &Config{
		Models: models, Now: func() time.Time { return time.Unix(1739900000, 0) }, Store: s.kept,
		Owner:  func(ctx context.Context) string { return ctx.Value(ownerKey{}).(string) },
		Failed: func(err error) { s.failed = append(s.failed, err) },
	}
	s.cfg = cfg
	s.start()
	return s
}

// start makes the routes of a new process.
func (s *server) start() {
	s.Handler = (&httpx.Mux{Routes: Routes(*s.cfg), Fallback: Errors, Guard: func(r *http.Request, _ *httpx.Route) (*http.Request, error) {
		return r.WithContext(context.WithValue(r.Context(), ownerKey{}, r.Header.Get("Owner"))), nil
	}}).Handler()
}

// do sends a request of an owner, and returns its status and body.
func (s *server) do(owner, method, path, body string) (int, string) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Owner", owner)
	s.ServeHTTP(w, r)
	return w.Code, strings.TrimSuffix(w.Body.String(), "\n")
}

// create creates a response of ann's, and returns its body.
func (s *server) create(t *testing.T, body string) (whole string, got response) {
	t.Helper()
	status, whole := s.do("ann", "POST", "/v1/responses", body)
	if err := json.Unmarshal([]byte(whole), &got); err != nil || status != 200 {
		t.Fatalf("%s: %d %s", body, status, whole)
	}
	return whole, got
}

// texts returns the roles and texts of the messages that the model read.
func (s *server) read() (list []string) {
	for _, m := range s.seen.Prompts[0].Messages {
		text := m.Role + ":" + m.Reasoning
		for _, p := range m.Parts {
			text += p.Text
		}
		for _, c := range m.Calls {
			text += "[" + c.Name + c.Arguments + "]"
		}
		list = append(list, text)
	}
	return list
}

// TestStored: a response comes back as it was sent, whole or streamed, until it is deleted.
func TestStored(t *testing.T) {
	s := newServer()
	for _, options := range []string{``, `,"top_logprobs":2`, `,"reasoning":{"summary":"auto"}`, `,"metadata":{"a":"<&>"},"instructions":"Be <brief>.","store":true`} {
		whole, r := s.create(t, `{"model":"everything",`+hi+`,`+allTools+options+`}`)
		if !r.Store || r.PreviousResponseID != nil {
			t.Errorf("%s: store %v, previous %v", options, r.Store, r.PreviousResponseID)
		}
		if status, got := s.do("ann", "GET", "/v1/responses/"+r.ID, ""); status != 200 || got != whole {
			t.Errorf("%s: %d\n%s\nwant\n%s", options, status, got, whole)
		}
		if want := time.Unix(1739900000, 0).Add(DefaultKeep); !s.expires.Equal(want) {
			t.Errorf("expires %s, want %s", s.expires, want)
		}
		if status, got := s.do("ann", "DELETE", "/v1/responses/"+r.ID, ""); status != 200 || got != `{"id":"`+r.ID+`","object":"response","deleted":true}` {
			t.Errorf("%d %s", status, got)
		}
	}
	if len(s.texts) > 0 {
		t.Errorf("%d remain", len(s.texts))
	}
	_, frames := s.do("ann", "POST", "/v1/responses", `{"model":"everything","stream":true,`+hi+`}`)
	list := strings.Split(frames, "data: ")
	var last event
	if err := json.Unmarshal([]byte(list[len(list)-1]), &last); err != nil {
		t.Fatal(err)
	}
	want, err := encoded(last.Response)
	if err != nil {
		t.Fatal(err)
	}
	if status, got := s.do("ann", "GET", "/v1/responses/"+last.Response.ID, ""); status != 200 || got != string(want) {
		t.Errorf("streamed: %d\n%s\nwant\n%s", status, got, want)
	}
}

// TestContinues: a chain gives the model all items and outputs before, but only the last
// instructions, and it survives the deletion of its beginning.
func TestContinues(t *testing.T) {
	s := newServer()
	_, first := s.create(t, `{"model":"everything","instructions":"One.","input":"a",`+allTools+`}`)
	answer := `,{"type":"custom_tool_call_output","call_id":"call_b","output":"ok"},{"type":"function_call_output","call_id":"call_a","output":"rain"}`
	const did = `assistant:Two places.€<b>[weather{"city":"<Pau>"}][patch{"input":"*** Begin\n\"<\""}][time{}]`
	_, second := s.create(t, `{"model":"everything","instructions":"Two.","previous_response_id":"`+first.ID+`","input":[{"role":"user","content":"b"}`+answer+`]}`)
	if got, want := s.read(), []string{"system:Two.", "user:a", did, "user:b", "tool:ok", "tool:rain"}; !slices.Equal(got, want) {
		t.Errorf("the second read %q, want %q", got, want)
	}
	if second.PreviousResponseID == nil || *second.PreviousResponseID != first.ID {
		t.Errorf("previous_response_id %v", second.PreviousResponseID)
	}
	s.do("ann", "DELETE", "/v1/responses/"+first.ID, "")
	status, got := s.do("ann", "POST", "/v1/responses/input_tokens", `{"previous_response_id":"`+first.ID+`",`+hi+`}`)
	if want := `{"error":{"message":"Previous response with id '` + first.ID + `' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`; status != 400 || got != want {
		t.Errorf("%d %s", status, got)
	}
	s.seen = nil
	status, got = s.do("ann", "POST", "/v1/responses", `{"model":"everything","previous_response_id":"`+second.ID+`","input":"c","store":false}`)
	if status != 400 || s.seen != nil || !strings.Contains(got, `"param":"previous_response_id.call_id"`) {
		// the same ids of calls again: the scripted model repeats itself
		t.Errorf("%d %s", status, got)
	}
}

// TestChain: the third response of a chain has the items of the first.
func TestChain(t *testing.T) {
	s := newServer()
	_, first := s.create(t, `{"model":"remote","input":"a"}`)
	_, second := s.create(t, `{"model":"remote","input":"b","previous_response_id":"`+first.ID+`"}`)
	s.create(t, `{"model":"everything","input":"c","previous_response_id":"`+second.ID+`"}`)
	if got, want := s.read(), []string{"user:a", "assistant:hi", "user:b", "assistant:hi", "user:c"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestReferences: items of stored responses take the place of references to them, and the
// conversation is found with one read.
func TestReferences(t *testing.T) {
	s := newServer()
	_, first := s.create(t, `{"model":"after","input":"a"}`)
	var refs []string
	for _, it := range first.Output {
		refs = append(refs, `{"type":"item_reference","id":"`+it.ID+`"}`)
	}
	input := `[{"role":"user","content":"a"},` + refs[0] + `,{"type":"function_call_output","call_id":"call_a","output":"noon"},` + strings.Join(refs[1:], ",")
	_, second := s.create(t, `{"model":"everything","input":`+input+`]}`)
	want := []string{"user:a", "assistant:[time{}]", "tool:noon", "assistant:Done."}
	if got := s.read(); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	s.do("ann", "DELETE", "/v1/responses/"+first.ID, "")
	rest := `,{"type":"item_reference","id":"` + second.Output[1].ID + `"},{"role":"user","content":"b"}]`
	s.create(t, `{"model":"everything","input":`+input+rest+`}`)
	if got := s.read(); !slices.Equal(got, append(want[:3:3], "assistant:Done.", "assistant:€<b>", "user:b")) {
		t.Errorf("read %q", got)
	}
	for owner, id := range map[string]string{"bob": second.Output[1].ID, "ann": second.Output[1].ID[:30] + "ffff"} {
		status, got := s.do(owner, "POST", "/v1/responses", `{"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"`+id+`"}]}`)
		if status != 404 || !strings.Contains(got, `"param":"input[1]","code":"item_not_found"`) {
			t.Errorf("%s: %d %s", owner, status, got)
		}
	}
	var many []string
	for n := range maxSources + 1 {
		many = append(many, fmt.Sprintf(`{"type":"item_reference","id":"msg_%024x%06x"}`, n, 0))
	}
	if status, got := s.do("ann", "POST", "/v1/responses", `{"input":[`+strings.Join(many, ",")+`]}`); status != 400 || !strings.Contains(got, "more than 32 responses") {
		t.Errorf("%d %s", status, got)
	}
}

// TestOthers: another owner's response, a deleted one, one that never was and an id of
// another form have the same answers.
func TestOthers(t *testing.T) {
	s := newServer()
	_, mine := s.create(t, `{"model":"after",`+hi+`}`)
	_, gone := s.create(t, `{"model":"after",`+hi+`}`)
	s.do("ann", "DELETE", "/v1/responses/"+gone.ID, "")
	for _, test := range [][2]string{{"bob", mine.ID}, {"", mine.ID}, {"ann", gone.ID}, {"ann", "resp_0123456789abcdef01234567"}, {"ann", "resp_1"}, {"ann", mine.ID + "#1"}, {"ann/" + mine.ID, mine.ID}, {"ann", "x"}} {
		owner, id := test[0], test[1]
		path := "/v1/responses/" + strings.ReplaceAll(id, "#", "%23")
		want := `{"error":{"message":"Response with id '` + id + `' not found.","type":"invalid_request_error","param":null,"code":"response_not_found"}}`
		for _, route := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/input_items"}, {"POST", "/cancel"}} {
			if status, got := s.do(owner, route[0], path+route[1], ""); status != 404 || got != want {
				t.Errorf("%s of %s: %d %s", route, owner, status, got)
			}
		}
		body := `{"previous_response_id":"` + id + `",` + hi + `}`
		if status, got := s.do(owner, "POST", "/v1/responses", body); status != 400 || !strings.Contains(got, `"code":"previous_response_not_found"`) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, got := s.do("ann", "POST", "/v1/responses/"+mine.ID+"/cancel", ""); status != 400 || !strings.Contains(got, "it is completed") {
		t.Errorf("cancel: %d %s", status, got)
	}
	if status, _ := s.do("ann", "GET", "/v1/responses/"+mine.ID+"?stream=true", ""); status != 400 {
		t.Errorf("stream: %d", status)
	}
	if status, _ := s.do("ann", "GET", "/v1/responses/input_tokens", ""); status != 405 {
		t.Errorf("GET of input_tokens: %d", status)
	}
}

// TestInputItems: the items of a chain come in pages, and are accepted as input.
func TestInputItems(t *testing.T) {
	s := newServer()
	_, first := s.create(t, `{"model":"after","input":[{"role":"user","content":"<a>"},{"role":"assistant","content":"b","phase":null},{"id":"mine","type":"message","role":"user","content":[{"type":"input_text","text":"c"}]}]}`)
	_, second := s.create(t, `{"model":"everything","previous_response_id":"`+first.ID+`","input":[{"id":null,"type":"function_call_output","call_id":"call_a","output":"d"}]}`)
	path := "/v1/responses/" + second.ID + "/input_items?"
	var all struct {
		Data    []json.RawMessage
		FirstID string `json:"first_id"`
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	}
	_, body := s.do("ann", "GET", path+"order=asc&limit=100", "")
	if err := json.Unmarshal([]byte(body), &all); err != nil || all.HasMore || len(all.Data) != 6 || all.LastID != idOf(all.Data[5]) || all.FirstID != idOf(all.Data[0]) {
		t.Fatalf("%v: %s", err, body)
	}
	if want := `{"content":[{"text":"<a>","type":"input_text"}],"id":"` + itemID(typeMessage, first.ID, 0) + `","role":"user","status":"completed","type":"message"}`; string(all.Data[0]) != want {
		t.Errorf("got %s, want %s", all.Data[0], want)
	}
	seen := s.read()
	again, err := encoded(all.Data)
	if err != nil {
		t.Fatal(err)
	}
	s.create(t, `{"model":"everything","input":`+string(again)+`}`)
	if got := s.read(); !slices.Equal(got, seen) {
		t.Errorf("again: %q, want %q", got, seen)
	}
	var pages []string
	for after, more := "", true; more; {
		_, body := s.do("ann", "GET", path+"limit=4&after="+after, "")
		all.Data = nil
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatal(err)
		}
		for _, raw := range all.Data {
			pages = append(pages, idOf(raw))
		}
		after, more = all.LastID, all.HasMore
	}
	ids := map[string]bool{}
	for _, id := range pages {
		ids[id] = true
	}
	for _, it := range second.Output {
		if ids[it.ID] {
			t.Errorf("%s is an item of the input and of the output", it.ID)
		}
	}
	if len(pages) != 6 || len(ids) != 6 || pages[5] != itemID(typeMessage, first.ID, 0) || pages[3] != "mine" || pages[0] != itemID(typeFunctionOutput, second.ID, 0) {
		t.Errorf("pages: %q", pages)
	}
	for _, query := range []string{"after=none", "limit=0", "limit=101", "order=up", "before=x"} {
		if status, got := s.do("ann", "GET", path+query, ""); status != 400 {
			t.Errorf("%s: %d %s", query, status, got)
		}
	}
}

// TestNotStored: an answer that is not stored says so, whatever the reason.
func TestNotStored(t *testing.T) {
	s := newServer()
	if _, r := s.create(t, `{"model":"after","store":false,`+hi+`}`); r.Store || len(s.texts) > 0 {
		t.Errorf("store false: %v, %d stored", r.Store, len(s.texts))
	}
	large := `"input":"` + strings.Repeat("x", maxStored) + `"`
	if _, r := s.create(t, `{"model":"after",`+large+`}`); r.Store || len(s.texts) > 0 {
		t.Errorf("too large: %v, %d stored", r.Store, len(s.texts))
	}
	if status, got := s.do("ann", "POST", "/v1/responses", `{"store":true,`+large+`}`); status != 400 || !strings.Contains(got, `"param":"store"`) {
		t.Errorf("too large, with store: %d %s", status, got)
	}
	s.fault = &llm.Error{Code: llm.Unavailable, Message: "the store is away"}
	if _, r := s.create(t, `{"model":"after",`+hi+`}`); r.Store || len(s.failed) != 1 {
		t.Errorf("the store fails: store %v, %v", r.Store, s.failed)
	}
	if status, got := s.do("ann", "GET", "/v1/responses/resp_0123456789abcdef01234567", ""); status != 503 {
		t.Errorf("the store fails: %d %s", status, got)
	}
	if status, got := s.do("ann", "POST", "/v1/responses", `{"previous_response_id":"resp_0123456789abcdef01234567",`+hi+`}`); status != 503 {
		t.Errorf("the store fails: %d %s", status, got)
	}
}

// TestFailedIsKept: a stream that failed can be read, but not continued.
func TestFailedIsKept(t *testing.T) {
	s := newServer()
	_, frames := s.do("ann", "POST", "/v1/responses", `{"model":"breaks","stream":true,`+hi+`}`)
	list := strings.Split(frames, "data: ")
	var last event
	if err := json.Unmarshal([]byte(list[len(list)-1]), &last); err != nil {
		t.Fatal(err)
	}
	status, body := s.do("ann", "GET", "/v1/responses/"+last.Response.ID, "")
	var got response
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || !reflect.DeepEqual(got.Error, last.Response.Error) || got.Status != failed {
		t.Errorf("%d %s, %v", status, body, err)
	}
	if status, got := s.do("ann", "POST", "/v1/responses", `{"previous_response_id":"`+last.Response.ID+`",`+hi+`}`); status != 400 || !strings.Contains(got, "that response is failed") {
		t.Errorf("%d %s", status, got)
	}
}
