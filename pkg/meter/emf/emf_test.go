package emf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

var start = time.Date(2026, 11, 22, 6, 0, 0, 123e6, time.UTC)

// full is a record of a request that ran a model.
func full() httpx.Record {
	return httpx.Record{
		ID: "req_1", Method: "POST", Route: "/invoke", Model: "tgi.phi", Family: "sagemaker", Dialect: "invoke", Permission: httpx.Inference,
		Status: 200, Bytes: 345, Start: start, FirstByte: 40 * time.Millisecond, FirstText: 12345678 * time.Nanosecond,
		Duration: 2*time.Second + 5*time.Microsecond, Usage: llm.Usage{Input: 7, Output: 11}, Principal: "key ci", Fallbacks: []string{"big: overloaded", "old: \x01"},
		Trace: httpx.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
}

// write returns the line of a record.
func write(t *testing.T, cfg Config, rec httpx.Record) string {
	t.Helper()
	var out bytes.Buffer
	cfg.Writer = &out
	New(cfg).Observe(&rec)
	return out.String()
}

func known(name string) bool { return name == "tgi.phi" }

func TestLine(t *testing.T) {
	got := write(t, Config{Known: known}, full())
	const want = `{"_aws":{"Timestamp":1795327200123,"CloudWatchMetrics":[{"Namespace":"Codenator/api-layer/",` +
		`"Dimensions":[["model"],["family"],["dialect"],[]],"Metrics":[{"Name":"invocations","Unit":"Count"},` +
		`{"Name":"latency","Unit":"Milliseconds"},{"Name":"time_to_first_token","Unit":"Milliseconds"},` +
		`{"Name":"tokens_in","Unit":"Count"},{"Name":"tokens_out","Unit":"Count"},{"Name":"errors","Unit":"Count"}]}]},` +
		`"invocations":1,"latency":2000.005,"time_to_first_token":12.345,"tokens_in":7,"tokens_out":11,"errors":0,` +
		`"level":"INFO","msg":"request","time":"2026-11-22T06:00:02.123Z","id":"req_1","method":"POST","route":"/invoke",` +
		`"status":200,"bytes":345,"model":"tgi.phi","family":"sagemaker","dialect":"invoke",` +
		`"trace":"0af7651916cd43dd8448eb211c80319c","principal":"key ci","fallbacks":["big: overloaded","old: \u0001"]}` + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFormat checks the lines of many records against the specification.
func TestFormat(t *testing.T) {
	hostile := "a\"\\\n\x00\xff\u2028é" + strings.Repeat("x", 2000)
	for _, model := range []string{"", "tgi.phi", "other", hostile, " ", "é", "x\x7f", strings.Repeat("m", maxValue+1)} {
		for _, rec := range variants(model) {
			for _, k := range []func(string) bool{nil, known, func(string) bool { return true }} {
				got := write(t, Config{Known: k, Namespace: "N"}, rec)
				if err := conforms(got, rec.Permission == httpx.Inference); err != nil {
					t.Errorf("%v\n%.600s", err, got)
				}
				if byModel := strings.Contains(got, `["model"]`); byModel != (k != nil && k(model) && value(model) && rec.Permission == httpx.Inference) {
					t.Errorf("the model %.20q is a dimension: %v", model, byModel)
				}
			}
		}
	}
}

// variants returns records that are full, empty and hostile.
func variants(model string) []httpx.Record {
	some := full()
	some.Model = model
	hostile := some
	hostile.ID, hostile.Family, hostile.Dialect, hostile.Principal = model, model, model, model
	hostile.Duration, hostile.FirstText, hostile.Status = -1, 1<<62, -3
	failed := some
	failed.Err = &llm.Error{Code: llm.Internal, Param: model, Message: "m", Err: errors.New(strings.Repeat("\x01\n", 1<<20))}
	left := some
	left.Err = &llm.Error{Code: httpx.Gone}
	return []httpx.Record{some, hostile, failed, left, {Model: model}, {Model: model, Permission: httpx.Inference}}
}

// conforms checks a line against the specification and its JSON schema.
func conforms(text string, metrics bool) error {
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") || len(text) > 256<<10 {
		return fmt.Errorf("%d bytes are not one line", len(text))
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return err
	}
	if twice := len(keys(text)) != len(members); twice {
		return errors.New("a member comes twice")
	}
	meta, ok := members["_aws"]
	if ok != metrics {
		return fmt.Errorf("_aws: %v, want %v", ok, metrics)
	}
	if !ok {
		return nil
	}
	var aws struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	raw, _ := json.Marshal(meta)
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&aws); err != nil || len(aws.CloudWatchMetrics) != 1 {
		return fmt.Errorf("%s: %v", raw, err)
	}
	d := aws.CloudWatchMetrics[0]
	if d.Namespace == "" || len(d.Namespace) > 255 || len(d.Dimensions) < 1 || len(d.Metrics) < 1 || len(d.Metrics) > 100 {
		return fmt.Errorf("%s", raw)
	}
	for _, set := range d.Dimensions {
		for _, name := range set {
			v, _ := members[name].(string)
			if len(set) > 30 || len(name) > 250 || strings.TrimSpace(v) == "" || len(v) > 1024 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
				return fmt.Errorf("dimension %s: %.50q", name, v)
			}
		}
	}
	for _, m := range d.Metrics {
		v, ok := members[m.Name].(float64) // JSON has no NaN and no infinity
		if !ok || v < 0 || m.Unit != "Count" && m.Unit != "Milliseconds" {
			return fmt.Errorf("metric %s in %s: %v", m.Name, m.Unit, members[m.Name])
		}
	}
	return nil
}

