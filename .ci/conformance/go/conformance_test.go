// Package conformance drives a glossa binary, whose path is in GLOSSA, with the Go
// clients of OpenAI's protocol.
package conformance

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

const (
	model  = "novels"
	prompt = "The old lighthouse stood"
)

// serve starts a server and returns its URL. The server must stop cleanly at the test's end.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, os.Getenv("GLOSSA"), append([]string{"serve", "--port", "0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if address == "" {
		t.Fatalf("the server says %q", line)
	}
	return "http://" + address + "/v1"
}

// An answer is a completion, whole or streamed, in the same form for both clients.
type answer struct {
	text, finish  string
	input, output int
}

// agree checks that answers are equal, of n tokens, and ended by that limit.
func agree(t *testing.T, name string, n int, answers ...answer) {
	t.Helper()
	for _, a := range answers {
		if a != answers[0] || a.text == "" || a.finish != "length" || a.output != n || a.input != 4 {
			t.Errorf("%s: %+v", name, answers)
			return
		}
	}
}
