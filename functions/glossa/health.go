package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthCommand returns glossa health, for the health checks of containers.
func (p *program) healthCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "health", Short: "Check that a server answers", Args: positional(0),
		Long:    "Check that a server answers. The exit status is 0 if it is healthy and 1\notherwise, as the health checks of containers expect.",
		Example: "  glossa health\n  glossa health --url http://127.0.0.1:9000 --timeout 5s",
	}
	url := c.Flags().String("url", "", "base `URL` of the server (default http://127.0.0.1 with the port of the settings)")
	timeout := c.Flags().Duration("timeout", 2*time.Second, "longest `time` to wait for the answer, such as 30s")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *timeout <= 0 {
			return usagef("--timeout: %v must be positive", *timeout)
		}
		if *url == "" {
			if err := p.settings.load(); err != nil {
				return err
			}
			*url = "http://127.0.0.1:" + cmp.Or(p.settings.get("GLOSSA_PORT"), "8080")
		}
		ctx, cancel := context.WithTimeout(c.Context(), *timeout)
		defer cancel()
		return p.health(ctx, *url)
	}
	return c
}

// health requests the health of a server.
func (p *program) health(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/health", nil)
	if err != nil {
		return usagef("--url: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", r.URL.Redacted(), answer.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ok")
	return err
}
