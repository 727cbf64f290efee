package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machineFile writes measurements of gpt2-124m: a prompt takes 1 ms a token with one thread, a pass 10 ms.
func machineFile(t *testing.T, more string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "machine.jsonl")
	text := `{"shape":"gpt2-124m","quant":"q8_0","threads":1,"batch":1,"phase":"prefill","tokens_per_second":1000}
{"shape":"gpt2-124m","quant":"q8_0","threads":1,"batch":1,"phase":"decode","tokens_per_second":100}
{"shape":"gpt2-124m","quant":"q8_0","threads":2,"batch":1,"phase":"decode","tokens_per_second":160}
` + more
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func runEstimate(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := output(t.Context(), append([]string{"estimate"}, args...)...)
	return out, err
}

// A part of what estimate prints as JSON.
type estimateAnswer struct {
	Format, Measured string
	Scaled           bool
	Lambda           []struct {
		MemoryMB   int     `json:"memory_mb"`
		FirstToken float64 `json:"first_token_seconds"`
		Latency    float64 `json:"latency_seconds"`
		RequestUSD float64 `json:"request_usd"`
		OfOther    float64 `json:"times_other_usd"`
		Memory     struct{ Fits bool }
	}
	Servers []struct {
		Name    string
		HourUSD float64 `json:"hour_usd"`
	}
	Traffic []struct {
		Name                          string
		Requests, Throttled, TimedOut int
		Cold                          int     `json:"cold_starts"`
		BillUSD                       float64 `json:"bill_usd"`
	}
	Prices []struct {
		Name   string
		USD    float64
		Source string
	}
}

func estimateJSON(t *testing.T, args ...string) (a estimateAnswer) {
	t.Helper()
	text, err := runEstimate(t, append(args, "--json")...)
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		t.Fatal(err, text)
	}
	return a
}

