package runtimeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"glossa/pkg/host"
)

// modeVar turns the test binary into a bootstrap: Lambda's real client and pkg/host in a separate
// process.
const modeVar = "RUNTIMEAPI_TEST_MODE"

func TestMain(m *testing.M) {
	mode := os.Getenv(modeVar)
	if mode == "" {
		os.Exit(m.Run())
	}
	f := &function{callback: os.Getenv("CALLBACK")}
	switch mode {
	case "buffered", "streamed":
		streamed := mode == "streamed"
		cfg := host.Config{StreamREST: streamed, StreamURL: streamed, Grace: time.Minute}
		cfg.Margin = time.Hour // half of the time then
		if os.Getenv("TELL_SHUTDOWN") != "" {
			cfg.Shutdown = func() { f.call("shutdown") }
		}
		host.Start(f.routes(), cfg)
	case "init-exit":
		os.Exit(3)
	case "init-error":
		f.post("/2018-06-01/runtime/init/error", "application/json", `{"errorType":"Config.Missing","errorMessage":"no table"}`)
		os.Exit(1)
	case "init-hang":
		f.call("hang")
		time.Sleep(time.Hour) // Go ends a program in which nothing can happen any more
	case "deaf": // ignores SIGTERM although it asks for it
		f.post("/2020-01-01/extension/register", "application/json", `{}`)
		f.deaf()
	case "raw":
		f.raw()
	}
}

// function runs inside the bootstrap. It reports its steps to the test through the callback server.
type function struct{ callback string }

// call blocks until the test answers.
func (f *function) call(name string) string {
	resp, err := http.Get(f.callback + "/" + url.PathEscape(name))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (f *function) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/{name}", echo)
	mux.HandleFunc("/echo/local/{name}", echo) // an HTTP API has decoded %2F
	mux.HandleFunc("/pid", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid()) })
	mux.HandleFunc("/call/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.call(r.PathValue("name") + " begins")
		fmt.Fprint(w, os.Getpid())
		f.call(r.PathValue("name") + " ends")
	})
	mux.HandleFunc("/stream", f.stream)
	mux.HandleFunc("/deadline", func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		fmt.Fprint(w, "partial: ", r.Context().Err())
	})
	mux.HandleFunc("/stuck", func(http.ResponseWriter, *http.Request) { select {} })
	mux.HandleFunc("/stuck-after", func(w http.ResponseWriter, _ *http.Request) { begin(w); select {} })
	mux.HandleFunc("/panic-before", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "lost"); panic("boom") })
	mux.HandleFunc("/panic-after", func(w http.ResponseWriter, _ *http.Request) { begin(w); panic("boom") })
	mux.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) { os.Exit(7) })
	mux.HandleFunc("/crash-after", func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		f.call("begun") // so that the chunk has been seen
		os.Exit(7)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(bytes.Repeat([]byte("x"), 5000))
	})
	mux.HandleFunc("/term", func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		f.call("running")
		<-r.Context().Done()
		fmt.Fprint(w, " and stopped")
	})
	return mux
}

func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, "begun")
	w.(http.Flusher).Flush()
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Add("Set-Cookie", "a=1; Path=/")
	h.Add("Set-Cookie", "b=2")
	h.Set("X-Name", r.PathValue("name"))
	h.Set("X-Path", r.URL.Path)
	h.Set("X-Escaped", r.URL.EscapedPath())
	h.Set("X-Query", strings.Join(r.URL.Query()["tag"], "|")+"/"+r.URL.Query().Get("q"))
	h.Set("X-Tags", strings.ReplaceAll(strings.Join(r.Header.Values("X-Tag"), ","), " ", ""))
	h.Set("X-Cookies", fmt.Sprint(r.Cookies()))
	h.Set("X-Request-Id-Set", fmt.Sprint(r.Header.Get(host.RequestIDHeader) == host.RequestID(r.Context())))
	h.Set("X-Body", fmt.Sprintf("%s %d %v", r.Method, len(body), err))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// stream writes a second chunk only after the test has seen the first.
func (f *function) stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	for i := range 3 {
		_, werr := fmt.Fprintf(w, "data: %d\n\n", i)
		ferr := rc.Flush()
		f.call(fmt.Sprint("chunk ", i, " ", werr, " ", ferr))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (f *function) post(path, contentType, body string) (*http.Response, error) {
	resp, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+path, contentType, strings.NewReader(body))
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

// next fetches an invocation by hand.
func (f *function) next() (id string, event []byte) {
	resp, err := http.Get("http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/next")
	if err != nil {
		os.Exit(9)
	}
	defer resp.Body.Close()
	event, err = io.ReadAll(resp.Body)
	if err != nil {
		os.Exit(9)
	}
	return resp.Header.Get("Lambda-Runtime-Aws-Request-Id"), event
}

// raw answers each invocation with the calls that its event lists, and reports the statuses to the
// test.
func (f *function) raw() {
	for {
		id, event := f.next()
		var calls []struct{ Path, Type, Body string }
		if json.Unmarshal(event, &calls) != nil {
			os.Exit(9)
		}
		for _, c := range calls {
			resp, err := f.post(strings.ReplaceAll(c.Path, "{id}", id), c.Type, c.Body)
			if err != nil {
				os.Exit(9)
			}
			f.call(fmt.Sprint("status ", resp.StatusCode))
		}
	}
}
