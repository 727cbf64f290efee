package main

import (
	"errors"
	"strings"
	"testing"
)

func TestCorpus(t *testing.T) {
	write := func(args ...string) (string, error) {
		out, _, err := output(t.Context(), append([]string{"corpus"}, args...)...)
		return out, err
	}
	for _, name := range []string{"novels", "abc", "chords", "forms"} {
		t.Run(name, func(t *testing.T) {
			text, err := write(name, "--seed", "3", "--bytes", "5000")
			if err != nil || len(text) < 5000 {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			if again, _ := write("--seed=3", "--bytes=5000", name); again != text {
				t.Error("the same seed gave another text")
			}
			if other, _ := write(name, "--seed", "4", "--bytes", "5000"); other == text {
				t.Error("another seed gave the same text")
			}
		})
	}
	for _, args := range [][]string{{}, {"abc", "chords"}, {"abc", "--bytes", "0"}, {"abc", "--seed", "x"}} {
		if _, err := write(args...); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := write("poems"); err == nil || !strings.Contains(err.Error(), `"poems"`) {
		t.Errorf("got %v, want an error that names the text", err)
	}
}
