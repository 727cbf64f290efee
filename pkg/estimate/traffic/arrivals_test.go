package traffic

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// The number of arrivals is that of a Poisson process, in each of its parts; the gaps have the
// mean and the deviation of exponential ones.
func TestPoisson(t *testing.T) {
	const perMinute, hours = 30, 200
	arrivals, err := Poisson(perMinute, hours*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Collect(arrivals)
	if again := slices.Collect(arrivals); !slices.Equal(list, again) || !slices.IsSorted(list) {
		t.Error("the same seed gives other arrivals, or not in order")
	}
	other, _ := Poisson(perMinute, hours*time.Hour, 2)
	if slices.Equal(list, slices.Collect(other)) {
		t.Error("another seed gives the same arrivals")
	}
	n := float64(len(list))
	if want := float64(perMinute * 60 * hours); math.Abs(n-want) > 4*math.Sqrt(want) {
		t.Errorf("%v arrivals, want about %v", n, want)
	}
	counts := make([]float64, hours)
	for _, at := range list {
		counts[int(at.Hours())]++
	}
	variance := 0.0
	for _, c := range counts {
		variance += (c - n/hours) * (c - n/hours) / hours
	}
	if ratio := variance / (n / hours); ratio < 0.6 || ratio > 1.5 { // 1 for a Poisson process
		t.Errorf("the numbers of an hour have %.2f times the variance of their mean", ratio)
	}
}

func TestPoissonRefuses(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e9} {
		if _, err := Poisson(rate, 24*time.Hour, 1); err == nil {
			t.Errorf("%v requests a minute are accepted", rate)
		}
	}
	for _, over := range []time.Duration{0, -1, MaxTime + 1} {
		if _, err := Poisson(1, over, 1); err == nil {
			t.Errorf("a time of %v is accepted", over)
		}
	}
}

func TestParseTrace(t *testing.T) {
	list, err := ParseTrace(strings.NewReader("# a day\n\n0 10 5\n0.5,20,1\n0.5\t1\t1\n 7.25  90 10 \n"), 100)
	want := []Request{{0, 10, 5}, {500 * time.Millisecond, 20, 1}, {500 * time.Millisecond, 1, 1}, {7250 * time.Millisecond, 90, 10}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	for text, says := range map[string]string{
		"":                         "no requests",
		"# nothing\n":              "no requests",
		"1 2":                      "line 1: \"1 2\" must be a time in seconds",
		"1 2 3 4":                  "line 1",
		"0 1 1\n\n-1 1 1":          `line 3: the time "-1"`,
		"NaN 1 1":                  `line 1: the time "NaN"`,
		"Inf 1 1":                  `the time "Inf"`,
		"1e300 1 1":                `the time "1e300"`,
		"x 1 1":                    `the time "x"`,
		"5 1 1\n4.9 1 1":           "line 2: it comes at 4.9s, before the line before it, at 5s",
		"0 0 1":                    `line 1: the number of tokens "0" must be an integer from 1 to 100`,
		"0 1 -1":                   `tokens "-1"`,
		"0 1.5 1":                  `tokens "1.5"`,
		"0 101 1":                  `tokens "101"`,
		"0 60 41":                  "60 and 41 tokens exceed the context of 100",
		strings.Repeat("1", 1<<17): "line 1",
	} {
		if _, err := ParseTrace(strings.NewReader(text), 100); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %s", text, err, says)
		}
	}
}

// The quantiles are those of the nearest rank.
func TestSpread(t *testing.T) {
	var values []time.Duration
	for i := 200; i > 0; i-- {
		values = append(values, time.Duration(i))
	}
	if got, want := spread(values), (Spread{P50: 100, P99: 198, Max: 200, Mean: 100}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := spread([]time.Duration{7}); got != (Spread{7, 7, 7, 7}) {
		t.Errorf("%v", got)
	}
	if got := spread(nil); got != (Spread{}) {
		t.Errorf("%v", got)
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("0 1 1\n2.5,3,4\n")
	f.Add("# x\nNaN 1 1")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseTrace(strings.NewReader(text), 1000)
		if err != nil {
			return
		}
		jobs := make([]Job, len(list))
		for i, r := range list {
			if r.Prompt < 1 || r.Answer < 1 || r.Prompt+r.Answer > 1000 {
				t.Fatalf("%+v", r)
			}
			jobs[i].At = r.At
		}
		if sum, err := Summarize(Fleet{Most: 1}, slices.Values(jobs), nil); err != nil || sum.Requests != len(list) {
			t.Fatalf("%+v, %v", sum, err)
		}
	})
}
