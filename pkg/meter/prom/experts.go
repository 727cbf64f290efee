package prom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"glossa/pkg/llm"
)

// experts reads how models found their experts when Prometheus scrapes. The counts of a model
// begin again when it is opened again.
type experts struct {
	read              func() map[string]llm.ExpertUse
	uses, size, limit *prometheus.Desc
}

func newExperts(read func() map[string]llm.ExpertUse) *experts {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"model"}, labels...), nil)
	}
	return &experts{
		read:  read,
		uses:  desc("glossa_expert_uses_total", "Chosen experts of models whose experts stay in their file, by where they were: memory (hits) or file (misses).", "in"),
		size:  desc("glossa_expert_bytes", "Bytes of the experts of these models that are in memory."),
		limit: desc("glossa_expert_bytes_limit", "The most of these bytes."),
	}
}

// Describe implements [prometheus.Collector].
func (e *experts) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{e.uses, e.size, e.limit} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (e *experts) Collect(ch chan<- prometheus.Metric) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, value int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, float64(value), labels...)
	}
	for model, use := range e.read() {
		model = strings.ToValidUTF8(model, "\ufffd") // the name of a file; otherwise no metric could be read
		metric(e.uses, prometheus.CounterValue, use.Hits, model, "memory")
		metric(e.uses, prometheus.CounterValue, use.Misses, model, "file")
		metric(e.size, prometheus.GaugeValue, use.Bytes, model)
		metric(e.limit, prometheus.GaugeValue, use.Limit, model)
	}
}
