package alpha

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

func TestRequests(t *testing.T) {
	inference := func(query string) (*llm.Request, error) {
		var in inferenceRequest
		if err := inferenceTable.DecodeQuery(query, &in); err != nil {
			return nil, err
		}
		return in.request()
	}
	chat := func(body string) (*llm.Request, error) {
		var in chatRequest
		if err := chatTable.Decode([]byte(body), &in); err != nil {
			return nil, err
		}
		return in.request()
	}
	generate := func(body string) (*llm.Request, error) {
		var in generateRequest
		if err := generateTable.Decode([]byte(body), &in); err != nil {
			return nil, err
		}
		return in.request()
	}
	text := []llm.Prompt{llm.Text("x")}
	turns := []llm.Prompt{{Messages: []llm.Message{{Role: "system", Parts: []llm.Part{{Text: ""}}}, {Role: "user", Parts: []llm.Part{{Text: "x"}}}}}}
	base := llm.Params{MaxTokens: new(200), Temperature: new(0.8), TopK: new(40), Truncate: new(0)}
	whole := llm.Params{MaxTokens: new(2048), Temperature: new(0.7), TopK: new(40), Truncate: new(0)}
	const messages = `"messages":[{"role":"system","content":""},{"role":"user","content":"x"}]`
	for _, test := range []struct {
		read func(string) (*llm.Request, error)
		in   string
		want llm.Request
	}{
		{inference, "query=x", llm.Request{Prompts: text, N: 1, Stream: true, Defaults: base, Params: llm.Params{Echo: new(true)}}},
		{inference, "query=x&steps=245.0", llm.Request{Prompts: text, N: 1, Stream: true, Defaults: base, Params: llm.Params{MaxTokens: new(245), Echo: new(true)}}},
		{inference, "query=x&steps=501&temp=0&topk=0", llm.Request{Prompts: text, N: 1, Stream: true, Defaults: base,
			Params: llm.Params{MaxTokens: new(500), Temperature: new(0.0), TopK: new(0), Echo: new(true)}}},
		{chat, `{` + messages + `}`, llm.Request{Prompts: turns, N: 1, Stream: true, Defaults: base}},
		{chat, `{"messages":[{"role":"system","parts":[]},{"role":"user","parts":[{"type":"text","text":"x"},{"type":"step-start"}]}]}`, llm.Request{Prompts: turns, N: 1, Stream: true, Defaults: base}},
		{chat, `{` + messages + `,"maxTokens":9000,"temperature":3,"topk":1}`, llm.Request{Prompts: turns, N: 1, Stream: true, Defaults: base,
			Params: llm.Params{MaxTokens: new(500), Temperature: new(3.0), TopK: new(1)}}},
		{generate, `{"prompt":"x"}`, llm.Request{Prompts: text, N: 1, Defaults: whole}},
		{generate, `{"prompt":"x","max_tokens":20000,"temperature":0}`, llm.Request{Prompts: text, N: 1, Defaults: whole,
			Params: llm.Params{MaxTokens: new(2048), Temperature: new(0.0)}}},
	} {
		got, err := test.read(test.in)
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v, %v", test.in, got, err)
		}
	}
}

func TestErrorShape(t *testing.T) {
	for code, want := range map[llm.Code]struct {
		status int
		words  string
	}{
		llm.Unauthenticated: {401, "Unauthorized"}, llm.Forbidden: {403, "m"}, llm.Internal: {500, "m"}, llm.Timeout: {504, "m"},
		llm.NotFound: {404, "m"}, llm.TooLong: {400, "m"}, httpx.TooLarge: {413, "m"},
	} {
		status, body := Errors.Body(&llm.Error{Code: code, Message: "m"})
		if status != want.status || body != any(errorBody{want.words}) {
			t.Errorf("%s: got %d %v", code, status, body)
		}
	}
}

// arrived returns a received body.
func arrived(b []byte) *receivedBody {
	return &receivedBody{Spool: spool{bytes.NewReader(b), new(int)}, ctx: context.Background(), p: &fakePublisher{}}
}

// slowly is a reader that returns one byte at a time.
type slowly struct{ r io.Reader }

func (s slowly) Read(p []byte) (int, error) { return s.r.Read(p[:min(1, len(p))]) }

