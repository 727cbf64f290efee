package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// Metrics are lines of a run's metrics.jsonl.
type Metrics struct {
	From  int64             // offset of the first byte read
	Next  int64             // offset for the next read
	More  bool              // more can be read now
	Lines []json.RawMessage // objects, as written in the file
}

// maxMetrics bounds one read of a metrics.jsonl, in bytes.
const maxMetrics = 1 << 20

// MetricsOf is [ReadMetrics] for a complete metrics.jsonl in memory.
func MetricsOf(text []byte, from int64) (m Metrics) {
	if from <= int64(len(text)) {
		m.From = from
	}
	end := min(int64(len(text)), m.From+maxMetrics)
	m.More = end < int64(len(text))
	m.take(text[m.From:end])
	return m
}

// ReadMetrics reads a part of the metrics.jsonl in dir, beginning with byte from. It
// returns only whole lines, since the run may be writing one, and skips lines that are
// not objects. If the file is shorter than from, it was begun anew and is read from its
// beginning. A missing file has no lines.
func ReadMetrics(fsys fs.FS, dir string, from int64) (m Metrics, err error) {
	name := path.Join(dir, MetricsFile)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	if from <= info.Size() {
		m.From = from
	}
	if err := skip(f, m.From); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMetrics))
	if err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	m.More = m.From+int64(len(text)) < info.Size()
	m.take(text)
	return m, nil
}

// skip seeks to a byte of a file.
func skip(f fs.File, to int64) error {
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(to, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, to)
	return err
}

// take splits text into lines. A last line without a line feed is left for the next time
// unless it is complete.
func (m *Metrics) take(text []byte) {
	end := bytes.LastIndexByte(text, '\n') + 1
	switch tail := bytes.TrimSpace(text[end:]); {
	case isObject(tail), end == 0 && m.More: // or longer than any line may be
		end = len(text)
	}
	m.Next = m.From + int64(end)
	for line := range bytes.Lines(text[:end]) {
		if line = bytes.TrimSpace(line); isObject(line) {
			m.Lines = append(m.Lines, json.RawMessage(line))
		}
	}
}

func isObject(b []byte) bool { return len(b) > 0 && b[0] == '{' && json.Valid(b) }
