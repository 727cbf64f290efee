package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const metricsName = "metrics.jsonl"

// A metricsFile is metrics.jsonl, open for appending.
type metricsFile struct {
	*os.File
	last time.Duration // of the previous line
	step int
}

// A metricsLine is a line of metrics.jsonl.
type metricsLine struct {
	Step         int      `json:"step"`
	Loss         float64  `json:"loss"`
	ValLoss      *float64 `json:"valLoss,omitempty"`
	LR           float64  `json:"lr"`
	GradNorm     float64  `json:"gradNorm"`
	ElapsedMS    float64  `json:"elapsed_ms"`
	TokensPerSec float64  `json:"tokens_per_sec"`
	MSPerIter    float64  `json:"ms_per_iter"`
}

// openMetrics drops the lines after step and opens the file. It returns the time that
// earlier calls have taken.
func (d runDir) openMetrics(step int) (*metricsFile, time.Duration, error) {
	raw, err := os.ReadFile(filepath.Join(string(d), metricsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	var kept bytes.Buffer
	m := &metricsFile{}
	for line := range bytes.Lines(raw) {
		var l metricsLine
		if json.Unmarshal(line, &l) != nil || l.Step > step || l.Step <= m.step || !bytes.HasSuffix(line, []byte("\n")) {
			continue // incomplete, or of a part that is run again
		}
		kept.Write(line)
		m.step, m.last = l.Step, time.Duration(l.ElapsedMS*float64(time.Millisecond))
	}
	if !bytes.Equal(kept.Bytes(), raw) {
		if err := d.write(metricsName, func(w io.Writer) error {
			_, err := w.Write(kept.Bytes())
			return err
		}); err != nil {
			return nil, 0, err
		}
	}
	m.File, err = os.OpenFile(filepath.Join(string(d), metricsName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	return m, m.last, err
}

// append writes the line of p; speeds are means since the previous line.
func (m *metricsFile) append(p Progress, tokens int) error {
	steps := p.Step - m.step
	took := max((p.Elapsed - m.last).Seconds(), 1e-9)
	m.step, m.last = p.Step, p.Elapsed
	raw, err := json.Marshal(metricsLine{
		Step: p.Step, Loss: p.Loss, ValLoss: p.ValLoss, LR: p.LR, GradNorm: p.GradNorm,
		ElapsedMS: float64(p.Elapsed.Microseconds()) / 1e3, TokensPerSec: float64(tokens*steps) / took, MSPerIter: took * 1e3 / float64(steps),
	})
	if err != nil {
		return err
	}
	_, err = m.Write(append(raw, '\n'))
	return err
}

func (m *metricsFile) sync() error { return m.Sync() }

func (m *metricsFile) close() error { return m.Close() }
