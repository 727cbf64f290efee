package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// sandbox is one process of the function and the Runtime API that serves it.
type sandbox struct {
	opts  *Options
	cmd   *exec.Cmd
	srv   *http.Server
	begun time.Time
	next  chan *invocation // unbuffered: the handlers of /next receive from it

	readyOnce    sync.Once
	ready        chan struct{} // closed by the first /next
	initDuration time.Duration // valid once ready is closed
	exited       chan struct{} // closed when the process has ended and its invocations have failed
	done         chan struct{} // closed when the server has ended too

	mu        sync.Mutex
	running   map[string]*invocation
	killed    bool
	extension bool  // the process has registered an extension, so it receives SIGTERM
	initError error // reported to /init/error, or the init timeout
	exitError error // how the process ended
	dead      bool
}

func startSandbox(opts *Options) (*sandbox, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtimeapi: listen: %w", err)
	}
	s := &sandbox{
		opts:    opts,
		next:    make(chan *invocation),
		ready:   make(chan struct{}),
		exited:  make(chan struct{}),
		done:    make(chan struct{}),
		running: make(map[string]*invocation),
	}
	s.cmd = exec.Command(opts.Binary, opts.Args...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = opts.Dir, opts.Stdout, opts.Stderr
	s.cmd.Env = append(environment(opts, ln.Addr().String()), opts.Env...)
	s.cmd.WaitDelay = time.Second // for pipes that child processes of the function hold open
	s.srv = &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	s.begun = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(&FunctionError{Type: "Runtime.InvalidEntrypoint", Message: err.Error()}, ln.Close())
	}
	go s.wait()                         // ends with the process
	go func() { _ = s.srv.Serve(ln) }() // ends with Shutdown in wait
	limit := time.AfterFunc(opts.InitTimeout, func() {
		s.fail(&FunctionError{
			Type:    "Sandbox.Timedout",
			Message: fmt.Sprintf("the function has not called /next in %v", opts.InitTimeout),
		})
		s.kill()
	})
	go func() { // ends with the first /next or the process
		defer limit.Stop()
		select {
		case <-s.ready:
		case <-s.exited:
		}
	}()
	return s, nil
}

// environment returns the variables that Lambda sets for an OS-only runtime. The credentials are
// fake.
func environment(opts *Options, api string) []string {
	env := []string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + opts.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(opts.MemoryMB),
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + opts.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=local/[$LATEST]" + newID(),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_SESSION_TOKEN=local",
		"LAMBDA_TASK_ROOT=/var/task",
		"LAMBDA_RUNTIME_DIR=/var/runtime",
		"_HANDLER=bootstrap",
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
	}
	if opts.Concurrency > 1 {
		env = append(env, "AWS_LAMBDA_MAX_CONCURRENCY="+strconv.Itoa(opts.Concurrency))
	}
	return slices.Clip(env)
}

// wait owns the process: when the process ends, it fails the running invocations.
func (s *sandbox) wait() {
	err := s.cmd.Wait()
	s.mu.Lock()
	s.dead, s.exitError = true, err
	failed := s.running
	s.running = nil
	s.mu.Unlock()
	for _, v := range failed {
		v.finish(exited(v.id, err))
	}
	close(s.exited)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if s.srv.Shutdown(ctx) != nil { // a handler waits for a reader that does not read
		_ = s.srv.Close() // the listener is closed already
	}
	close(s.done)
}

// exited returns the error of an invocation whose process has ended.
func exited(id string, err error) *FunctionError {
	how := "without a reason"
	if err != nil {
		how = "with error: " + err.Error()
	}
	return &FunctionError{
		Type:    "Runtime.ExitError",
		Message: fmt.Sprintf("RequestId: %s Error: Runtime exited %s", id, how),
	}
}

// begin registers an invocation that the function has asked for.
func (s *sandbox) begin(v *invocation) (deadline time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead || s.killed {
		v.finish(exited(v.id, s.exitError))
		return time.Time{}, false
	}
	s.running[v.id] = v
	return v.begin(func() { s.expire(v) }), true
}

// expire ends an invocation that has run out of time, and its process. It marks the process first, so that no queued
// invocation reaches it, and kills it last, so that this invocation fails with the timeout.
func (s *sandbox) expire(v *invocation) {
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	s.end(v, timedOut(v.id, v.timeout))
	s.kill()
}

// take returns a running invocation by its id, or nil.
func (s *sandbox) take(id string) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}

// end finishes an invocation and removes it.
func (s *sandbox) end(v *invocation, err error) {
	s.mu.Lock()
	delete(s.running, v.id)
	s.mu.Unlock()
	v.finish(err)
}

// fail records why the initialisation failed.
func (s *sandbox) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.initError == nil {
		s.initError = err
	}
}

// failure returns the reason why a process ended before its first /next.
func (s *sandbox) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.initError != nil {
		return s.initError
	}
	return exited("init", s.exitError)
}

// dying reports whether the process has ended or is about to.
func (s *sandbox) dying() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead || s.killed
}

func (s *sandbox) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	_ = s.cmd.Process.Kill() // fails only if the process has ended
}

// stop ends the process as Lambda's shutdown phase does, and waits until everything that belongs to
// it has ended.
func (s *sandbox) stop() error {
	s.mu.Lock()
	dead, polite := s.dead || s.killed, s.extension
	s.mu.Unlock()
	if dead || !polite {
		s.kill()
		<-s.done
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err == nil {
		timer := time.NewTimer(s.opts.StopGrace)
		defer timer.Stop()
		select {
		case <-s.exited:
			<-s.done
			if s.exitError != nil {
				return fmt.Errorf("runtimeapi: after SIGTERM: %w", s.exitError)
			}
			return nil
		case <-timer.C:
		}
	}
	s.kill()
	<-s.done
	return fmt.Errorf("runtimeapi: the process did not end within %v of SIGTERM", s.opts.StopGrace)
}
