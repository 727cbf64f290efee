//go:build e2e && unix

package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// freeze stops a process, as Lambda does with instances between invocations: it runs no
// code and keeps no connection alive. Source: AWS Lambda Developer Guide,
// "Understanding the Lambda execution environment lifecycle".
func freeze(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) } // the process may have ended

// thaw continues a process.
func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }

// A guard kills processes when this one ends in any way, because frozen ones cannot end
// themselves.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func newGuard() (*guard, error) {
	cmd := exec.Command("sh", "-c", `pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -KILL $pids`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that an interrupt of the test does not reach it
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	return &guard{cmd, in}, err
}

// watch sets the processes to kill.
func (g *guard) watch(pids []int) { _, _ = fmt.Fprintln(g.in, strings.Trim(fmt.Sprint(pids), "[]")) } // after an error they are not guarded

// close ends the guard without killing them.
func (g *guard) close() error {
	g.watch(nil)
	_ = g.in.Close() // Wait returns the error
	return g.cmd.Wait()
}
