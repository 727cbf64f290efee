package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// hanging writes a text and then nothing until its context ends. A local model ends with a last
// chunk, a remote one with an error.
type hanging struct{ local bool }

func (h hanging) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if !yield(llm.Chunk{Text: "Once"}, nil) {
			return
		}
		<-ctx.Done()
		if h.local {
			yield(ends(llm.FinishCancelled), nil)
			return
		}
		yield(llm.Chunk{}, ctx.Err())
	}
}

// A locked recorder can be read while it is written.
type locked struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ResponseRecorder.Write(p)
}

func (l *locked) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Body.String()
}

// TestCancel cancels responses that run, by a second request of their owner.
func TestCancel(t *testing.T) {
	for name, model := range map[string]llm.Model{
		"local":  {ModelInfo: llm.ModelInfo{Name: "hangs", Family: "local", InProcess: true}, Backend: hanging{true}},
		"remote": {ModelInfo: llm.ModelInfo{Name: "hangs", Family: "bedrock"}, Backend: hanging{}},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s shared %v", name, shared), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(model)
					s.cfg.Shared = shared
					s.start()
					cancelRunning(t, s)
				})
			})
		}
	}
}

func cancelRunning(t *testing.T, s *server) {
	w := &locked{ResponseRecorder: httptest.NewRecorder()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(`{"model":"hangs","input":"a","stream":true}`))
		r.Header.Set("Owner", "ann")
		s.ServeHTTP(w, r)
	}()
	defer func() { // whatever fails
		<-ended
	}()
	time.Sleep(time.Minute)
	id := regexp.MustCompile(`resp_[0-9a-f]{24}`).FindString(w.text())
	if s.cfg.Shared {
		s.start() // another process answers
	}
	if status, body := s.do("bob", "POST", "/v1/responses/"+id+"/cancel", ""); status != 404 {
		t.Errorf("by another owner: %d %s", status, body)
	}
	select {
	case <-ended:
		t.Fatal("it was cancelled by another owner")
	default:
	}
	began := time.Now()
	status, body := s.do("ann", "POST", "/v1/responses/"+id+"/cancel", "")
	var got response
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || got.Status != cancelled || got.ID != id || time.Since(began) > cancelWait {
		t.Fatalf("%d %s after %v", status, body, time.Since(began))
	}
	<-ended
	if text := (*got.Output[0].Content)[0].Text; text != "Once" || got.Output[0].Status != incomplete {
		t.Errorf("the output is %s", body)
	}
	answer := w.text()
	if w.Code != 200 || !strings.Contains(answer, `"status":"cancelled"`) || !strings.Contains(answer, "event: response.incomplete\n") || strings.Contains(answer, "failed") {
		t.Errorf("its own answer: %d %s", w.Code, answer)
	}
	if again, body := s.do("ann", "POST", "/v1/responses/"+id+"/cancel", ""); again != 200 || body == "" {
		t.Errorf("cancelled again: %d %s", again, body)
	}
	if len(s.texts) != 1 {
		t.Errorf("stored: %v", s.texts)
	}
}

// TestCancelNothing asks to cancel what does not run.
func TestCancelNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		_, made := s.create(t, `{"model":"everything","input":"a"}`)
		if status, body := s.do("ann", "POST", "/v1/responses/"+made.ID+"/cancel", ""); status != 400 || !strings.Contains(body, "it is completed") {
			t.Errorf("one that has ended: %d %s", status, body)
		}
		for _, id := range []string{"resp_000000000000000000000000", "resp_x", "x"} {
			if status, body := s.do("ann", "POST", "/v1/responses/"+id+"/cancel", ""); status != 404 || !strings.Contains(body, "not found") {
				t.Errorf("%s: %d %s", id, status, body)
			}
		}
		if len(s.texts) != 1 {
			t.Errorf("stored: %v", s.texts)
		}
	})
}