// keys lists the members of an object, including duplicates.
func keys(text string) (list []string) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.Token()
	for dec.More() {
		name, _ := dec.Token()
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil
		}
		list = append(list, fmt.Sprint(name))
	}
	return list
}

// Missing values make no metrics and no dimensions, and errors are counted except
// those of clients that left.
func TestMetrics(t *testing.T) {
	for _, test := range []struct {
		change   func(*httpx.Record)
		has, not []string
	}{
		{func(r *httpx.Record) { r.FirstText = 0 }, []string{`[["model"],["family"],["dialect"],[]]`}, []string{"time_to_first_token"}},
		{func(r *httpx.Record) { r.Model, r.Family = "", "" }, []string{`"Dimensions":[["dialect"],[]]`}, []string{`"model"`, `"family"`}},
		{func(r *httpx.Record) { r.Model = "other" }, []string{`[["family"],["dialect"],[]]`, `"model":"other"`}, []string{`["model"]`}},
		{func(r *httpx.Record) { r.Err = llm.Errorf(llm.Overloaded, "m") }, []string{`"errors":1`, `"code":"overloaded"`, `"level":"INFO"`}, nil},
		{func(r *httpx.Record) { r.Err = llm.Errorf(httpx.Gone, "m") }, []string{`"errors":0`, `"code":"gone"`}, nil},
		{func(r *httpx.Record) { r.Err = &llm.Error{Code: llm.Upstream, Err: errors.New("why")} }, []string{`"level":"ERROR"`, `"cause":"why"`}, nil},
		{func(r *httpx.Record) {
			r.Err = &llm.Error{Code: llm.Invalid, Param: "stop[0].private", Err: errors.New("private")}
		},
			[]string{`"param":"stop"`}, []string{"private", "cause"}},
		{func(r *httpx.Record) { r.Permission = httpx.Listing }, []string{`{"latency":2000.005,"level":"INFO"`, `"model":"tgi.phi"`}, []string{"_aws", "invocations"}},
	} {
		rec := full()
		test.change(&rec)
		got := write(t, Config{Known: known}, rec)
		for _, want := range test.has {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		for _, never := range test.not {
			if strings.Contains(got, never) {
				t.Errorf("%s is in %s", never, got)
			}
		}
	}
}

// quote writes the same string as encoding/json, after decoding.
func TestQuote(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é\u2028😀", "cut \xe2\x82", "\xff\xfe", "\ufffd"} {
		var got, want string
		theirs, err := json.Marshal(s)
		if err := errors.Join(err, json.Unmarshal(theirs, &want), json.Unmarshal(quote(nil, s), &got)); err != nil || got != want {
			t.Errorf("%q: %q, want %q, %v", s, got, want, err)
		}
	}
}

