package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// maxLine is the longest line of input, in bytes.
const maxLine = 1 << 20

// readLines reads in line by line, in a separate goroutine because reading a terminal
// cannot be interrupted. It ends with in, or at the latest with the next line after
// ctx is done.
func readLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- line{text: scanner.Text()}:
			case <-ctx.Done():
				return
			}
		}
		if err := scanner.Err(); err != nil {
			select {
			case lines <- line{err: fmt.Errorf("reading the input: %w", err)}:
			case <-ctx.Done():
			}
		}
	}()
	return lines
}
