// Package prom exports the measurements of requests to Prometheus, through its
// official client. It is linked into servers, which are scraped, and never into
// functions, which are not. It knows the record of a request, nothing of models.
package prom

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/version"
)

// Config configures a [Meter].
type Config struct {
	Queue   func() (running, waiting int)   // generations now; nil: not measured
	Known   func(model string) bool         // reports whether a model may become a label; nil: none may
	Experts func() map[string]llm.ExpertUse // by model, of those in memory whose experts stay in their files; nil: not measured
}

// A Meter has its own registry.
type Meter struct {
	known    func(string) bool
	handler  http.Handler
	requests *prometheus.CounterVec
	errors   *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	duration *prometheus.HistogramVec
	byte     *prometheus.HistogramVec
	token    *prometheus.HistogramVec
}

// New returns a new meter.
func New(cfg Config) *Meter {
	of := []string{"model", "family", "dialect"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels, of...))
	}
	buckets := prometheus.ExponentialBuckets(0.001, 2, 18) // 1 ms to 131 s
	times := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, append([]string{"route"}, of...))
	}
	m := &Meter{
		known:    cfg.Known,
		requests: counter("glossa_requests_total", "Requests answered.", "method", "route", "status"),
		errors:   counter("glossa_errors_total", "Requests that failed, by the code of their error.", "code"),
		tokens:   counter("glossa_tokens_total", "Tokens of prompts (input) and generated tokens (output).", "direction"),
		cost:     counter("glossa_cost_usd_total", "The cost of requests in US dollars, as far as prices are known."),
		duration: times("glossa_request_duration_seconds", "Time until the answer was whole."),
		byte:     times("glossa_time_to_first_byte_seconds", "Time until the answer began."),
		token:    times("glossa_time_to_first_token_seconds", "Time until the model gave the first piece of its answer."),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(build(), m.requests, m.errors, m.tokens, m.cost, m.duration, m.byte, m.token,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if cfg.Queue != nil {
		registry.MustRegister(&generations{cfg.Queue, prometheus.NewDesc(
			"glossa_generations", "Generations that run, or wait for a worker or for memory.", []string{"state"}, nil)})
	}
	if cfg.Experts != nil {
		registry.MustRegister(newExperts(cfg.Experts))
	}
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// build returns the metric of the running program. Its value is always 1.
func build() prometheus.Collector {
	info := version.Read()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "glossa_build_info", Help: "The build that runs; the value is 1.",
		ConstLabels: prometheus.Labels{"version": info.Version, "revision": info.Revision, "goversion": info.Go},
	})
	g.Set(1)
	return g
}

// service is the route of requests for pages, descriptions and measurements, which belong to no
// dialect and no model: they are counted, and not timed, since a time has some twenty series.
const service = "service"

// Observe counts one request; it is the Observe hook of an [httpx.Mux].
func (m *Meter) Observe(rec *httpx.Record) {
	model, family, dialect := "", "", rec.Dialect
	if rec.Model != "" && m.known != nil && m.known(rec.Model) {
		model, family = rec.Model, rec.Family
	}
	route := rec.Route
	if dialect == "" && model == "" {
		route = service
	}
	m.requests.WithLabelValues(method(rec.Method), route, strconv.Itoa(rec.Status), model, family, dialect).Inc()
	if rec.Err != nil {
		m.errors.WithLabelValues(string(rec.Err.Code), model, family, dialect).Inc()
	}
	if route == service {
		return
	}
	m.duration.WithLabelValues(rec.Route, model, family, dialect).Observe(rec.Duration.Seconds())
	if rec.FirstByte > 0 {
		m.byte.WithLabelValues(rec.Route, model, family, dialect).Observe(rec.FirstByte.Seconds())
	}
	if rec.FirstText > 0 {
		m.token.WithLabelValues(rec.Route, model, family, dialect).Observe(rec.FirstText.Seconds())
	}
	if model != "" {
		m.tokens.WithLabelValues("input", model, family, dialect).Add(float64(rec.Usage.Input))
		m.tokens.WithLabelValues("output", model, family, dialect).Add(float64(rec.Usage.Output))
		if cost := rec.Usage.Cost; cost.Known {
			m.cost.WithLabelValues(model, family, dialect).Add(float64(cost.USD) / float64(llm.Dollar))
		}
	}
}

// method bounds the label: a client can send any method.
func method(m string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, m) {
		return m
	}
	return "other"
}

// Routes returns GET /metrics.
func (m *Meter) Routes() []httpx.Route {
	return []httpx.Route{{
		Method: http.MethodGet, Pattern: "/metrics", Permission: httpx.Metrics,
		Doc: &httpx.Operation{
			ID: "metrics", Tag: "Service", Summary: "Get measurements in the text format of Prometheus", Description: "Servers have this route, functions do not.",
			Answers: []httpx.Answer{{Media: "text/plain", Description: "the measurements"}},
		},
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			m.handler.ServeHTTP(w, r)
			return nil
		},
	}}
}

// generations reads the queue when Prometheus scrapes, so that both values are of the
// same moment.
type generations struct {
	stats func() (running, waiting int)
	desc  *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (g *generations) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements [prometheus.Collector].
func (g *generations) Collect(ch chan<- prometheus.Metric) {
	running, waiting := g.stats()
	ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(running), "running")
	ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(waiting), "waiting")
}