// Lines of concurrent requests do not mix, and each is one Write.
func TestAtOnce(t *testing.T) {
	var w counting
	m := New(Config{Writer: &w})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				rec := full()
				rec.ID = strings.Repeat(fmt.Sprint(i), 500)
				m.Observe(&rec)
			}
		})
	}
	all.Wait()
	if len(w) != 400 {
		t.Errorf("%d writes", len(w))
	}
	slices.Sort(w)
	if n := len(slices.Compact(w)); n != 8 {
		t.Errorf("%d kinds of lines", n)
	}
}

type counting []string

func (c *counting) Write(b []byte) (int, error) {
	*c = append(*c, string(b))
	return len(b), nil
}

func TestCheckNamespace(t *testing.T) {
	got := map[string]bool{}
	for _, s := range []string{"", DefaultNamespace, "A b/c:#.-_9", "AWS/Lambda", ":x", "  ", "é", "a\n", strings.Repeat("x", 256)} {
		got[s] = CheckNamespace(s) == nil
	}
	want := map[string]bool{"": true, DefaultNamespace: true, "A b/c:#.-_9": true, "AWS/Lambda": false, ":x": false, "  ": false, "é": false, "a\n": false, strings.Repeat("x", 256): false}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// A line costs no allocation.
func TestAllocations(t *testing.T) {
	m, rec := New(Config{Writer: io.Discard, Known: known}), full()
	if n := testing.AllocsPerRun(100, func() { m.Observe(&rec) }); n > 0.5 {
		t.Errorf("%v allocations a line", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	m, rec := New(Config{Writer: io.Discard, Known: known}), full()
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(&rec)
	}
}

// A line has the experts that its model used since the line before. Counts begin again with a model
// that is opened again.
func TestExperts(t *testing.T) {
	var out bytes.Buffer
	var use llm.ExpertUse
	m := New(Config{Writer: &out, Known: known, Experts: func(model string) llm.ExpertUse {
		if model != "tgi.phi" {
			t.Errorf("experts of %q", model)
		}
		return use
	}})
	for _, step := range []struct {
		use  llm.ExpertUse
		want string // "": no metric
	}{
		{llm.ExpertUse{}, ""},
		{llm.ExpertUse{Hits: 5, Misses: 3, Bytes: 7, Limit: 9}, `"expert_hits":5,"expert_misses":3,`},
		{llm.ExpertUse{Hits: 5, Misses: 3, Bytes: 7, Limit: 9}, ""},
		{llm.ExpertUse{Hits: 12, Misses: 3, Bytes: 7, Limit: 9}, `"expert_hits":7,"expert_misses":0,`},
		{llm.ExpertUse{Hits: 4, Misses: 6, Bytes: 7, Limit: 9}, `"expert_hits":4,"expert_misses":6,`},
		{llm.ExpertUse{}, ""}, // it is closed
		{llm.ExpertUse{Hits: 1, Misses: 1}, `"expert_hits":1,"expert_misses":1,`},
	} {
		use = step.use
		rec := full()
		out.Reset()
		m.Observe(&rec)
		if got := out.String(); strings.Contains(got, "expert") != (step.want != "") || !strings.Contains(got, step.want) {
			t.Errorf("%+v: no %s in %s", step.use, step.want, got)
		} else if err := conforms(got, true); err != nil {
			t.Error(err)
		}
	}
	rec := full()
	rec.Model = "other"
	m.Observe(&rec)
}
