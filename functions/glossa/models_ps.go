package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"glossa/pkg/fit"
	"glossa/pkg/meter/activity"
)

// maxActivity bounds the answer of a server, in bytes.
const maxActivity = 16 << 20

// modelsPsCommand returns glossa models ps.
func (p *program) modelsPsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ps", Short: "List the models in the memory of a running server", Args: positional(0),
		Long: `List the models whose weights are in the memory of a running glossa serve, with
the requests that use them. A server that requires keys needs one of the role
monitor or admin.`,
		Example: "  glossa models ps\n  glossa models ps --url http://127.0.0.1:9000 --key-file key.txt",
	}
	address := c.Flags().String("url", "", "base `URL` of the server (default http://127.0.0.1 with the port of the settings)")
	keyFile := c.Flags().String("key-file", "", "`file` that holds a key of the server")
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		base, err := p.serverURL(*address)
		if err != nil {
			return err
		}
		s, err := readActivity(c.Context(), base, *keyFile)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(p.stdout, s)
		}
		return s.print(p.stdout)
	}
	return c
}

// A servedState is the part of GET /activity that ps shows.
type servedState struct {
	Since  int64 `json:"since"` // when the server's measurements began, Unix time in seconds
	Now    int64 `json:"now"`   // Unix time in seconds
	Memory struct {
		Bytes  int64            `json:"bytes"`           // of the weights of all models
		Limit  int64            `json:"limit,omitempty"` // bytes
		Models []activity.Model `json:"models"`          // the largest first
	} `json:"memory"`
	Generations struct {
		Running int `json:"running"`
		Waiting int `json:"waiting"`
		Workers int `json:"workers"`
	} `json:"generations"`
}

// readActivity requests the state of a server.
func readActivity(ctx context.Context, base, keyFile string) (*servedState, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/activity", nil)
	if err != nil {
		return nil, err
	}
	if keyFile != "" {
		key, err := os.ReadFile(keyFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, noServer(err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%s requires a key of the role monitor or admin: pass --key-file FILE", r.URL.Redacted())
	default:
		return nil, fmt.Errorf("%s answers %s", r.URL.Redacted(), answer.Status)
	}
	s := &servedState{}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxActivity)).Decode(s); err != nil {
		return nil, fmt.Errorf("%s is not a glossa server: %w", r.URL.Redacted(), err)
	}
	if s.Memory.Models == nil {
		s.Memory.Models = []activity.Model{}
	}
	return s, nil
}

// print prints the state for people.
func (s *servedState) print(w io.Writer) error {
	if len(s.Memory.Models) == 0 {
		fmt.Fprintln(w, "no model is in memory: the first request loads one")
	} else {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tMEMORY\tREQUESTS") // errors come with Flush
		for _, m := range s.Memory.Models {
			fmt.Fprintf(t, "%s\t%s\t%d\n", printable(m.Name), fit.Bytes(m.Bytes), m.InUse)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	limit := ""
	if s.Memory.Limit > 0 {
		limit = " of " + fit.Bytes(s.Memory.Limit)
	}
	up := time.Duration(max(0, s.Now-s.Since)) * time.Second
	_, err := fmt.Fprintf(w, "\nmemory %s%s; %d of %d workers busy, %d waiting; the server started %s ago\n",
		fit.Bytes(s.Memory.Bytes), limit, s.Generations.Running, s.Generations.Workers, s.Generations.Waiting, up)
	return err
}

// printable replaces the control characters of a text that another program wrote.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			return '?'
		}
		return r
	}, text)
}
