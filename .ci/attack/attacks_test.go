package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	all := []attack{{name: "fair/rows"}, {name: "fair/keys"}, {name: "fairness/x"}, {name: "gzip/words"}}
	for names, want := range map[string]string{
		"": "fair/rows fair/keys fairness/x gzip/words", "fair": "fair/rows fair/keys", "gzip/words fair/keys": "gzip/words fair/keys", "fai": "error", "fair/": "error",
	} {
		chosen, err := choose(all, strings.Fields(names))
		var got []string
		for _, a := range chosen {
			got = append(got, a.name)
		}
		if text := strings.Join(got, " "); (err != nil) != (want == "error") || err == nil && text != want {
			t.Errorf("%q: %q, %v", names, text, err)
		}
	}
}

// Each attack has a unique name and a description, and can fail.
func TestAttacks(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks() {
		if seen[a.name] || !strings.Contains(a.name, "/") || len(a.name) > 24 || a.about == "" || a.run == nil && a.calls == nil {
			t.Errorf("%s: %q", a.name, a.about)
		}
		seen[a.name] = true
		if a.only == nil && a.served == 0 && a.refused == 0 {
			t.Errorf("%s: an attack without requests would pass", a.name)
		}
	}
}

// A hard schema is JSON of at most 1 MB, the goal's limit, and differs for another seed.
func TestHardSchemas(t *testing.T) {
	for _, h := range hardSchemas() {
		one, two := h.of(1), h.of(31)
		if len(one) > 1<<20 || len(two) > 1<<20 || one == two {
			t.Errorf("%s: %d and %d bytes", h.name, len(one), len(two))
		}
		if !json.Valid([]byte(one)) {
			t.Errorf("%s: not JSON", h.name)
		}
	}
}

func TestPack(t *testing.T) {
	text := words()
	packed := pack(text)
	if len(packed) > 30_000 || len(text) > 10<<20 {
		t.Errorf("%d bytes of %d", len(packed), len(text))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != text || !json.Valid(b) {
		t.Errorf("%d bytes come out: %v", len(b), err)
	}
}

// The record of an ARN is JSON that contains it unchanged.
func TestRecordOf(t *testing.T) {
	for _, arn := range hostileARNs() {
		var item struct {
			SK      string `json:"sk"`
			ModelID string `json:"model_id"`
		}
		if err := json.Unmarshal(recordOf("bedrock-x", arn), &item); err != nil || item.ModelID != arn || item.SK != "bedrock-x" {
			t.Errorf("%s: %+v, %v", arn, item, err)
		}
	}
}

func TestTextOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"choices":[{"message":{"content":"\"a.b\""}}]}`: "a.b", `{"choices":[{"message":{"content":"7"}}]}`: "", `{"choices":[]}`: "", `{"error":{}}`: "", "": "",
	} {
		if got := textOf(answer{body: body}); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	for text, want := range map[string][2]bool{
		"age": {true, false}, "a-b.c": {true, false}, "-a": {false, false}, "a..b": {false, false}, "1.2.3.4": {true, true}, "1.2.3.256": {true, false}, ",": {false, false},
	} {
		if got := [2]bool{hostname.MatchString(text), ipv4.MatchString(text)}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
