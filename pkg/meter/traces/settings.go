package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Settings are those of the exporter. The zero value exports nothing.
type Settings struct {
	URL     string // that takes spans; "": there are no traces
	Header  http.Header
	Timeout time.Duration // of an export
	Gzip    bool
}

// ReadSettings reads the variables of OpenTelemetry. Traces are off unless one of them names an
// endpoint.
//
// Source: OpenTelemetry, "OpenTelemetry Protocol Exporter".
func ReadSettings(getenv func(string) string) (s Settings, err error) {
	// of returns the value of a variable, which may be of traces alone, and its name.
	of := func(name string) (value, variable string) {
		for _, variable = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(getenv(variable)); value != "" {
				break
			}
		}
		return value, variable
	}
	address, variable := of("ENDPOINT")
	if address == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return Settings{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, fmt.Errorf("%s: it is not a URL such as http://localhost:4318", variable)
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" { // of all signals
		u = u.JoinPath("v1/traces")
	}
	s = Settings{URL: u.String(), Header: http.Header{}, Timeout: 10 * time.Second}
	if v, name := of("PROTOCOL"); v != "" && v != "http/json" && v != "http/protobuf" {
		return s, fmt.Errorf("%s: spans are sent as http/json; %q is not known", name, v)
	}
	if v, name := of("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 {
			return s, fmt.Errorf("%s: %q is not a number of milliseconds", name, v)
		}
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	switch v, name := of("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		s.Gzip = true
	default:
		return s, fmt.Errorf("%s: %q is not gzip or none", name, v)
	}
	list, name := of("HEADERS")
	for field := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		key, value, ok := strings.Cut(field, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return s, fmt.Errorf("%s: it is not a list of KEY=VALUE", name) // the value may be a secret
		}
		s.Header.Set(key, value)
	}
	return s, nil
}

// tries is how often a body is sent to a server that is busy.
const tries = 4

// Sender returns what sends bodies to the URL of s.
func (s Settings) Sender(client *http.Client) func(ctx context.Context, body []byte) error {
	return func(ctx context.Context, body []byte) error {
		header := s.Header.Clone()
		header.Set("Content-Type", "application/json")
		if s.Gzip {
			body = compressed(body)
			header.Set("Content-Encoding", "gzip")
		}
		pause := time.Second
		for try := 1; ; try++ {
			wait, err := s.post(ctx, client, header, body)
			if wait == 0 || err == nil || try == tries {
				return err
			}
			select {
			case <-time.After(max(pause, wait)):
			case <-ctx.Done():
				return errors.Join(err, ctx.Err())
			}
			pause *= 2
		}
	}
}

// post sends a body once. wait is the least time before another try, 0: that would not help.
func (s Settings) post(ctx context.Context, client *http.Client, header http.Header, body []byte) (wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = header
	res, err := client.Do(r)
	if err != nil {
		return 1, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection is used again
	_ = res.Body.Close()
	switch {
	case res.StatusCode/100 == 2:
		return 0, nil
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= http.StatusBadGateway:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0: the server leaves it to us
		wait = max(1, time.Duration(seconds)*time.Second)
	}
	return wait, fmt.Errorf("%s answers %s", r.URL.Host, res.Status)
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}
