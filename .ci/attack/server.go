package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Bounds of a server under attack.
const (
	startTimeout = 20 * time.Second
	watchPeriod  = 20 * time.Millisecond
	exitGrace    = 100 * time.Millisecond // grace to learn that a process with broken connections has ended
	memoryLimit  = 3 << 30                // bytes: a server that exceeds it is killed, to protect the machine
)

// A server is the program while it serves on loopback.
type server struct {
	url string // http://127.0.0.1:PORT
	cmd *exec.Cmd
	log *os.File

	ended chan struct{} // closed when the process has ended
	once  sync.Once

	mu        sync.Mutex
	exit      string // how it ended; "": it runs
	tooMuch   bool   // killed at memoryLimit
	peak, now int64  // memory, bytes
	processor time.Duration
}

var address = regexp.MustCompile(`serves .* on (http://[0-9.:]+)`)

// newDirectory makes a server's directory, with a subdirectory for models.
func newDirectory() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "attack"); err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "models"), 0o755); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// serve starts the program with its own directory and an environment that inherits
// nothing.
func serve(ctx context.Context, glossa, dir string, env, args []string) (*server, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	args = append([]string{"serve", "--host", "127.0.0.1", "--port", "0", "--checkpoints", filepath.Join(dir, "models")}, args...)
	s := &server{log: log, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, glossa, args...)
	s.cmd.Dir, s.cmd.Stderr = dir, log
	s.cmd.Env = append([]string{"HOME=" + dir, "GLOSSA_LOG_LEVEL=error"}, env...)
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	kill := time.AfterFunc(startTimeout, func() { _ = s.cmd.Process.Kill() })
	lines := bufio.NewReader(stdout)
	first, _ := lines.ReadString('\n') // a server that ended has the reason in its log
	kill.Stop()
	found := address.FindStringSubmatch(first)
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		s.wait()
	}()
	if found == nil {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %s", s.crashLine())
	}
	s.url = found[1]
	go s.watch()
	return s, nil
}

// wait records how the process ended.
func (s *server) wait() {
	err := s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit = "it ended well"
	if err != nil {
		s.exit = err.Error()
	}
	close(s.ended)
}

// watch samples the process until it ends, and kills it at memoryLimit.
func (s *server) watch() {
	t := time.NewTicker(watchPeriod)
	defer t.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-t.C:
			s.sample()
		}
	}
}

// sample samples the process once. The values of an ended process stay unchanged.
func (s *server) sample() {
	pid := s.cmd.Process.Pid
	now, peak, err := memoryOf(pid)
	cpu, err2 := processorTime(pid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit != "" || err != nil || err2 != nil {
		return
	}
	s.now, s.peak, s.processor = now, max(s.peak, peak), max(s.processor, cpu)
	if now > memoryLimit {
		s.tooMuch = true
		_ = s.cmd.Process.Kill() // it may have ended in the meantime
	}
}

// usage returns the processor time so far, and the current and the peak memory in bytes.
func (s *server) usage() (cpu time.Duration, now, peak int64) {
	s.sample()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processor, s.now, s.peak
}

// resetPeak resets the peak of memory.
func (s *server) resetPeak() error {
	if err := resetPeak(s.cmd.Process.Pid); err != nil {
		return err
	}
	s.mu.Lock()
	s.peak = 0
	s.mu.Unlock()
	return nil
}

// unexpectedExit returns how the server ended without being stopped; "": it runs.
func (s *server) unexpectedExit() string {
	select {
	case <-s.ended:
	case <-time.After(exitGrace):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tooMuch:
		return fmt.Sprintf("killed at %d MB", s.peak>>20)
	case s.exit == "":
		return ""
	}
	return "the server died: " + s.exit + ": " + s.crashLine()
}

// stop kills the process, as a crash would, and waits for its end.
func (s *server) stop() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.ended
		_ = s.log.Close() // readers open it by name
	})
}

// crashLine returns the log's line that reports a crash, else the last line.
func (s *server) crashLine() string {
	b, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	last := "no word in its log"
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "fatal error:") || strings.HasPrefix(text, "panic:") || strings.HasPrefix(text, "runtime: out of memory") {
			return text
		}
		if text != "" {
			last = text
		}
	}
	return fmt.Sprintf("%.200s", last)
}
