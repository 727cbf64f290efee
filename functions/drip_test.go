package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/backend/backendtest"
)

// An endlessProvider is a provider that streams without end. An answer to "together N" begins when N
// requests have arrived.
type endlessProvider struct {
	url          string
	disconnected chan struct{} // receives a value for each answer whose client disconnected

	mu       sync.Mutex
	asked    int
	together chan struct{}
}

func (d *endlessProvider) answer(_ int, r *backendtest.Request, w *backendtest.Reply) {
	prompt, _ := json.Marshal(r.Body)
	switch {
	case bytes.Contains(prompt, []byte("together")):
		var n int
		_, _ = fmt.Sscanf(string(prompt[bytes.Index(prompt, []byte("together")):]), "together %d", &n)
		d.mu.Lock()
		if d.asked++; d.asked == n {
			close(d.together)
		}
		d.mu.Unlock()
		select {
		case <-d.together:
		case <-r.Gone:
			return
		}
		name, _, _ := strings.Cut(string(prompt[bytes.Index(prompt, []byte("name="))+5:]), ".")
		for i := range 20 {
			w.Event(fmt.Sprintf(`{"completion":" %s-%d","stop_reason":null,"stop":null}`, name, i))
		}
		w.Event(`{"completion":"","stop_reason":"stop_sequence","stop":"\n\nHuman:"}`)
		return
	case bytes.Contains(prompt, []byte("silence")):
		<-r.Gone
	default:
		for begun := time.Now(); time.Since(begun) < time.Minute; {
			w.Event(`{"completion":" drop","stop_reason":null,"stop":null}`)
			select {
			case <-r.Gone:
				d.disconnected <- struct{}{}
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// waitDisconnected waits until the client of an answer has disconnected.
func (d *endlessProvider) waitDisconnected(t *testing.T) {
	t.Helper()
	select {
	case <-d.disconnected:
	case <-time.After(20 * time.Second):
		t.Error("the provider streams on without a client")
	}
}

// lines collects the output of a process.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// metrics waits for a number of lines, each of which must hold metrics. They arrive
// through a pipe.
func (l *lines) metrics(t *testing.T, want int) {
	t.Helper()
	got := ""
	for begun := time.Now(); strings.Count(got, "\n") < want && time.Since(begun) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		got = l.b.String()
		l.mu.Unlock()
	}
	if n := strings.Count(got, "\n"); n != want {
		t.Errorf("%d lines of metrics, want %d", n, want)
	}
	for line := range strings.Lines(got) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["_aws"] == nil {
			t.Errorf("%v: not a line of metrics: %s", err, line)
		}
	}
}
