package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trainTiny runs glossa train on a tiny model.
func trainTiny(t *testing.T, ctx context.Context, stdin string, args ...string) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"train", "--tokenizer", "char", "--layers", "1", "--embd", "8", "--heads", "1", "--context", "8", "--batch", "2"}, args...)
	err = command(ctx, strings.NewReader(stdin), &stdout, &stderr, args...)
	return stdout.String(), stderr.String(), err
}

func TestTrain(t *testing.T) {
	text := strings.Repeat("the cat sat on the mat.\n", 60)
	dir := filepath.Join(t.TempDir(), "cats")
	out, notes, err := trainTiny(t, t.Context(), text, "--text", "-", "--out", dir, "--steps", "4", "--domain", "cats")
	if err != nil || !strings.HasSuffix(out, "cats is trained: glossa serve --checkpoints "+filepath.Dir(dir)+"\n") {
		t.Fatalf("%q, %v", out, err)
	}
	if !strings.Contains(notes, "step 4/4  loss ") || !strings.Contains(notes, "  val ") {
		t.Errorf("notes %q", notes)
	}
	if _, err := os.Stat(filepath.Join(dir, "checkpoint-4.json")); err != nil {
		t.Error(err)
	}
	listed, _, err := output(t.Context(), "models", "--checkpoints", filepath.Dir(dir))
	if err != nil || !strings.Contains(listed, "\ncats ") {
		t.Errorf("glossa models: %s, %v", listed, err)
	}
}

// stopAfter is a writer that cancels a context at its n-th write.
type stopAfter struct {
	bytes.Buffer
	n    int
	stop func()
}

func (s *stopAfter) Write(b []byte) (int, error) {
	if s.n--; s.n == 0 {
		s.stop()
	}
	return s.Buffer.Write(b)
}

func TestTrainIsResumed(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "text"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(file, []byte(strings.Repeat("a b c d e f g\n", 80)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"train", "--text", file, "--out", dir, "--tokenizer", "word", "--steps", "5",
		"--layers", "1", "--embd", "8", "--heads", "1", "--context", "8", "--batch", "2",
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("a signal")
	notes := &stopAfter{n: 1, stop: func() { cancel(stopped) }} // with the first line of progress
	err := command(ctx, nil, new(bytes.Buffer), notes, args...)
	if !errors.Is(err, stopped) || !strings.Contains(notes.String(), "step 1 of 5 is saved in "+dir+": run the same command to resume\n") {
		t.Fatalf("%q, %v", notes, err)
	}
	var out, again bytes.Buffer
	if err := command(t.Context(), nil, &out, &again, args...); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(again.String(), "resuming after step 1\n") || !strings.Contains(again.String(), "step 5/5") {
		t.Errorf("notes %q", &again)
	}
	again.Reset()
	if err := command(t.Context(), nil, &out, &again, append(args, "--steps", "8")...); err != nil || !strings.HasPrefix(again.String(), "resuming after step 5\n") ||
		!strings.Contains(again.String(), "step 8/8") {
		t.Errorf("with more steps: %v, notes %q", err, &again)
	}
	args = append(args, "--steps", "8")
	if err := command(t.Context(), nil, &out, &again, append(args, "--lr", "0.5")...); err == nil || !strings.Contains(err.Error(), "lr differs") {
		t.Errorf("another learning rate in the same directory: %v", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"no text", "", []string{"--out", dir}, "--text and --out are required"},
		{"no directory", "", []string{"--text", "-"}, "--text and --out are required"},
		{"an unknown flag", "", []string{"--wrong"}, "wrong"},
		{"an argument", "", []string{"--text", "-", "--out", dir, "more"}, `unexpected argument "more"`},
		{"an empty text", "", []string{"--text", "-", "--out", dir}, "- is empty"},
		{"no such file", "", []string{"--text", filepath.Join(dir, "none"), "--out", dir}, "none"},
		{"no UTF-8", "abc\xffdef", []string{"--text", "-", "--out", dir}, "byte 3 is not UTF-8"},
		{"an unknown tokenizer", "some text", []string{"--text", "-", "--out", dir, "--tokenizer", "tiles"}, "tiles"},
		{"a text that is too short", "ab", []string{"--text", "-", "--out", dir}, "token"},
		{"no steps", "some text", []string{"--text", "-", "--out", dir, "--steps", "-1"}, "steps"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := trainTiny(t, t.Context(), test.stdin, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
