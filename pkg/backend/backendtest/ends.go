package backendtest

import (
	"context"
	"testing"
	"time"

	"glossa/pkg/llm"
)

// hangs sends words and then nothing until the client closes the connection.
func hangs(closed chan<- struct{}, words ...string) func(int, *Request, *Reply) {
	return func(_ int, r *Request, w *Reply) {
		for _, word := range words {
			w.Event(`{"text": "` + word + `"}`)
		}
		<-r.Gone
		closed <- struct{}{}
	}
}

// cancelled checks that rows end with their partial text, even those that never began.
func (s *Suite) cancelled(t *testing.T) {
	closed := make(chan struct{}, 8)
	_, b := s.start(t, hangs(closed, "one"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := ask("p", true)
	req.N = 6
	var chunks []llm.Chunk
	for c, err := range b.Generate(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		if chunks = append(chunks, c); len(chunks) == 4 { // all that run at a time
			cancel()
		}
	}
	if len(chunks) != 10 || chunks[9].Usage == nil {
		t.Fatalf("%+v", chunks)
	}
	for _, c := range chunks[4:] {
		if c.Finish != llm.FinishCancelled {
			t.Errorf("%+v", c)
		}
	}
	for range 4 {
		<-closed
	}
	for _, stream := range []bool{false, true} { // before any output
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, b := s.start(t, func(i int, r *Request, w *Reply) {
			cancel()
			hangs(closed)(i, r, w)
		})
		rows, _, err := collect(ctx, b, ask("p", stream))
		if err != nil || rows[0].Finish != llm.FinishCancelled {
			t.Errorf("%+v %v", rows, err)
		}
		<-closed
	}
}

// deadline checks the same for deadlines; without any output it is an error.
func (s *Suite) deadline(t *testing.T) {
	closed := make(chan struct{}, 8)
	_, b := s.start(t, hangs(closed, "one"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	rows, _, err := collect(ctx, b, ask("p", true))
	<-closed
	if err != nil || rows[0].Finish != llm.FinishDeadline || rows[0].Text != "one" {
		t.Errorf("%+v %v", rows, err)
	}
	_, b = s.start(t, hangs(closed))
	for _, stream := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err := collect(ctx, b, ask("p", stream))
		cancel()
		<-closed
		if code, _ := codeOf(err); code != llm.Timeout {
			t.Errorf("nothing to show: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		for _, err = range b.Invoke(ctx, map[string]any{"prompt": "p"}, stream) {
		}
		cancel()
		<-closed
		if code, _ := codeOf(err); code != llm.Timeout {
			t.Errorf("invoke: %v", err)
		}
	}
}

// left checks that leaving the range closes the connections of all rows.
func (s *Suite) left(t *testing.T) {
	closed := make(chan struct{}, 8)
	service, b := s.start(t, hangs(closed, "one"))
	req := ask("p", true)
	req.N = 3
	for range b.Generate(t.Context(), req) {
		break
	}
	for range len(service.Requests()) {
		<-closed
	}
	for range b.Invoke(t.Context(), map[string]any{"prompt": "p"}, true) {
		break
	}
	<-closed
	before := len(service.Requests())
	b.Generate(t.Context(), req) // never ranged over
	b.Invoke(t.Context(), nil, true)
	if n := len(service.Requests()); n != before {
		t.Errorf("%d requests more", n-before)
	}
}
