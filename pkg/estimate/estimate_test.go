package estimate

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/estimate/traffic"
	"glossa/pkg/llm"
	"glossa/pkg/price"
)

// measured are the speeds of a machine: a prompt takes 10 ms a token with one thread and 6 ms
// with two, a pass 100 ms and 80 ms, one of four rows 160 ms and 110 ms.
func measured() []Measurement {
	return []Measurement{
		{"m", "q8_0", 1, 1, Prefill, 100}, {"m", "q8_0", 2, 1, Prefill, 1 / 0.006},
		{"m", "q8_0", 1, 1, Decode, 10}, {"m", "q8_0", 2, 1, Decode, 12.5},
		{"m", "q8_0", 1, 4, Decode, 4 / 0.16}, {"m", "q8_0", 2, 4, Decode, 4 / 0.11},
	}
}

// model has 1 GB of weights, a kilobyte for each token and files that S3 delivers in ten seconds.
func model() *Model {
	return &Model{
		Name: "m", Format: "q8_0", Context: 1000, Weights: 1e9, Sizes: map[string]int64{"stored": 1e9, "q8_0": 1e9, "q4_0": 6e8},
		Work: Work{Bytes: 1e9, Operations: 1e9}, Files: 750e6, Row: func(tokens int) int64 { return int64(tokens) * 1000 },
	}
}

func estimator(t testing.TB) *Estimator {
	t.Helper()
	e := &Estimator{
		Model: model(), Request: Request{50, 11}, Start: DefaultStart(), Prices: price.AWS(), Arch: "arm64", Workers: 8, Waiting: 64,
		Other: &llm.Prices{Input: 1_000_000, Output: 10_000_000},
	}
	var err error
	if e.Speed, err = NewSpeed(measured(), e.Model, unknown); err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e
}

func unknown(string) (Work, bool) { return Work{}, false }

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// A function with one processor, by hand.
func TestFunction(t *testing.T) {
	e := estimator(t)
	f, err := e.Function(1769)
	if err != nil {
		t.Fatal(err)
	}
	// 50 tokens at 10 ms; 10 passes of 100 ms. 0.1 s + 0.08 s of package, 0.025 s + 10 s of weights.
	if !near(f.FirstToken, 0.5) || !near(f.Latency, 1.5) || !near(f.TokensPerSecond, 10) || !near(f.ColdStart, 10.205) || !near(f.ColdFirstToken, 10.705) {
		t.Errorf("%+v", f)
	}
	// 1769/1024 GB × 1.5 s × 13.3334 µ$ + 0.2 µ$; cold: 11.525 s.
	for got, want := range map[llm.USD]float64{f.Request: 1769. / 1024 * 1.5 * 13.3334e-6, f.ColdRequest: 1769. / 1024 * 11.525 * 13.3334e-6} {
		if dollars := float64(got) / 1e12; math.Abs(dollars-want-0.2e-6) > 1e-11 {
			t.Errorf("%v, want %v", dollars, want+0.2e-6)
		}
	}
	if want := float64(f.Request) * 1e6 / 61; math.Abs(float64(f.Million)-want) > 1 {
		t.Errorf("%v for a million tokens, want %v", f.Million, want)
	}
	// The other model: 50 × 1 µ$ + 11 × 10 µ$ = 160 µ$.
	if want := float64(f.Request) / 160e6; f.OfOther == nil || !near(*f.OfOther, want) || e.OtherMillion() != llm.USD(math.Round(160e6*1e6/61)) {
		t.Errorf("%v and %v, want %v", f.OfOther, e.OtherMillion(), want)
	}
	if f.TooLong || !f.Plan.Fits {
		t.Errorf("%+v", f.Plan)
	}
}

