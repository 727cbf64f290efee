package prom

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// TestGrafana: each expression of the dashboard reads metrics and labels that there are.
func TestGrafana(t *testing.T) {
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	m := New(Config{Queue: func() (int, int) { return 1, 1 }, Known: func(string) bool { return true }})
	rec := &httpx.Record{
		Method: "POST", Route: "/v1/chat/completions", Model: "novels", Family: "local", Dialect: "openai", Status: 500,
		FirstByte: time.Second, FirstText: time.Second, Duration: time.Second, Err: llm.Errorf(llm.Internal, "e"),
	}
	rec.Usage.Cost.Known = true
	m.Observe(rec)
	labels := map[string][]string{} // by metric
	for _, line := range regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? `).FindAllStringSubmatch(scrape(t, m), -1) {
		labels[line[1]] = []string{"instance"} // which Prometheus adds
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(line[2], -1) {
			labels[line[1]] = append(labels[line[1]], l[1])
		}
	}
	metric := regexp.MustCompile(`\b(?:glossa|process)_\w+`)
	label := regexp.MustCompile(`(?:by|on) \(([\w, ]+)\)|(\w+)=~?"`)
	used := map[string]bool{}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			names := metric.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: %s reads no metric", panel.Title, target.Expr)
			}
			for _, name := range names {
				used[name] = true
				known, ok := labels[name]
				if !ok {
					t.Errorf("%s: there is no metric %s", panel.Title, name)
				}
				for _, found := range label.FindAllStringSubmatch(target.Expr, -1) {
					for _, l := range strings.Split(found[1]+found[2], ", ") {
						if !slices.Contains(known, l) {
							t.Errorf("%s: %s has no label %s", panel.Title, name, l)
						}
					}
				}
			}
		}
	}
	for name := range labels {
		own, ok := strings.CutPrefix(name, "glossa_")
		if ok && !used[name] && !strings.HasSuffix(own, "_sum") && !strings.HasSuffix(own, "_count") && !strings.HasPrefix(own, "time_to_first_byte") {
			t.Errorf("no panel shows %s", name)
		}
	}
}
