package traffic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// MaxRequests is the largest number of requests of a trace, and the largest expected number of
// a Poisson process.
const MaxRequests = 10_000_000

// Poisson returns the arrivals of a Poisson process: requests that do not know each other come
// at a rate a minute, until a time. The same seed gives the same arrivals.
func Poisson(perMinute float64, until time.Duration, seed uint64) (iter.Seq[time.Duration], error) {
	switch expected := perMinute * until.Minutes(); {
	case math.IsNaN(perMinute) || perMinute <= 0:
		return nil, fmt.Errorf("a rate of %v requests a minute is not positive", perMinute)
	case until <= 0 || until > MaxTime:
		return nil, fmt.Errorf("the time of %v must be positive and at most a year", until)
	case expected > MaxRequests:
		return nil, fmt.Errorf("%.4g requests are too many: at most %d", expected, MaxRequests)
	}
	mean := float64(time.Minute) / perMinute // nanoseconds
	return func(yield func(time.Duration) bool) {
		random := rand.New(rand.NewPCG(seed, 0))
		for at := mean * random.ExpFloat64(); at < float64(until); at += mean * random.ExpFloat64() {
			if !yield(time.Duration(at)) {
				return
			}
		}
	}, nil
}

// A Request is a line of a trace.
type Request struct {
	At             time.Duration // from the beginning
	Prompt, Answer int           // tokens
}

// ParseTrace reads a trace: a line for each request, with its time in seconds from the
// beginning, the tokens of its prompt and those of its answer, separated by spaces or commas.
// Empty lines and those that begin with # do not count. tokens is the largest sum of both, the
// context of a model. The error names the line.
func ParseTrace(r io.Reader, tokens int) (list []Request, err error) {
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		q, err := parseRequest(line, tokens)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		case len(list) > 0 && q.At < list[len(list)-1].At:
			return nil, fmt.Errorf("line %d: it comes at %v, before the line before it, at %v", number, q.At, list[len(list)-1].At)
		case len(list) == MaxRequests:
			return nil, fmt.Errorf("line %d: more than %d requests", number, MaxRequests)
		}
		list = append(list, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no requests")
	}
	return list, nil
}

// parseRequest parses a line.
func parseRequest(line string, tokens int) (q Request, err error) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	if len(fields) != 3 {
		return q, fmt.Errorf("%.60q must be a time in seconds, and the tokens of a prompt and of an answer", line)
	}
	seconds, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !(seconds >= 0 && seconds <= MaxTime.Seconds()) {
		return q, fmt.Errorf("the time %.40q must be seconds from 0 to a year", fields[0])
	}
	q.At = time.Duration(math.Round(seconds * float64(time.Second)))
	for i, to := range []*int{&q.Prompt, &q.Answer} {
		if *to, err = strconv.Atoi(fields[i+1]); err != nil || *to < 1 || *to > tokens {
			return q, fmt.Errorf("the number of tokens %.40q must be an integer from 1 to %d", fields[i+1], tokens)
		}
	}
	if q.Prompt+q.Answer > tokens {
		return q, fmt.Errorf("%d and %d tokens exceed the context of %d", q.Prompt, q.Answer, tokens)
	}
	return q, nil
}
