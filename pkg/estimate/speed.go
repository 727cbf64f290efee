package estimate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A Measurement is a line that glossa bench --json prints, as far as it matters here.
type Measurement struct {
	Shape           string  `json:"shape"`
	Quant           string  `json:"quant"`
	Threads         int     `json:"threads"`
	Batch           int     `json:"batch"`
	Phase           string  `json:"phase"`
	TokensPerSecond float64 `json:"tokens_per_second"` // of all rows together
}

// Phases of a measurement.
const (
	Prefill = "prefill"
	Decode  = "decode"
)

// Bounds of a table, and of the tokens a second of a measurement.
const (
	maxMeasurements  = 100_000
	slowest, fastest = 1e-6, 1e12
)

// ParseMachine reads measurements of a machine, one JSON object after the other. One with "cpu",
// which describes the machine, does not count.
func ParseMachine(r io.Reader) (list []Measurement, err error) {
	for in := json.NewDecoder(r); ; {
		var m struct {
			Measurement
			CPU string `json:"cpu"`
		}
		switch err := in.Decode(&m); {
		case err == io.EOF && len(list) == 0:
			return nil, errors.New("it has no measurements")
		case err == io.EOF:
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("measurement %d: %w", len(list)+1, err)
		case m.CPU != "":
			continue
		}
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("measurement %d: %w", len(list)+1, err)
		}
		if list = append(list, m.Measurement); len(list) > maxMeasurements {
			return nil, fmt.Errorf("more than %d measurements", maxMeasurements)
		}
	}
}

func (m *Measurement) check() error {
	switch {
	case m.Shape == "" || m.Quant == "":
		return errors.New("it has no shape or no quant: it must be a line of glossa bench --json")
	case m.Phase != Prefill && m.Phase != Decode:
		return fmt.Errorf("the phase %.20q must be %s or %s", m.Phase, Prefill, Decode)
	case m.Threads < 1 || m.Batch < 1:
		return fmt.Errorf("%d threads and a batch of %d must be positive", m.Threads, m.Batch)
	case !(m.TokensPerSecond >= slowest && m.TokensPerSecond <= fastest):
		return fmt.Errorf("%v tokens a second: that must be from %g to %g", m.TokensPerSecond, slowest, fastest)
	}
	return nil
}

// A Speed is how fast a machine computes a model, by the number of processors.
type Speed struct {
	Shape   string // whose measurements they are
	Scaled  bool   // from those of another shape
	Threads int    // the most that were measured; more are extrapolated
	Batch   int    // the largest that was measured

	prefill curve         // of a token of a prompt
	decode  map[int]curve // of a pass, by the number of rows
}

