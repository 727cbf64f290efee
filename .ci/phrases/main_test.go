package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := write(&b, 1, 500); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	seen := map[string]bool{}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[0] != "train" && f[0] != "held-out" || f[1] != "both" && f[1] != "en-fr" && f[1] != "fr-en" {
			t.Errorf("%q", line)
		}
		if seen[line] {
			t.Errorf("%q stands twice", line)
		}
		seen[line] = true
	}
	if len(lines) != 500 {
		t.Errorf("%d lines", len(lines))
	}
}
