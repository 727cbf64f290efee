package prom

import (
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// scrape returns the lines that Prometheus scrapes.
func scrape(t *testing.T, m *Meter) string {
	t.Helper()
	mux := httpx.Mux{Routes: m.Routes()}
	w := httptest.NewRecorder()
	mux.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s", w.Code, w.Header())
	}
	return w.Body.String()
}

func TestMeter(t *testing.T) {
	m := New(Config{
		Queue: func() (int, int) { return 3, 5 },
		Known: func(name string) bool { return name == "novels" },
		Experts: func() map[string]llm.ExpertUse {
			return map[string]llm.ExpertUse{"mixture": {Hits: 90, Misses: 10, Bytes: 300, Limit: 400}, "odd\xff": {}}
		},
	})
	m.Observe(&httpx.Record{
		Method: "POST", Route: "/v1/chat/completions", Model: "novels", Family: "local", Dialect: "openai", Status: 200,
		FirstByte: 3 * time.Millisecond, FirstText: 2 * time.Millisecond, Duration: 40 * time.Millisecond, Usage: llm.Usage{Input: 7, Output: 11},
	})
	m.Observe(&httpx.Record{
		Method: "POST", Route: "/v1/chat/completions", Model: "hostile", Family: "of the hostile", Dialect: "openai", Status: 404,
		Err: llm.Errorf(llm.NotFound, "hostile"),
	})
	m.Observe(&httpx.Record{Method: "BREW", Route: "/", Status: 404})
	got := scrape(t, m)
	of := `dialect="openai",family="local",`
	for _, want := range []string{
		`glossa_requests_total{` + of + `method="POST",model="novels",route="/v1/chat/completions",status="200"} 1`,
		`glossa_requests_total{dialect="openai",family="",method="POST",model="",route="/v1/chat/completions",status="404"} 1`,
		`glossa_requests_total{dialect="",family="",method="other",model="",route="service",status="404"} 1`,
		`glossa_errors_total{code="not_found",dialect="openai",family="",model=""} 1`,
		`glossa_tokens_total{dialect="openai",direction="input",family="local",model="novels"} 7`,
		`glossa_tokens_total{dialect="openai",direction="output",family="local",model="novels"} 11`,
		`glossa_request_duration_seconds_bucket{` + of + `model="novels",route="/v1/chat/completions",le="0.032"} 0`,
		`glossa_request_duration_seconds_bucket{` + of + `model="novels",route="/v1/chat/completions",le="0.064"} 1`,
		`glossa_time_to_first_byte_seconds_count{` + of + `model="novels",route="/v1/chat/completions"} 1`,
		`glossa_time_to_first_token_seconds_sum{` + of + `model="novels",route="/v1/chat/completions"} 0.002`,
		`glossa_generations{state="running"} 3`,
		`glossa_generations{state="waiting"} 5`,
		`glossa_expert_uses_total{in="memory",model="mixture"} 90`,
		`glossa_expert_uses_total{in="file",model="mixture"} 10`,
		`glossa_expert_bytes{model="mixture"} 300`,
		`glossa_expert_bytes_limit{model="mixture"} 400`,
		`glossa_build_info{goversion="` + runtime.Version() + `",revision="",version="devel"} 1`,
		"go_goroutines ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, never := range []string{"hostile", "BREW", `glossa_request_duration_seconds_count{dialect="",`, `glossa_time_to_first_token_seconds_count{dialect="openai",family="",`} {
		if strings.Contains(got, never) {
			t.Errorf("%q became a label", never)
		}
	}
}

func TestMetersAreApart(t *testing.T) {
	a, b := New(Config{}), New(Config{})
	a.Observe(&httpx.Record{Method: "GET", Route: "/health", Status: 200})
	if !strings.Contains(scrape(t, a), `route="service"`) || strings.Contains(scrape(t, b), `route="service"`) {
		t.Error("two meters share their figures")
	}
}
