package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	start := time.Unix(0, 0)
	marks := []struct {
		trainProgress
		after time.Duration
	}{
		{trainProgress{step: 1, steps: 100, loss: 5.12345, rate: 999.6, left: 90*time.Second + 400*time.Millisecond}, 0},
		{trainProgress{step: 40, steps: 100, loss: 3, rate: 1000, left: time.Minute}, plainInterval - 1},
		{trainProgress{step: 50, steps: 100, loss: 2.5, val: new(2.75), rate: 1000, left: time.Minute}, plainInterval},
		{trainProgress{step: 100, steps: 100, loss: 2, val: new(2.25), rate: 1000}, plainInterval + 1},
	}
	for _, test := range []struct {
		name    string
		columns int
		want    string
	}{
		{"plain", 0, "step 1/100  loss 5.1235  1000 tokens/s  1m30s left\n" +
			"step 50/100  loss 2.5000  val 2.7500  1000 tokens/s  1m0s left\n" +
			"step 100/100  loss 2.0000  val 2.2500  1000 tokens/s  0s left\n"},
		{"terminal", 40, "\r[........................] step 1/100  \x1b[K" +
			"\r[#########...............] step 40/100 \x1b[K" +
			"\r[############............] step 50/100 \x1b[K" +
			"\r[########################] step 100/100\x1b[K\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			b := newBar(&out)
			b.columns = test.columns
			for _, m := range marks {
				b.show(m.trainProgress, start.Add(m.after))
			}
			b.end()
			b.end()
			if out.String() != test.want {
				t.Errorf("got %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestGauge(t *testing.T) {
	for step := range 8 {
		if g := gauge(trainProgress{step: step, steps: 7}.share()); len(g) != barWidth || strings.Count(g, "#") != barWidth*step/7 {
			t.Errorf("step %d: %q", step, g)
		}
	}
}
