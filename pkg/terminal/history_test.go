package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "glossa", "history")
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one", "one", " two\nlines ", "", strings.Repeat("x", maxHistoryEntry+1), "\u65e5"} {
		if _, err := h.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openHistory(path)
	if want := []string{"one", "two\nlines", "\u65e5"}; err != nil || !slices.Equal(again.lines, want) || again.Len() != 3 {
		t.Errorf("%q, want %q, %v", again.lines, want, err)
	}
	if line, err := again.GetLine(1); err != nil || line != "two\nlines" {
		t.Errorf("%q, %v", line, err)
	}
	for _, i := range []int{-1, 3} {
		if _, err := again.GetLine(i); err == nil {
			t.Errorf("entry %d exists", i)
		}
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2 * maxHistory {
		fmt.Fprintf(&b, "\"line %d\"\n", i)
	}
	b.WriteString("\"cut of")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := openHistory(path)
		if err != nil || len(h.lines) != maxHistory || h.lines[0] != fmt.Sprint("line ", maxHistory) {
			t.Fatalf("%d lines from %q, %v", len(h.lines), h.lines[0], err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() >= int64(b.Len()) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and mode %v, %v", info.Size(), info.Mode(), err)
	}
}

func TestHistoryOfOneSession(t *testing.T) {
	h, err := openHistory("")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := h.Write("one"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// What another program wrote into the file does not reach the terminal raw.
func TestHistoryIsCleaned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte(`"a\u001b[2Jb"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := openHistory(path); err != nil || h.lines[0] != "a[2Jb" {
		t.Errorf("%q, %v", h.lines, err)
	}
}
