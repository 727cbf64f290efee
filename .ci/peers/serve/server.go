package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// files are the model as the servers want it.
type files struct{ dir, gguf string }

// modelName is the name of the model for glossa's clients.
const modelName = "loaded"

// prepare links the model into a directory of its own.
func prepare(model string) (files, error) {
	full, err := filepath.Abs(model)
	if err != nil {
		return files{}, err
	}
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		return files{}, err
	}
	if err := os.Symlink(full, filepath.Join(dir, modelName+".gguf")); err != nil {
		return files{}, errors.Join(err, os.RemoveAll(dir))
	}
	return files{dir, full}, nil
}

// A server is a running one.
type server struct {
	name, url string
	client    *http.Client
	process   *exec.Cmd
	said      bytes.Buffer
}

// startGlossa starts glossa with a worker for each client.
func startGlossa(p *plan, f files, clients int) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c := exec.Command(p.glossa, "serve", "--checkpoints", f.dir, "--port", port, "--workers", strconv.Itoa(clients), "--log-level", "error", "--batches", "none")
	c.Env = append(os.Environ(), "GLOSSA_THREADS="+strconv.Itoa(p.threads), "GLOSSA_CONFIG=")
	return begin("glossa", port, c)
}

// startLlama starts llama.cpp's server with a slot for each client, which has room for its longest
// text.
func startLlama(p *plan, f files, clients int) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	threads, room := strconv.Itoa(p.threads), (p.prompt+p.answer+64)/64*64
	return begin("llama.cpp", port, exec.Command(p.llama, "-m", f.gguf, "--port", port, "-np", strconv.Itoa(clients), "-c", strconv.Itoa(clients*room),
		"-t", threads, "-tb", threads, "--log-disable"))
}

// freePort returns a port that is free now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// patience is how long a server may take to start.
const patience = 2 * time.Minute

// begin starts a server and waits until it answers.
func begin(name, port string, c *exec.Cmd) (*server, error) {
	// llama.cpp's server closes a connection after some requests, perhaps while the next is sent.
	s := &server{name: name, url: "http://127.0.0.1:" + port, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, process: c}
	c.Stdout, c.Stderr = &s.said, &s.said
	if err := c.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r, err := s.client.Get(s.url + "/health"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return s, nil
			}
		}
	}
	return nil, errors.Join(fmt.Errorf("%s does not answer", name), s.stop())
}

// stop ends the server. The error has what it said if it had ended before.
func (s *server) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		_ = s.process.Wait()
		return fmt.Errorf("%w: %s", err, s.said.String())
	}
	_ = s.process.Wait() // a signal ended it
	return nil
}
