package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of the history.
const (
	maxHistory      = 1000    // entries
	maxHistoryEntry = 1 << 14 // bytes; longer input is not recorded
)

// A history holds the lines of earlier sessions, oldest first. Each is one JSON string on
// a line of its file, which only its owner may read. It implements the editor's
// history.Source.
type history struct {
	path  string // "": this session only
	lines []string
}

// openHistory reads the history in the file at path, which need not exist. It shortens a
// file that has become too long.
func openHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	for line := range bytes.Lines(data) {
		var entry string
		if json.Unmarshal(line, &entry) == nil && entry != "" { // a line that is cut off is skipped
			h.lines = append(h.lines, Clean(entry))
		}
	}
	if extra := len(h.lines) - maxHistory; extra > maxHistory/10 {
		h.lines = h.lines[extra:]
		return h, h.rewrite()
	}
	return h, nil
}

// rewrite replaces the file by the current entries.
func (h *history) rewrite() (err error) {
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-*") // mode 0600
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("history: %w", err)
		}
	}()
	w := bufio.NewWriter(f)
	for _, line := range h.lines {
		entry, err := json.Marshal(line)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		w.Write(append(entry, '\n')) // errors come with Flush
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), h.path)
}

// Write implements history.Source. Repeated lines are recorded once.
func (h *history) Write(line string) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" || len(line) > maxHistoryEntry || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return len(h.lines), nil
	}
	h.lines = append(h.lines, line)
	if h.path == "" {
		return len(h.lines), nil
	}
	entry, err := json.Marshal(line)
	if err != nil {
		return len(h.lines), err
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return len(h.lines), fmt.Errorf("history: %w", err)
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return len(h.lines), fmt.Errorf("history: %w", err)
	}
	_, err = f.Write(append(entry, '\n'))
	return len(h.lines), errors.Join(err, f.Close())
}

// GetLine implements history.Source.
func (h *history) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.lines) {
		return "", fmt.Errorf("history: no entry %d", i)
	}
	return h.lines[i], nil
}

// Len implements history.Source.
func (h *history) Len() int { return len(h.lines) }

// Dump implements history.Source.
func (h *history) Dump() any { return h.lines }
