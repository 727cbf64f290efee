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

// A drip is a provider whose answers have no end. One that is asked for "together N" begins
// when N requests have come.
type drip struct {
	url  string
	gone chan struct{} // gets one for each answer that nobody listens to any more

	mu       sync.Mutex
	asked    int
	together chan struct{}
}

func (d *drip) answer(_ int, r *backendtest.Request, w *backendtest.Reply) {
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
				d.gone <- struct{}{}
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// left waits until an answer has lost its listener.
func (d *drip) left(t *testing.T) {
	t.Helper()
	select {
	case <-d.gone:
	case <-time.After(20 * time.Second):
		t.Error("the provider goes on for nobody")
	}
}

// lines are what a process wrote.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// metrics waits until there are so many lines, each of which must be one of metrics. They
// come through a pipe.
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
			t.Errorf("%v: no line of metrics: %s", err, line)
		}
	}
}
