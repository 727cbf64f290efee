package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const healthUsage = "[--url URL]"

// healthTimeout is the longest time that a healthy server takes to answer.
const healthTimeout = 2 * time.Second

// health checks that a server answers, for container health checks.
func health(ctx context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	f := flags("health", healthUsage, stdout)
	url := f.String("url", "http://127.0.0.1:8080", "base `URL` of the server")
	if err := parse(f, args, false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(*url, "/")+"/health", nil)
	if err != nil {
		return fmt.Errorf("%w: --url: %w", errUsage, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", r.URL.Redacted(), answer.Status)
	}
	_, err = fmt.Fprintln(stdout, "ok")
	return err
}