// A shape with a table of measurements, its traffic and its price.
func TestEstimate(t *testing.T) {
	machine := machineFile(t, "")
	a := estimateJSON(t, "gpt2-124m", "--machine", machine, "--memory", "3538,128,1769", "--prompt", "100", "--answer", "11", "--against", "1/10", "--price", "lambda-request=0")
	if a.Format != "q8_0" || a.Measured != "gpt2-124m" || a.Scaled || len(a.Lambda) != 3 || a.Lambda[0].Memory.Fits || !a.Lambda[1].Memory.Fits {
		t.Fatalf("%+v", a)
	}
	one := a.Lambda[1]
	if one.MemoryMB != 1769 || one.FirstToken != 0.1 || one.Latency != 0.2 || one.RequestUSD < 4.606e-6 || one.RequestUSD > 4.608e-6 { // 1769/1024 × 0.2 s × 13.3334 µ$
		t.Errorf("%+v", one)
	}
	if ratio := one.RequestUSD / (100e-6 + 110e-6); one.OfOther < ratio*0.999 || one.OfOther > ratio*1.001 || len(a.Traffic) != 0 {
		t.Errorf("%+v, want %v", one, ratio)
	}
	if len(a.Servers) != 3 || a.Servers[0].HourUSD != 0.0816 || a.Prices[2].Source != "given" {
		t.Errorf("%+v", a)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(trace, []byte("0 100 11\n0 100 11\n60 50 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a = estimateJSON(t, "gpt2-124m", "--machine", machine, "--memory", "1769", "--trace", trace, "--concurrency", "1", "--server", "m7g.4xlarge")
	if day := a.Traffic[0]; len(a.Traffic) != 4 || day.Requests != 3 || day.Throttled != 1 || day.Cold != 1 || a.Servers[0].Name != "EC2 m7g.4xlarge" {
		t.Errorf("%+v", a.Traffic)
	}
	table, err := runEstimate(t, "gpt2-124m", "--machine", machine, "--memory", "128,1769", "--against", "1/10", "--rate", "2")
	for _, want := range []string{"128 MB: weights need", "1769 MB    1.0", "EC2 m7g.large", "the other model: $", "A day of 2 requests a minute, seed 1:"} {
		if err != nil || !strings.Contains(table, want) {
			t.Errorf("%v: no %q in\n%s", err, want, table)
		}
	}
}

// A model's file is measured here, and one in a format is scaled from a shape.
func TestEstimateModel(t *testing.T) {
	a := estimateJSON(t, "../../pkg/starter/runs/novels", "--prompt", "8", "--answer", "8", "--memory", "1769,3538")
	if a.Measured != "novels" || a.Format != "f32" || a.Scaled || a.Lambda[0].FirstToken <= 0 || a.Lambda[1].Latency > a.Lambda[0].Latency {
		t.Errorf("%+v", a)
	}
	a = estimateJSON(t, "../../pkg/starter/runs/novels", "--quant", "q8_0", "--machine", machineFile(t, ""), "--prompt", "8", "--answer", "8", "--memory", "1769")
	if a.Measured != "gpt2-124m" || !a.Scaled || a.Lambda[0].Latency <= 0 || a.Lambda[0].Latency > 0.01 { // it is 50 times as small
		t.Errorf("%+v", a)
	}
}

func TestEstimateRefuses(t *testing.T) {
	machine := machineFile(t, "")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	backwards := filepath.Join(t.TempDir(), "backwards")
	if err := os.WriteFile(backwards, []byte("5 1 1\n4 1 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"missing argument MODEL":                    {},
		"a shape is one of alpha-1.8m":              {"gpt5"},
		`--quant: "stored" must be`:                 {"gpt2-124m", "--quant", "stored"},
		`--memory: "x" must be a number`:            {"gpt2-124m", "--memory", "x"},
		"--memory: 127 MB: Lambda has 128 to 10240": {"gpt2-124m", "--memory", "1769,127"},
		"--memory: 10241 MB":                        {"gpt2-124m", "--memory", "10241"},
		"a rate of NaN requests a minute":           {"gpt2-124m", "--rate", "NaN"},
		"a rate of -1 requests a minute":            {"gpt2-124m", "--rate", "-1"},
		"1.44e+12 requests are too many":            {"gpt2-124m", "--rate", "1e9"},
		"--rate and --trace exclude each other":     {"gpt2-124m", "--rate", "1", "--trace", "x"},
		"--concurrency must be":                     {"gpt2-124m", "--concurrency", "0"},
		"--idle must be positive":                   {"gpt2-124m", "--idle", "-1s"},
		`--server: "p5" must be m7g.large`:          {"gpt2-124m", "--server", "p5"},
		`--price: there is no price "gold"`:         {"gpt2-124m", "--price", "gold=1"},
		"must not be negative":                      {"gpt2-124m", "--price", "lambda-request=-1"},
		`"0" is not a size`:                         {"gpt2-124m", "--s3-rate", "0"},
		"is neither a model nor dollars":            {"gpt2-124m", "--against", "nobody"},
		"the record of novels has no prices":        {"gpt2-124m", "--against", "novels"},
		"more than 6 decimals":                      {"gpt2-124m", "--against", "0.0000001/1"},
		"exceed the context of 1024":                {"gpt2-124m", "--prompt", "1000", "--answer", "25"},
		"must have a token or more":                 {"gpt2-124m", "--prompt", "0"},
		"or amd64":                                  {"gpt2-124m", "--arch", "mips"},
		"only decoders are estimated":               {"../../pkg/starter/runs/phrases"},
		"it has no measurements":                    {"gpt2-124m", "--machine", empty},
		"there are some in q8_0":                    {"gpt2-124m", "--machine", machine, "--quant", "f32"},
		"line 2: it comes at 4s, before the line":   {"gpt2-124m", "--machine", machine, "--trace", backwards},
		"no such file":                              {"gpt2-124m", "--machine", machine, "--trace", "/nobody"},
		"times of a start must not be negative":     {"gpt2-124m", "--init", "-1s"},
	} {
		_, err := runEstimate(t, args...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
		if flags := slices.Contains([]string{"no such file", "it has no measurements"}, want); strings.HasPrefix(want, "--") && !errors.Is(err, errUsage) || flags && errors.Is(err, errUsage) {
			t.Errorf("%v: %v has the wrong status", args, err)
		}
	}
}

// Every field of the JSON is there for a script, whatever is estimated.
func TestEstimateFields(t *testing.T) {
	text, err := runEstimate(t, "gpt2-124m", "--machine", machineFile(t, ""), "--rate", "1", "--against", "1/1", "--json")
	var fields map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal([]byte(text), &fields)
	}
	want := []string{"arch", "context", "format", "lambda", "measured", "measured_batch", "measured_threads", "model", "other_million_tokens_usd", "prices", "request", "scaled", "servers", "traffic"}
	if got := slices.Sorted(maps.Keys(fields)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// The price to compare with is that of a record.
func TestEstimateAgainstRecord(t *testing.T) {
	records := t.TempDir()
	record := `{"pk": "models", "sk": "bedrock-amazon.nova-micro-v1:0", "prices": {"input": 1, "output": 10, "request": 0.001}}`
	if err := os.WriteFile(filepath.Join(records, "nova.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GLOSSA_RECORDS", records)
	a := estimateJSON(t, "gpt2-124m", "--machine", machineFile(t, ""), "--memory", "1769", "--prompt", "100", "--answer", "11", "--against", "amazon.nova-micro-v1:0")
	if want := a.Lambda[0].RequestUSD / (100e-6 + 110e-6 + 1e-3); a.Lambda[0].OfOther < want*0.999 || a.Lambda[0].OfOther > want*1.001 {
		t.Errorf("%v times as much, want %v", a.Lambda[0].OfOther, want)
	}
}
