package textsynth

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// endless repeats a word until it is stopped or its context ends. It waits for a value on
// step, if step is set, before each word.
type endless struct {
	word    string
	said    int
	step    chan bool
	stopped chan bool // closed when it is stopped
}

func (b *endless) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		defer close(b.stopped)
		for {
			if b.step != nil {
				select {
				case <-b.step:
				case <-ctx.Done():
					yield(llm.Chunk{}, ctx.Err())
					return
				}
			}
			b.said++
			if !yield(llm.Chunk{Text: b.word}, nil) {
				return
			}
		}
	}
}

// leaver is a client that disconnects after some writes.
type leaver struct {
	*httptest.ResponseRecorder
	writes int
}

func (w *leaver) Write(b []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, errors.New("broken pipe")
	}
	return w.ResponseRecorder.Write(b)
}

// A client that disconnects stops the backend at the next chunk, and no goroutine is left:
// the synctest bubble would detect it.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &endless{word: "word ", stopped: make(chan bool)}
		var rec *httpx.Record
		m := &httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{model("m", b)}}), Fallback: Errors, Observe: func(r *httpx.Record) { rec = r }}
		w := &leaver{httptest.NewRecorder(), 2}
		m.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/engines/m/completions", strings.NewReader(`{"prompt":"x","stream":true}`)))
		<-b.stopped
		if b.said != 3 || strings.Count(w.Body.String(), "word ") != 2 {
			t.Errorf("said %d words, sent %s", b.said, w.Body)
		}
		if rec.Status != httpx.Status(httpx.Gone) {
			t.Errorf("record %+v", rec)
		}
	})
}

// Without a stream only the context shows that a client has disconnected.
func TestClientLeavesWhole(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &endless{stopped: make(chan bool), step: make(chan bool)}
	var rec *httpx.Record
	m := &httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{model("m", b)}}), Observe: func(r *httpx.Record) { rec = r }}
	r := httptest.NewRequest("POST", "/v1/engines/m/completions", strings.NewReader(oneText)).WithContext(ctx)
	m.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if rec.Status != httpx.Status(httpx.Gone) || rec.Err == nil {
		t.Errorf("record %+v", rec)
	}
}

// An error after the first answer is a separate answer, and contains no secret.
func TestErrorInStream(t *testing.T) {
	for engine, want := range map[string]string{"breaks": "the model <x> failed", "bug": "internal error"} {
		w := ask(newFixture(), "POST", "/v1/engines/"+engine+"/completions", `{"prompt":"x","stream":true}`)
		if want := `{"text":"Once","reached_end":false}` + "\n\n" + `{"error":"` + want + `"}` + "\n\n"; w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", engine, w.Code, w.Body)
		}
	}
}

// chunk reads one chunk of HTTP/1.1 (RFC 9112, 7.1) as it is on the wire.
func chunk(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
	if err != nil {
		return "", err
	}
	b := make([]byte, size+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(b), "\r\n"), nil
}

// dial sends a request over a socket and returns a reader of the bytes after the headers.
func dial(t *testing.T, server *httptest.Server, path, body string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // for a test that would wait for ever
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for line := "the status"; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// On the wire each answer is one chunk that includes its line feeds, whatever its length,
// and is sent before the next one is generated: clients treat a chunk as an answer.
func TestChunks(t *testing.T) {
	for _, size := range []int{1, 2000, 2048, 4096, 100_000} {
		b := &endless{word: strings.Repeat("w", size), step: make(chan bool), stopped: make(chan bool)}
		server := httptest.NewServer((&httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{model("m", b)}})}).Handler())
		go func() { b.step <- true }() // headers come with the first answer
		r := dial(t, server, "/v1/engines/m/completions", `{"prompt":"x","stream":true}`)
		want := `{"text":"` + b.word + `","reached_end":false}` + "\n\n"
		for i := range 3 {
			if i > 0 {
				b.step <- true
			}
			if got, err := chunk(r); err != nil || got != want {
				t.Fatalf("answer %d of %d bytes: a chunk of %d, %v", i, len(want), len(got), err)
			}
		}
		server.CloseClientConnections()
		<-b.stopped
		server.Close()
	}
}

// The last answer, and an error, are separate chunks, too.
func TestLastChunk(t *testing.T) {
	server := httptest.NewServer(newFixture())
	defer server.Close()
	for engine, answers := range map[string]int{"story": 3, "two": 5, "cut": 1, "breaks": 2} {
		prompt := map[string]string{"two": `["x","y"]`}
		r := dial(t, server, "/v1/engines/"+engine+"/completions", `{"stream":true,"prompt":`+cmp.Or(prompt[engine], `"x"`)+`}`)
		for i := range answers + 1 {
			got, err := chunk(r)
			if end := i == answers; err != nil || end != (got == "") || !end && (strings.Count(got, "\n\n") != 1 || !strings.HasSuffix(got, "}\n\n")) {
				t.Fatalf("%s: chunk %d is %q, %v", engine, i, got, err)
			}
		}
	}
}
