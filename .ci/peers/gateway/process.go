package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// A worker is a subprocess whose processor time is measured.
type worker struct {
	name         string
	url, control string // URLs of its service and of its control
	cmd          *exec.Cmd
	stdin        io.Closer
}

// start starts a process; fake is the URL of the fake model.
func start(name, fake string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: exec.Command(self, "process", name, fake)}
	w.cmd.Stderr = os.Stderr
	w.cmd.Env = append(os.Environ(), "AWS_REGION="+region, "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+keySecret)
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w.url, w.control, _ = strings.Cut(strings.TrimSpace(line), " ")
	return w, nil
}

// stop ends the process by closing its input.
func (w *worker) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Wait()
}

// ask sends a control request and returns the answer.
func (w *worker) ask(path string, body []byte) ([]byte, error) {
	res, err := http.Post(w.control+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", w.name, path, res.StatusCode, answer)
	}
	return answer, err
}

// used returns the processor time of the process.
func (w *worker) used() (time.Duration, error) {
	answer, err := w.ask("/used", nil)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(answer), 10, 64)
	return time.Duration(n), err
}

// process runs a worker: it serves one service and its control requests.
func process(name, fake string) error {
	control := http.NewServeMux()
	control.HandleFunc("/used", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, int64(used())) })
	control.HandleFunc("/profile", profile())
	serve, err := service(name, fake, control)
	if err != nil {
		return err
	}
	served, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	asked, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(asked, control) }() // ends with the process
	go func() { _ = serve(served) }()
	fmt.Printf("http://%s http://%s\n", served.Addr(), asked.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// service returns the function that serves the service of a name.
func service(name, fake string, control *http.ServeMux) (func(net.Listener) error, error) {
	switch name {
	case "fake":
		return serve(newFake(control)), nil
	case "glossa":
		a, err := newGlossa(fake)
		return serveGlossa(a), err
	case "proxy":
		h, err := newProxy(fake)
		return serve(h), err
	case "nothing":
		return serve(http.HandlerFunc(nothing)), nil
	case "calls":
		return serve(http.NotFoundHandler()), calls(fake, control)
	}
	return nil, fmt.Errorf("unknown process %q", name)
}

// profile returns a handler that starts a profile of processor time, or stops it and
// answers with it.
func profile() http.HandlerFunc {
	var b bytes.Buffer
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "start" {
			b.Reset()
			if err := pprof.StartCPUProfile(&b); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
			return
		}
		pprof.StopCPUProfile()
		_, _ = w.Write(b.Bytes())
	}
}

// set sends v to a worker.
func (w *worker) set(path string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.ask(path, b)
	}
	return err
}