// Speeds between and beyond the measured threads and rows.
func TestSpeed(t *testing.T) {
	s := estimator(t).Speed
	for _, c := range []struct {
		processors float64
		rows       int
		want       float64
	}{
		{1, 1, 0.1}, {2, 1, 0.08}, {0.5, 1, 0.2}, {1, 4, 0.16}, {2, 4, 0.11}, {1, 8, 0.32},
		{1, 2, 0.12}, {1, 3, 0.14}, // between one and four rows
		{4. / 3, 1, 0.09}, // 60 ms + 40 ms / processors
		{4, 1, 0.07},      // the same, beyond
	} {
		if got := s.Pass(c.processors, c.rows); !near(got, c.want) {
			t.Errorf("%v processors, %d rows: %v, want %v", c.processors, c.rows, got, c.want)
		}
	}
	if first, last := s.Time(2, Request{50, 11}, 4); first != 1200*time.Millisecond || (last-2300*time.Millisecond).Abs() > time.Microsecond {
		t.Errorf("%v, %v", first, last)
	}
	one, err := NewSpeed(slices.DeleteFunc(measured(), func(m Measurement) bool { return m.Threads > 1 || m.Batch > 1 }), model(), unknown)
	if err != nil || one.Pass(6, 1) != 0.1 || !near(one.Pass(1, 3), 0.3) || one.Batch != 1 {
		t.Errorf("what was not measured gains something: %v, %v", one, err)
	}
	super, err := NewSpeed([]Measurement{{"m", "q8_0", 1, 1, Prefill, 1}, {"m", "q8_0", 1, 1, Decode, 1}, {"m", "q8_0", 2, 1, Decode, 4}}, model(), unknown)
	if err != nil || !near(super.Pass(4, 1), 0.125) { // not less than half
		t.Errorf("%v, %v", super.Pass(4, 1), err)
	}
	slower, err := NewSpeed([]Measurement{{"m", "q8_0", 1, 1, Prefill, 1}, {"m", "q8_0", 1, 1, Decode, 2}, {"m", "q8_0", 2, 1, Decode, 1}}, model(), unknown)
	if gain, threads := slower.Gain(); err != nil || slower.Pass(2, 1) != 0.5 || gain != 1 || threads != 2 {
		t.Errorf("%v, %v", slower, err)
	}
	if gain, threads := s.Gain(); gain != 1.25 || threads != 2 {
		t.Errorf("%v, %v", gain, threads)
	}
}

