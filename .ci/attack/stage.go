package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// defaultDuration is the default duration of an attack.
const defaultDuration = 4 * time.Second

// An attack is a principal's traffic to a server while a bystander measures its waits.
type attack struct {
	name  string // group/name
	about string
	keys  bool          // principals have keys; else addresses, on a server without keys
	users bool          // the user [user] exists
	alone bool          // no bystander: the server's resources are used by the attack alone
	env   []string      // additional variables of the server
	model string        // a directory of the repository that the server has as a model; "": none
	lasts time.Duration // 0: [usual]; calls that still run then are cancelled
	goals
	calls func() []call                       // made before the measurement begins
	run   func(ctx context.Context, s *scene) // nil: the calls, all at the same time
}

// A scene is a server under attack.
type scene struct {
	glossa, dir string
	env, args   []string
	server      *server
	calls       []call // of the attack
	attacker    *sender
	other       *sender // another principal that may upload
	by          *bystander
	calm        *bystander // of the server that is not attacked
	tally       tally
	idle        time.Duration // the server's processor time before the attack

	mu     sync.Mutex
	faults []string
}

// fault records a failure of the server.
func (s *scene) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// send makes a call as the attacker, and counts it.
func (s *scene) send(ctx context.Context, c call) answer { return s.sendAs(ctx, s.attacker, c) }

func (s *scene) sendAs(ctx context.Context, who *sender, c call) answer {
	a := who.ask(ctx, c)
	sample := a.body
	if a.err != nil {
		sample = a.err.Error()
	}
	s.tally.add(a.outcome(), fmt.Sprintf("%.300s", strings.TrimSpace(sample)))
	return a
}

// atOnce makes the calls of the attack, all at the same time.
func atOnce(ctx context.Context, s *scene) {
	var group sync.WaitGroup
	for _, c := range s.calls {
		group.Go(func() { s.send(ctx, c) })
	}
	group.Wait()
}

// repeatCalls returns a run that repeats the calls of the attack from n clients until its end.
func repeatCalls(n int) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		var group sync.WaitGroup
		for client := range n {
			group.Go(func() {
				for i := client; ctx.Err() == nil; i += n {
					if a := s.send(ctx, s.calls[i%len(s.calls)]); a.outcome() == lost {
						return // the server has ended
					}
				}
			})
		}
		group.Wait()
	}
}

// cancelCalls returns a run that makes the calls of the attack, eight at a time, and cancels each
// of them after a while. Then it waits a second for the server's remaining work.
func cancelCalls(after time.Duration) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		var group sync.WaitGroup
		for i, c := range s.calls {
			if i%8 == 0 {
				group.Wait()
			}
			group.Go(func() {
				short, over := context.WithTimeout(ctx, after)
				defer over()
				s.send(short, c)
			})
		}
		group.Wait()
		sleep(ctx, time.Second)
	}
}

// repeat returns n copies of a call.
func repeat(n int, c func() call) func() []call {
	return func() []call { return times(n, c()) }
}

// times returns n copies of a value.
func times[T any](n int, one T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = one
	}
	return list
}

// stage runs an attack against a new server. Its error is one of the setup; the row holds
// the server's failures.
func (a attack) stage(ctx context.Context, glossa string, calm *bystander) (r row, err error) {
	s := &scene{env: a.env, calm: calm}
	if s.glossa, err = filepath.Abs(glossa); err != nil {
		return r, err
	}
	if s.dir, err = newDirectory(); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if a.model != "" {
		if err := os.CopyFS(filepath.Join(s.dir, "models", filepath.Base(a.model)), os.DirFS(a.model)); err != nil {
			return r, err
		}
	}
	keys, err := s.accounts(a)
	if err != nil {
		return r, err
	}
	if a.calls != nil {
		s.calls = a.calls()
	}
	if err := s.start(ctx); err != nil {
		return r, err
	}
	defer func() { s.server.stop() }()
	s.attacker = newSender(s.server.url, keys["attacker"], attackerIP, false)
	s.other = newSender(s.server.url, keys["other"], attackerIP, false)
	s.by = &bystander{sender: newSender(s.server.url, keys["bystander"], bystanderIP, true)}
	defer s.attacker.close()
	defer s.other.close()
	r.attack = a
	if r.measured, err = s.measure(ctx, a); err != nil {
		return r, err
	}
	r.failures = a.judge(r.measured)
	return r, nil
}

// measure runs the attack together with the bystanders.
func (s *scene) measure(ctx context.Context, a attack) (m measured, err error) {
	if w := s.by.once(); w.outcome != "200" { // which also opens the model
		return m, fmt.Errorf("the bystander gets %s from a server that is not attacked", w.outcome)
	}
	s.by.waits = nil
	if err := s.server.resetPeak(); err != nil {
		return m, err
	}
	s.idle, m.before, _ = s.server.usage()
	lasts := a.lasts
	if lasts == 0 {
		lasts = defaultDuration
	}
	attacked, over := context.WithTimeout(ctx, lasts)
	defer over()
	watched, end := context.WithCancel(ctx)
	defer end()
	var group sync.WaitGroup
	if !a.alone {
		group.Go(func() { s.by.during(watched) })
		group.Go(func() { s.calm.during(watched) })
	}
	if a.run == nil {
		a.run = atOnce
	}
	a.run(attacked, s)
	end()
	group.Wait()
	m.cpu, _, m.peak = s.server.usage()
	m.cpu -= s.idle
	if s.by.once().outcome != "200" {
		s.fault("the bystander gets no answer after the attack")
	}
	m.fate = s.server.unexpectedExit()
	m.waits, m.calm = s.by.summary(), s.calm.summary()
	m.answers, m.samples, m.faults = s.tally.counts, s.tally.samples, s.faults
	return m, nil
}

// start starts the server of the scene.
func (s *scene) start(ctx context.Context) error {
	started, err := serve(ctx, s.glossa, s.dir, s.env, s.args)
	if err == nil {
		s.server = started
	}
	return err
}

// restart kills the server and starts it again with the same directory.
func (s *scene) restart(ctx context.Context) error {
	s.server.stop()
	if err := s.start(ctx); err != nil {
		return err
	}
	s.idle = 0
	for _, who := range []*sender{s.attacker, s.other, s.by.sender} {
		who.url = s.server.url
	}
	return nil
}

// accounts creates the keys that an attack needs and makes the server require them. It
// returns the keys by name.
func (s *scene) accounts(a attack) (map[string]string, error) {
	keys := map[string]string{}
	if !a.keys {
		return keys, nil
	}
	file := filepath.Join(s.dir, "accounts.json")
	s.args = append(s.args, "--auth", "--accounts", file)
	for name, role := range map[string]string{"attacker": "worker", "other": "worker", "bystander": "client"} {
		out, err := s.command("", "key", "create", name, "--role", role, "--accounts", file)
		if err != nil {
			return nil, err
		}
		keys[name] = strings.TrimSpace(out)
	}
	if a.users {
		if _, err := s.command(password+"\n", "user", "add", user, "--role", "client", "--accounts", file); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// command runs the program with an input and returns its output. Its error contains the
// program's error output.
func (s *scene) command(input string, args ...string) (string, error) {
	cmd := exec.Command(s.glossa, args...)
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(input)
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("glossa %s: %w: %s", strings.Join(args, " "), err, e.Stderr)
	}
	return string(out), err
}
