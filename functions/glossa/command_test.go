package main

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// command runs a command and returns its error.
func command(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) error {
	_, err := execute(ctx, args, stdin, stdout, stderr)
	return err
}

// output runs a command without input and returns its output and error.
func output(ctx context.Context, args ...string) (out, notes string, err error) {
	var stdout, stderr bytes.Buffer
	err = command(ctx, strings.NewReader(""), &stdout, &stderr, args...)
	return stdout.String(), stderr.String(), err
}