// FuzzScan: a scanner takes what encoding/json takes that is UTF-8 throughout, and finds its
// members.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{ "a" : [1,{"b":"]\\\""}] , "c":-1e3 ,"d":{} }`, `{}`, `{"a":1}x`, "{ \n\t}", `{"a":[1,]}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e+}`,
		`{"a":0.5E-7,"b":[[],{}],"\u0061":true,"é\ud83d":nulL}`, "{\"\xff\":1}", `{"a":"\x"}`, `{"a":tru}`, `{,}`, `{"a" 1}`, `{"a":1,}`, "{\"a\":\"\x01\"}", `{"a":"` + "\xe2\x82" + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range []io.Reader{bytes.NewReader(b), slowly{bytes.NewReader(b)}} {
			s := newScanner(r)
			got := map[string]json.RawMessage{}
			s.space()
			err := s.object(func(key string) error {
				from := s.offset()
				err := s.value(1)
				got[key] = b[from:s.offset()]
				return err
			})
			if err == nil {
				err = s.ends()
			}
			var want map[string]json.RawMessage
			valid := utf8.Valid(b) && json.Unmarshal(b, &want) == nil && want != nil
			if strings.Contains(fmt.Sprint(err), "nested deeper") || strings.Contains(fmt.Sprint(err), "a key of more") {
				return
			}
			if (err == nil) != valid || valid && !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %q, %v, want %q", b, got, err, want)
			}
		}
	})
}

// A scanner stores no more of a body than its buffer, and rejects bodies that are too deep,
// have too many members or too long keys.
func TestScanBounds(t *testing.T) {
	for what, test := range map[string]struct{ body, says string }{
		"depth":   {`{"a":` + strings.Repeat("[", 1<<20), "nested deeper than"},
		"members": {"{" + strings.Repeat(`"a":0,`, 1<<18) + `"b":0}`, "more than 100 members"},
		"a key":   {`{"` + strings.Repeat("k", 1<<21) + `":0}`, "a key of more than"},
		"texts":   {`{"name":"` + strings.Repeat("k", maxTexts) + `"}`, "besides the checkpoint"},
		"an end":  {`{"checkpoint":{"params":{"wte":{"data":[` + strings.Repeat("0,", 1<<20), "unexpected end"},
	} {
		body := arrived([]byte(test.body))
		_, err := body.jsonUpload()
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
		least := testing.AllocsPerRun(1, func() { _, _ = arrived([]byte(test.body)).jsonUpload() })
		if least > 1000 {
			t.Errorf("%s: %v allocations", what, least)
		}
	}
}

// FuzzUpload: accepted uploads are complete, and every rejection is a client error.
func FuzzUpload(f *testing.F) {
	f.Add([]byte(goodUpload))
	f.Add([]byte(`{"name":"x","config":{},"step":1,"checkpoint":{"params":1,"modelConfig":2}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := arrived(b).jsonUpload()
		switch {
		case err != nil:
			clientsFault(t, b, err)
		default:
			checkpoint := make([]byte, u.Size)
			if _, err := u.Checkpoint.ReadAt(checkpoint, 0); err != nil || u.Name == "" || u.Step < 0 || !json.Valid(u.Config) || !json.Valid(checkpoint) {
				t.Errorf("%q was taken as %+v, %v", b, u, err)
			}
		}
	})
}

// FuzzRequests: no query string and no body make the dialect panic, and accepted values are
// in range.
func FuzzRequests(f *testing.F) {
	f.Add("query=x&steps=3&temp=0.5&topk=1", []byte(`{"messages":[{"role":"user","content":"x"}],"maxTokens":3}`))
	f.Add("prompt=x&max_tokens=9000", []byte(`{"prompt":"x","temperature":0.1}`))
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		check := func(req *llm.Request, err error) {
			if err != nil {
				clientsFault(t, body, err)
				return
			}
			p := req.Effective()
			if len(req.Prompts) != 1 || req.N != 1 || *p.MaxTokens < 0 || *p.MaxTokens > maxGenerate || *p.Temperature < 0 || *p.TopK < 0 {
				t.Errorf("%q %q were taken as %+v", query, body, req)
			}
		}
		var i inferenceRequest
		if err := inferenceTable.DecodeQuery(query, &i); err != nil {
			clientsFault(t, body, err)
		} else {
			check(i.request())
		}
		var c chatRequest
		if err := chatTable.Decode(body, &c); err != nil {
			clientsFault(t, body, err)
		} else {
			check(c.request())
		}
		var g generateRequest
		if wire.Unmarshal(body, &g) == nil && generateTable.DecodeQuery(query, &g) == nil {
			check(g.request())
		}
	})
}

func clientsFault(t *testing.T, in []byte, err error) {
	t.Helper()
	if e, ok := errors.AsType[*llm.Error](err); !ok || httpx.Status(e.Code) != 400 || e.Message == "" {
		t.Errorf("%q: %v", in, err)
	}
}

func BenchmarkUpload(b *testing.B) {
	body := []byte(`{"name":"x","config":{},"step":1,"checkpoint":{"modelConfig":{},"params":{"wte":{"data":[0` +
		string(bytes.Repeat([]byte(",-0.12345678901234567"), 1<<20)) + `]}}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := arrived(body).jsonUpload(); err != nil {
			b.Fatal(err)
		}
	}
}
