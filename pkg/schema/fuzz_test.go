package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// Every schema that Parse accepts makes requests, reads answers, and encodes to the same document.
func FuzzParse(f *testing.F) {
	for _, s := range records(f) {
		f.Add(s.text)
	}
	f.Add([]byte(small))
	f.Add([]byte(strings.Replace(formed, "MORE", `, "image": "{data}", "system": [{"t": "<{text}>"}], "cache": {"at": ["system", "messages"], "members": {"m": [1]}}`, 1)))
	f.Add([]byte(`{"request":{"omit_null":true,"defaults":{"a":[{"b":null}]},"mapping":{"x":"$..b","y":"a[-1].b","z":"$.a[*]"}},"response":{"regex_sub":"[^\\W\\d]$","mapping":{"x":"$.*[1:]"}}}`))
	f.Add(reasons(`[{"models": ["claude"], "on": {"n": ["{budget}"]}, "off": {"n": []}, "efforts": {"low": 1}, "effort": "low"}, {"on": "{effort}", "always": true}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse(raw)
		if err != nil {
			return
		}
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(out)
		if err != nil || !same(t, json.RawMessage(again.text), json.RawMessage(s.text)) {
			t.Fatalf("%s\n%v", out, err)
		}
		body := map[string]any{"unknown": 1}
		for _, slot := range s.slots {
			body[slot.name] = map[string]any{"a": []any{slot.name}}
		}
		before := plain(body)
		base, _ := json.Marshal(s.Request(nil))
		if _, err := json.Marshal(s.Request(body)); err != nil {
			t.Fatal(err)
		}
		if !same(t, body, before) {
			t.Fatal("the body was changed")
		}
		if after, _ := json.Marshal(s.Request(nil)); string(after) != string(base) {
			t.Fatal("the record was changed")
		}
		s.Response.Read(base)
		for _, id := range []string{"", "us.anthropic.claude-sonnet-4-5"} {
			for _, keys := range []map[string]any{
				{"thinking": true}, {"thinking": false}, {"reasoning_effort": "low", "max_new_tokens": 9},
				{"max_thinking_tokens": 1 << 62, "chat_template_kwargs": map[string]any{"a": 1}},
			} {
				if keys, err := s.For(id).ReasonKeys(keys); err == nil {
					s.Request(keys)
				}
			}
		}
		if after, _ := json.Marshal(s.Request(nil)); string(after) != string(base) {
			t.Fatal("the record was changed by reasoning")
		}
		image := llm.Message{Role: "user", Parts: []llm.Part{{Text: "{text}"}, {Image: &llm.Image{Type: "image/png", Data: []byte{1}}}}}
		for _, chat := range [][]llm.Message{talk(), {image, image}} {
			keys, err := s.Chat(chat)
			if err != nil {
				continue
			}
			if _, err := json.Marshal(s.Request(keys)); err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(s.Request(nil)); string(after) != string(base) {
				t.Fatal("the record was changed by a chat")
			}
		}
	})
}

// Read does not panic, and its result encodes as JSON.
func FuzzRead(f *testing.F) {
	all := records(f)
	for _, payload := range []string{
		`{"content":[{"text":"a"}],"usage":{"input_tokens":1}}`, `data:{"token":{"text":"a"}}`, `[{"text":null}]`, `{"choices":[{"delta":{"content":"a"}}]}`,
		`{"content":[{"id":"1","name":"f","input":{"b":1,"a":[]}}]}`, `{"contentBlockDelta":{"delta":{"toolUse":{"input":"{"}},"contentBlockIndex":1}}`, "data: [DONE]", `{"a":{"a":1},"a":2}`,
	} {
		f.Add([]byte(payload))
	}
	all["small"] = parse(f, small)
	f.Fuzz(func(t *testing.T, payload []byte) {
		for sk, s := range all {
			for _, r := range []*Response{s.Response, s.Stream} {
				got, err := r.Read(payload)
				if _, encoding := json.Marshal(got); err == nil && encoding != nil {
					t.Fatal(sk, encoding)
				}
			}
		}
	})
}

// Values that are set can be found; the library's reader and the setter's walk agree.
func FuzzPath(f *testing.F) {
	doc := `{"a":{"b":[1,{"c":null}],"0":[[]]},"l":[{"x":1},{"x":2}],"n":null,"s":"str","x":{"x":{"x":0}}}`
	for _, path := range strings.Fields("$.a.b[1].c $..x l[*].x $.l[-1] $.* $['a']['0'][0] $.n[*] $.s[0:1] $..*.x $ $.x..x $.a[*].b[::2]") {
		f.Add(path, doc)
	}
	f.Fuzz(func(t *testing.T, text, raw string) {
		p, err := parsePath(text)
		if err != nil {
			return
		}
		again, err := parsePath(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q is %s, which is %s %v", text, p, again, err)
		}
		find, err := newFinder(p)
		if err != nil {
			t.Fatalf("%q, %s: %v", text, p, err)
		}
		doc, err := decode([]byte(raw))
		if err != nil {
			return
		}
		w := &walk{doc: doc, budget: maxRequest}
		want, there := any(nil), false
		w.along(p, place{value: doc.root}, func(at place) bool {
			want, there = at.value, true
			return false
		})
		got, found, err := find.first(&walk{doc: doc, budget: maxRequest})
		if err != nil || w.budget < 0 {
			return
		}
		if found != there || !same(t, got, want) {
			t.Fatalf("%q in %s: found %v %t, walked to %v %t", text, raw, got, found, want, there)
		}
		if m, ok := doc.root.(map[string]any); ok {
			before := plain(maps.Clone(m))
			if set := p.set(doc.root, "set"); !set && !same(t, before, doc.root) {
				t.Fatalf("%q in %s: not set, and changed", text, raw)
			} else if v, _, err := find.first(&walk{doc: doc, budget: maxRequest}); set && err == nil && p.definite() && v != "set" {
				t.Fatalf("%q in %s: set, and found %v", text, raw, v)
			}
		}
	})
}

// FuzzDecode checks that our reader and encoding/json agree.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -2.5e+3, true, false, null, "x\u00e9\"\\"], "b" :{ "a":{} , "a":[] }}`, " \n[ ]\t", `"\ud83d\ude00\ud800"`, `{"a":}`, `[1,]`, `{} {}`, ``, `01`, "\"\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := decode(text)
		if err != nil {
			if utf8.Valid(text) && json.Valid(text) && !strings.Contains(err.Error(), "deeper") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil || !reflect.DeepEqual(doc.root, want) {
			t.Fatalf("%q: %v, want %v, %v", text, doc.root, want, err)
		}
	})
}
