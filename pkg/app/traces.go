package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/meter/traces"
)

// openTraces returns the traces of the configuration, nil without an endpoint.
func (a *App) openTraces() (*traces.Traces, error) {
	s := a.cfg.Traces
	if s.URL == "" {
		return nil, nil
	}
	send := s.Sender(&http.Client{})
	if isXRay(s.URL) {
		client, err := a.cloud.client(awsrest.XRay(), "", "", "")
		if err != nil {
			return nil, err
		}
		send = client.PutSpans
	}
	return traces.New(traces.Config{Exporter: traces.NewExporter(send, s.Timeout), Failed: a.traceFailed, Amazon: isXRay(s.URL)}), nil
}

// isXRay reports whether a URL is that of AWS X-Ray, which wants signed requests.
func isXRay(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(u.Host, "xray.") && strings.Contains(u.Host, ".amazonaws.com")
}

// traceFailed logs spans that are lost.
func (a *App) traceFailed(err error) {
	if a.cfg.Log != nil {
		a.cfg.Log.LogAttrs(context.Background(), slog.LevelWarn, "traces", slog.String("problem", err.Error()))
	}
}