// NewSpeed returns the speed of a model from measurements in its format: its own or, scaled by
// the work, those of the shape of the most similar size. shape returns the work of a measured
// shape.
//
// The scale is a roofline: a pass that generates reads the weights once, and a prompt is
// arithmetic (Williams et al. 2009).
func NewSpeed(list []Measurement, m *Model, shape func(name string) (Work, bool)) (*Speed, error) {
	shapes := map[string]Work{}
	var others []string // formats
	for _, one := range list {
		if err := one.check(); err != nil {
			return nil, err
		}
		work, ok := shape(one.Shape)
		switch {
		case one.Quant != m.Format:
			others = append(others, one.Quant)
		case one.Shape == m.Name:
			shapes[one.Shape] = m.Work
		case ok && work.Bytes > 0 && work.Operations > 0:
			shapes[one.Shape] = work
		}
	}
	if len(shapes) == 0 {
		return nil, fmt.Errorf("there are no measurements of %s, or of a shape, in %s%s", m.Name, m.Format, instead(others))
	}
	distance := func(name string) float64 {
		if name == m.Name {
			return -1
		}
		return math.Abs(math.Log(float64(shapes[name].Bytes) / float64(m.Work.Bytes)))
	}
	nearest := slices.MinFunc(slices.Sorted(maps.Keys(shapes)), func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	s := &Speed{Shape: nearest, Scaled: nearest != m.Name, decode: map[int]curve{}}
	of := shapes[nearest]
	s.add(list, m, float64(m.Work.Bytes)/float64(of.Bytes), float64(m.Work.Operations)/float64(of.Operations))
	if len(s.prefill) == 0 || len(s.decode) == 0 {
		return nil, fmt.Errorf("%s was not measured in both phases in %s: %s and %s", nearest, m.Format, Prefill, Decode)
	}
	return s, nil
}

// instead names the formats that were measured.
func instead(formats []string) string {
	slices.Sort(formats)
	if formats = slices.Compact(formats); len(formats) == 0 {
		return ""
	}
	return "; there are some in " + strings.Join(formats, ", ")
}

// add adds the measurements of the shape, with times multiplied by what the model needs more.
// Prompts are computed one after the other, so those of the smallest batch count.
func (s *Speed) add(list []Measurement, m *Model, bytes, operations float64) {
	smallest := math.MaxInt
	for _, one := range list {
		if one.Shape == s.Shape && one.Quant == m.Format && one.Phase == Prefill {
			smallest = min(smallest, one.Batch)
		}
	}
	for _, one := range list {
		switch {
		case one.Shape != s.Shape || one.Quant != m.Format:
			continue
		case one.Phase == Decode:
			s.decode[one.Batch] = s.decode[one.Batch].with(one.Threads, float64(one.Batch)/one.TokensPerSecond*bytes)
			s.Batch = max(s.Batch, one.Batch)
		case one.Batch == smallest:
			s.prefill = s.prefill.with(one.Threads, operations/one.TokensPerSecond)
		}
		s.Threads = max(s.Threads, one.Threads)
	}
	s.prefill.flatten()
	for _, c := range s.decode {
		c.flatten()
	}
}

// Pass returns the seconds of a pass that appends a token to each of a number of rows. Between
// measured batches it is interpolated; beyond the largest, more rows need more passes.
func (s *Speed) Pass(processors float64, rows int) float64 {
	batches := slices.Sorted(maps.Keys(s.decode))
	last := batches[len(batches)-1]
	if rows >= last {
		return s.decode[last].at(processors) * float64(rows) / float64(last)
	}
	i, ok := slices.BinarySearch(batches, rows)
	if ok || i == 0 { // fewer rows than measured take no more time
		return s.decode[batches[i]].at(processors)
	}
	low, high := batches[i-1], batches[i]
	a, b := s.decode[low].at(processors), s.decode[high].at(processors)
	return a + (b-a)*float64(rows-low)/float64(high-low)
}

// Time returns the time to the first token and to the last one, if so many such requests run
// at once and share the processors.
func (s *Speed) Time(processors float64, r Request, rows int) (first, last time.Duration) {
	prompt := float64(r.Prompt) * s.prefill.at(processors) * float64(rows)
	return duration(prompt), duration(prompt + float64(r.Answer-1)*s.Pass(processors, rows))
}

// Gain returns how many times faster texts are generated with the most measured threads than
// with the fewest, and their ratio, which it cannot exceed.
func (s *Speed) Gain() (gain, threads float64) {
	for _, batch := range slices.Sorted(maps.Keys(s.decode)) {
		c := s.decode[batch]
		first, last := c[0], c[len(c)-1]
		return first.seconds / last.seconds, last.threads / first.threads
	}
	return 1, 1
}

// A curve is a time by the number of threads, the fewest first.
type curve []point

type point struct{ threads, seconds float64 }

// with returns the curve with a point; it replaces one of as many threads.
func (c curve) with(threads int, seconds float64) curve {
	i, ok := slices.BinarySearchFunc(c, float64(threads), func(p point, t float64) int { return cmp.Compare(p.threads, t) })
	if ok {
		c[i].seconds = seconds
		return c
	}
	return slices.Insert(c, i, point{float64(threads), seconds})
}

// flatten lets no number of threads be slower than a smaller one: an engine can leave some idle.
func (c curve) flatten() {
	for i := 1; i < len(c); i++ {
		c[i].seconds = min(c[i].seconds, c[i-1].seconds)
	}
}

// at returns the time with a number of processors, which need not be whole. Fewer processors
// than measured are a share of their time. Between measurements and beyond them a part of the
// time does not shrink and the rest is divided; beyond a single number of threads nothing is
// known, and nothing gained.
//
// Source: Amdahl, Validity of the single processor approach, 1967.
func (c curve) at(processors float64) float64 {
	first, last := c[0], c[len(c)-1]
	if processors <= first.threads {
		return first.seconds * first.threads / processors
	}
	if processors >= last.threads {
		if len(c) == 1 {
			return last.seconds
		}
		return min(last.seconds, max(line(first, last, processors), last.seconds*last.threads/processors))
	}
	i, _ := slices.BinarySearchFunc(c, processors, func(p point, t float64) int { return cmp.Compare(p.threads, t) })
	return line(c[i-1], c[i], processors)
}

// line returns the time with a number of processors on the line through two points over
// 1/processors.
func line(a, b point, processors float64) float64 {
	share := (1/a.threads - 1/processors) / (1/a.threads - 1/b.threads)
	return a.seconds + (b.seconds-a.seconds)*share
}
