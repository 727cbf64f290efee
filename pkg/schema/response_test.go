package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func TestRead(t *testing.T) {
	s := parse(t, small)
	for _, c := range []struct {
		r             *Response
		payload, want string
	}{
		// a null seed is kept, missing keys are omitted (API layer's TGI schema)
		{s.Response, `[{"text": "hi", "seed": null}]`, `{"generated_text": "hi", "seed": null, "first": "hi"}`},
		{s.Response, `[]`, `{}`},
		{s.Response, `{}`, `{}`},
		{s.Response, `{"0": {"text": "x"}}`, `{"first": "x"}`},
		{s.Response, `null`, `{}`},
		{s.Response, `[null]`, `{}`},
		{s.Response, `["text"]`, `{}`},
		{s.Response, `[{"seed": 12345678901234567890, "id": 1.50}]`, `{"seed": 12345678901234567890, "id": 1.50}`},
		{s.Stream, `data:{"token": {"text": "a"}, "seed": 1}`, `{"generated_text": "a", "seed": 1}`},
		{s.Stream, `{"token": {"text": "data:"}}`, `{"generated_text": "data:"}`},
	} {
		got, err := c.r.Read([]byte(c.payload))
		out, _ := json.Marshal(got)
		if err != nil || string(out) != canonical(t, c.want) {
			t.Errorf("%s: %s %v, want %s", c.payload, out, err, c.want)
		}
	}
	for _, line := range []string{"data:", " \n"} { // not an event
		if got, err := s.Stream.Read([]byte(line)); got != nil || err != nil {
			t.Errorf("%q: %v %v", line, got, err)
		}
	}
}

// canonical sorts the names in text and keeps the spelling of its numbers.
func canonical(t *testing.T, text string) string {
	out, err := json.Marshal(value(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestReadErrors(t *testing.T) {
	s := parse(t, `{"request": {"defaults": {}, "mapping": {}}, "response": {"mapping": {"x": "$..a..a..a..a..a.x"}}}`)
	for payload, want := range map[string]string{
		"data: [DONE]": "not JSON",
		"{":            "unexpected end",
		"{} {}":        "data after",
		"[\"\xff\"]":   "not UTF-8",
		strings.Repeat("[", 129) + strings.Repeat("]", 129): "nests deeper",
		strings.Repeat(" ", maxPayload+1):                   "too large",
		chain(120):                                          "too many values",
		"NaN":                                               "not JSON",
	} {
		_, err := s.Response.Read([]byte(payload))
		if err == nil || llm.AsError(err).Code != llm.Upstream || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, want %q", payload, err, want)
		}
	}
	if _, err := s.Stream.Read(nil); err == nil || llm.AsError(err).Code != llm.Unsupported {
		t.Error(err)
	}
}

// A schema is safe for concurrent use.
func TestTogether(t *testing.T) {
	s := parse(t, small)
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 200 {
				s.Request(map[string]any{"prompt": "p", "all": 1})
				s.Response.Read([]byte(`[{"text": "hi"}]`))
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
}

func BenchmarkReadEvent(b *testing.B) {
	s := parse(b, small)
	event := []byte(`data:{"index":1,"token":{"id":304,"text":"Deep","logprob":-0.05,"special":false},"generated_text":null,"details":null}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Stream.Read(event); err != nil {
			b.Fatal(err)
		}
	}
}
