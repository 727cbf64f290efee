package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
	address := c.Flags().String("url", "", "base `URL` of the server (default http://127.0.0.1 with the port of the settings)")
	timeout := c.Flags().Duration("timeout", 2*time.Second, "longest `time` to wait for the answer, such as 30s")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *timeout <= 0 {
			return usagef("--timeout: %v must be positive", *timeout)
		}
		base, err := p.serverURL(*address)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.Context(), *timeout)
		defer cancel()
		return p.health(ctx, base)
	}
	return c
}

// health requests the health of a server.
func (p *program) health(ctx context.Context, base string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return noServer(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", r.URL.Redacted(), answer.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ok")
	return err
}

// serverURL returns the base URL of a server without a slash at its end: the one of --url, else that of
// this machine with the port of the settings.
func (p *program) serverURL(flag string) (string, error) {
	if flag == "" {
		if err := p.settings.load(); err != nil {
			return "", err
		}
		port := cmp.Or(p.settings.get("GLOSSA_PORT"), "8080")
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", fmt.Errorf("GLOSSA_PORT: %q must be between 0 and 65535", port)
		}
		return "http://127.0.0.1:" + port, nil
	}
	u, err := url.Parse(flag)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", usagef("--url: it must be a URL such as http://127.0.0.1:8080")
	}
	return strings.TrimSuffix(flag, "/"), nil
}

// noServer says what to do about a server that does not answer.
func noServer(err error) error {
	return fmt.Errorf("no server answers: start glossa serve, or name another with --url: %w", err)
}
