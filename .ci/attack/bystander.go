package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The bystander's pace.
const (
	pause    = 10 * time.Millisecond // between an answer and the next request
	patience = 15 * time.Second      // for one answer
)

// oneToken is the bystander's request.
var oneToken = post("/v1/completions", `{"model": "novels", "prompt": "The old lighthouse", "max_tokens": 1, "stream": true}`)

// A bystander requests one token after the other, each on a new connection.
type bystander struct {
	*sender
	waits []wait
}

// A wait is the time of one answer.
type wait struct {
	first, end time.Duration // to the first byte of the token, to the end of the answer
	outcome    string
}

// once requests one token.
func (b *bystander) once() wait {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a := b.ask(ctx, oneToken)
	w := wait{a.first, a.end, a.outcome()}
	if a.outcome() == "200" && !strings.Contains(a.body, "[DONE]") {
		w.outcome = "broken"
	}
	b.waits = append(b.waits, w)
	return w
}

// during requests tokens until ctx is done. It completes the last request, because a wait
// is known only when it is over.
func (b *bystander) during(ctx context.Context) {
	for ctx.Err() == nil {
		b.once()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// A calm server is a server that is not attacked, with its bystander.
type calm struct {
	dir    string
	server *server
	*bystander
}

// calmIP is the address of its bystander.
const calmIP = "127.0.0.5"

// newCalm starts the server.
func newCalm(ctx context.Context, glossa string) (*calm, error) {
	glossa, err := filepath.Abs(glossa)
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory()
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, glossa, dir, nil, nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &calm{dir, s, &bystander{sender: newSender(s.url, "", calmIP, true)}}, nil
}

// close ends the server.
func (c *calm) close() {
	c.server.stop()
	_ = os.RemoveAll(c.dir) // one of the system's temporary directories
}

// waits summarises a bystander's waits.
type waits struct {
	n                  int
	median, p90, first time.Duration // to the first byte; first is the maximum
	end                time.Duration // to the end, the maximum
	bad                string        // counts of outcomes other than 200; "": none
}

// summary summarises the waits since the last call and resets them.
func (b *bystander) summary() waits {
	list := b.waits
	b.waits = nil
	var w waits
	var firsts []time.Duration
	bad := map[string]int{}
	for _, each := range list {
		firsts = append(firsts, each.first)
		w.end = max(w.end, each.end)
		if each.outcome != "200" {
			bad[each.outcome]++
		}
	}
	slices.Sort(firsts)
	w.n, w.median, w.p90, w.first, w.bad = len(firsts), quantile(firsts, 0.5), quantile(firsts, 0.9), quantile(firsts, 1), formatCounts(bad)
	return w
}

// quantile returns the least of the sorted values that at least the share q of them do
// not exceed; 0, if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i, 1), len(sorted))-1]
}

// formatCounts formats counts of outcomes: "3x200 1x429".
func formatCounts(counts map[string]int) string {
	var parts []string
	for outcome, n := range counts {
		parts = append(parts, fmt.Sprintf("%dx%s", n, outcome))
	}
	slices.SortFunc(parts, func(a, b string) int {
		_, x, _ := strings.Cut(a, "x")
		_, y, _ := strings.Cut(b, "x")
		return strings.Compare(x, y)
	})
	return strings.Join(parts, " ")
}