// A model that was not measured has the speed of the most similar shape, scaled: passes by the
// bytes, prompts by the arithmetic.
func TestScaled(t *testing.T) {
	works := map[string]Work{"small": {1e8, 1e8}, "large": {2e9, 4e9}}
	list := []Measurement{
		{"small", "q8_0", 1, 1, Prefill, 5000}, {"small", "q8_0", 1, 1, Decode, 500}, {"large", "q8_0", 1, 1, Prefill, 100}, {"large", "q8_0", 1, 1, Decode, 10},
		{"m", "f32", 1, 1, Prefill, 7}, {"m", "f32", 1, 1, Decode, 7}, {"strange", "q8_0", 1, 1, Decode, 7},
	}
	shape := func(name string) (Work, bool) { w, ok := works[name]; return w, ok }
	s, err := NewSpeed(list, model(), shape)
	if err != nil || s.Shape != "large" || !s.Scaled {
		t.Fatalf("%+v, %v", s, err)
	}
	if first, _ := s.Time(1, Request{100, 1}, 1); !near(s.Pass(1, 1), 0.05) || first != 250*time.Millisecond {
		t.Errorf("%v, %v", s.Pass(1, 1), first)
	}
	for want, list := range map[string][]Measurement{
		"no measurements of m, or of a shape, in q8_0; there are some in f32": {{"m", "f32", 1, 1, Prefill, 7}},
		"m was not measured in both phases":                                   {{"m", "q8_0", 1, 1, Prefill, 7}},
		"in q8_0":                                                             nil,
		"tokens a second":                                                     {{"m", "q8_0", 1, 1, Prefill, math.NaN()}},
	} {
		if _, err := NewSpeed(list, model(), unknown); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestParseMachine(t *testing.T) {
	list, err := ParseMachine(strings.NewReader(`{"cpu":"x","threads":-1}{"shape":"m","quant":"q8_0","threads":2,"batch":1,"phase":"decode","tokens_per_second":12.5,"limit_fraction":null}
		{"shape":"m","quant":"q8_0","threads":1,"batch":4,"phase":"prefill","tokens_per_second":3}`))
	if want := []Measurement{{"m", "q8_0", 2, 1, Decode, 12.5}, {"m", "q8_0", 1, 4, Prefill, 3}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	line := `{"shape":"m","quant":"q8_0","threads":1,"batch":1,"phase":"decode","tokens_per_second":1}`
	for want, text := range map[string]string{
		"no measurements":           "",
		"measurement 2: it has no":  line + `{}`,
		"measurement 1":             "x",
		"0 threads and a batch":     strings.Replace(line, `"threads":1`, `"threads":0`, 1),
		"a batch of -1":             strings.Replace(line, `"batch":1`, `"batch":-1`, 1),
		`the phase "think" must be`: strings.Replace(line, "decode", "think", 1),
		"-1 tokens a second":        strings.Replace(line, `second":1`, `second":-1`, 1),
		"0 tokens a second":         strings.Replace(line, `second":1`, `second":0`, 1),
	} {
		if _, err := ParseMachine(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// More memory is never slower, whatever was measured, and one GB-second never does more than
// the cheapest size.
func TestMoreMemoryIsNeverSlower(t *testing.T) {
	for seed := range 200 {
		e := estimator(t)
		list := measured()
		for i := range list { // any order of speeds
			list[i].TokensPerSecond *= 1 + float64((seed*7919+i*104729)%100)/25
			list[i].Threads = 1 + (seed+i)%5
		}
		var err error
		if e.Speed, err = NewSpeed(list, e.Model, unknown); err != nil {
			t.Fatal(err)
		}
		before := &Function{FirstToken: math.Inf(1), Latency: math.Inf(1), ColdFirstToken: math.Inf(1)}
		for mb := 128; mb <= 10240; mb += 37 {
			f, err := e.Function(mb)
			const rounding = 1e-8
			if err != nil || f.FirstToken > before.FirstToken+rounding || f.Latency > before.Latency+rounding || f.ColdFirstToken > before.ColdFirstToken+rounding || f.TokensPerSecond < before.TokensPerSecond-rounding {
				t.Fatalf("seed %d, %d MB: %+v after %+v, %v", seed, mb, f, before, err)
			}
			if before.Plan.Fits && !f.Plan.Fits {
				t.Fatalf("%d MB: it fits no longer", mb)
			}
			before = f
		}
	}
}

// The memory is that of package memory: three quarters for weights, and an eighth of half of the
// rest for each of eight requests, at least 64 MiB.
func TestPlan(t *testing.T) {
	m, r := model(), Request{500, 500}
	p := m.Plan(2e9, 8, r)
	if !p.Fits || p.WeightLimit != 15e8 || p.RequestLimit != 64<<20 || p.Request != 1e6 || p.Reason != "" {
		t.Errorf("%+v", p)
	}
	if p = m.Plan(1e9, 8, r); p.Fits || p.Reason != "weights need 1.0 GB and may take 750.0 MB; they fit as q4_0" {
		t.Errorf("%+v", p)
	}
	if p = m.Plan(5e8, 8, r); p.Fits || p.Reason != "weights need 1.0 GB and may take 375.0 MB" {
		t.Errorf("%+v", p)
	}
	m.Row = func(tokens int) int64 { return int64(tokens) * 100_000 }
	if p = m.Plan(2e9, 8, r); !p.Fits || !strings.Contains(p.Reason, "the request needs 100.0 MB and may take 67.1 MB: its answer is shortened") {
		t.Errorf("%+v", p)
	}
	if p = m.Plan(2e9, 8, Request{900, 100}); p.Fits || !strings.Contains(p.Reason, "the prompt needs 90.1 MB") {
		t.Errorf("%+v", p)
	}
}

// Servers, by hand: four rows share two processors.
func TestServers(t *testing.T) {
	e := estimator(t)
	list, err := e.Servers("", 100_000_000)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	ec2, managed, fargate := list[0], list[1], list[2]
	if ec2.Name != "EC2 m7g.large" || ec2.Hour.String() != "0.0816" || managed.Hour.String() != "0.28152" || managed.Instances != 3 || fargate.Hour.String() != "0.09324" {
		t.Errorf("%+v, %+v, %+v", ec2, managed, fargate)
	}
	// Four requests take 50 × 6 ms × 4 + 10 × 110 ms = 2.3 s.
	if !near(ec2.Capacity, 4/2.3*60) || !near(managed.Capacity, 3*4/2.3*60) || ec2.Rows != 4 || !near(ec2.FirstToken, 0.3) {
		t.Errorf("%+v, %+v", ec2, managed)
	}
	// $ 0.00136 a minute against 160 µ$ and 100 µ$ a request; Managed Instances take 0.2 µ$ for each.
	if ec2.BreakEven == nil || !near(*ec2.BreakEven, 8.5) || ec2.BreakEvenLambda == nil || !near(*ec2.BreakEvenLambda, 13.6) ||
		managed.BreakEven == nil || !near(*managed.BreakEven, 0.28152/60/159.8e-6) {
		t.Errorf("%v %v", ec2, managed)
	}
	if want := 0.0816 / 60 / (4 / 2.3 * 60) * 1e6 / 61; !near(math.Round(float64(ec2.Million)/1e6), math.Round(want*1e6)) {
		t.Errorf("%v, want %v", ec2.Million, want)
	}
	if list, err = e.Servers("m7g.2xlarge", 0); err != nil || list[0].Hour.String() != "0.3264" || list[0].BreakEvenLambda != nil || list[0].Processors != 8 {
		t.Errorf("%+v, %v", list[0], err)
	}
	e.Other = &llm.Prices{Input: 1} // 50 p$ for a request: never
	if list, err = e.Servers("", 0); err != nil || list[0].BreakEven != nil || list[1].BreakEven != nil {
		t.Errorf("%+v, %v", list[0], err)
	}
	if _, err := e.Servers("p5.48xlarge", 0); err == nil || !strings.Contains(err.Error(), "m7g.large") {
		t.Error(err)
	}
	e.Model.Weights = 20e9
	if list, err = e.Servers("", 0); err != nil || list[0].Name != "EC2 m7g.2xlarge" {
		t.Errorf("%+v, %v", list[0], err)
	}
}

// Three requests, by hand: two at once start two instances, the third finds one.
func TestFunctionDay(t *testing.T) {
	e := estimator(t)
	f, err := e.Function(1769)
	if err != nil {
		t.Fatal(err)
	}
	requests := []traffic.Request{{At: 0, Prompt: 50, Answer: 11}, {At: time.Second, Prompt: 50, Answer: 11}, {At: time.Minute, Prompt: 50, Answer: 11}}
	d, err := e.FunctionDay(f, slices.Values(requests), 2, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if d.Requests != 3 || d.Cold != 2 || d.Instances != 2 || d.Throttled != 0 || d.Bill != 2*f.ColdRequest+f.Request || d.Other != 3*160_000_000 {
		t.Errorf("%+v", d)
	}
	if !near(d.Billed, 2*11.525+1.5) || !near(d.Latency.P99, 11.705) || !near(d.First.P50, f.ColdFirstToken) {
		t.Errorf("%+v", d)
	}
	if d, err = e.FunctionDay(f, slices.Values(requests), 1, 10*time.Minute); err != nil || d.Throttled != 1 || d.Bill != f.ColdRequest+f.Request {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err = e.FunctionDay(f, slices.Values([]traffic.Request{requests[2], requests[0]}), 1, time.Minute); err == nil {
		t.Error("requests out of order are accepted")
	}
}

// The bill of a function is the sum of its requests, and a server's that of its hours.
func TestBills(t *testing.T) {
	e := estimator(t)
	arrivals, err := traffic.Poisson(30, 2*time.Hour, 4)
	if err != nil {
		t.Fatal(err)
	}
	requests := e.Request.Alike(arrivals)
	f, err := e.Function(3538)
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.FunctionDay(f, requests, 1000, time.Minute)
	if err != nil || d.Cold < 2 || d.Throttled > 0 || d.Bill != f.ColdRequest.Times(int64(d.Cold)).Plus(f.Request.Times(int64(d.Requests-d.Cold))) {
		t.Errorf("%+v, %v", d, err)
	}
	list, err := e.Servers("", f.Request)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		d, err := e.ServerDay(s, requests, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		hours := (d.Bill - s.Fee.Times(int64(d.Requests-d.Throttled))) - s.Hour.Times(2)
		if hours < 0 || hours > s.Hour/100 || d.Cold > 0 || d.Instances != s.Instances {
			t.Errorf("%s: %+v, %v over two hours", s.Name, d, hours)
		}
		if d.First.P50 < s.FirstToken-1e-9 {
			t.Errorf("%s: %v, alone %v", s.Name, d.First, s.FirstToken)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Estimator){
		"must have a token or more":  func(e *Estimator) { e.Request.Prompt = 0 },
		"or more":                    func(e *Estimator) { e.Request.Answer = -1 },
		"exceed the context of 1000": func(e *Estimator) { e.Request = Request{math.MaxInt, 1} },
		"900 tokens of prompt":       func(e *Estimator) { e.Request = Request{900, 101} },
		`not "mips"`:                 func(e *Estimator) { e.Arch = "mips" },
		"rates must be positive":     func(e *Estimator) { e.Start.StoreRate = math.NaN() },
		"size of the program":        func(e *Estimator) { e.Start.Package = -1 },
		"times of a start":           func(e *Estimator) { e.Start.Init = -1 },
	} {
		e := estimator(t)
		change(e)
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, mb := range []int{-1, 0, 127, 10241, math.MaxInt} {
		if _, err := estimator(t).Function(mb); err == nil {
			t.Errorf("%d MB are accepted", mb)
		}
	}
	if list := MemorySizes(); !slices.IsSorted(list) || list[0] != 1769 || list[len(list)-1] != 10240 {
		t.Errorf("%v", list)
	}
}
