//go:build e2e && unix

package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// freeze stops a process, as Lambda does with instances between invocations: nothing goes
// on in it, and no connection is kept alive. Source: AWS Lambda Developer Guide,
// "Understanding the Lambda execution environment lifecycle".
func freeze(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) } // one that has ended is frozen well enough

// thaw lets it go on.
func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }

// A guard ends processes when this one ends in whatever way: frozen ones could not.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func newGuard() (*guard, error) {
	cmd := exec.Command("sh", "-c", `pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -KILL $pids`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what interrupts the test leaves it alone
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	return &guard{cmd, in}, err
}

// watch names the processes that are to end.
func (g *guard) watch(pids []int) { _, _ = fmt.Fprintln(g.in, strings.Trim(fmt.Sprint(pids), "[]")) } // what cannot be told is not guarded

// close lets them live.
func (g *guard) close() error {
	g.watch(nil)
	_ = g.in.Close() // its end is waited for
	return g.cmd.Wait()
}
