package grammar

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// Canonical returns the text of a decoded JSON value in the grammar; ok reports whether
// there is one, so whether the value is valid. Values are map[string]any, []any, string,
// json.Number, bool and nil; others have no text. Canonical searches, because the grammar
// determines the order of members and the spelling of numbers. It gives up if the search is
// out of proportion to the value.
func (g *Grammar) Canonical(value any) (text string, ok bool) {
	s := &search{orders: newOrders(g.program), reader: g.machine.Begin()}
	s.todo = &task{part: s.part(value)}
	if !s.run() {
		return "", false
	}
	return string(s.out), true
}

// A search writes a value part by part, matches its output against the grammar, and
// backtracks to the last place with another way. It keeps its stacks in lists, so that deep
// values do not deepen the call stack.
type search struct {
	orders   *orders
	reader   *pushdown.Reader // after out
	out      []byte
	todo     *task // nil: the value is written
	choices  []choice
	openWays int // open ways of the readers in choices
	readWays int // open ways, summed over the bytes read
	longest  int // maximum of len(out) so far
	dropped  int // bytes of out removed by backtracking, and one for each backtrack
}

// A task is a list of parts to write. Tasks are immutable: ways share their tails.
type task struct {
	part part
	next *task
}

// A choice is a place with another way to try.
type choice struct {
	task   *task
	way    int
	at     int // bytes written before it
	reader *pushdown.Reader
}

// A part of a value can be written in several ways. The grammar may allow only some.
type part interface {
	ways() int
	// write writes one way, and puts the rest of the part before s.todo.
	write(s *search, way int) bool
}

// Backtracking may remove maxDropped bytes, plus maxDroppedFactor times the longest text.
const (
	maxDropped       = 100_000
	maxDroppedFactor = 16
)

// maxOpenWays bounds the open ways at all choices: 64 MB. maxReadWays bounds the open ways at all
// bytes that are read: some seconds.
const (
	maxOpenWays = 1 << 21
	maxReadWays = 1 << 24
)

func (s *search) run() bool {
	for s.todo != nil || !s.reader.Accepts() {
		if (s.todo == nil || !s.take(s.todo, 0)) && !s.backtrack() {
			return false
		}
	}
	return true
}

// take writes a task in one of its ways, and records the next way as a choice.
func (s *search) take(t *task, way int) bool {
	ways := t.part.ways()
	if way+1 < ways {
		if s.openWays += s.reader.Ways(); s.openWays > maxOpenWays {
			s.choices = nil
			return false
		}
		s.choices = append(s.choices, choice{t, way + 1, len(s.out), s.reader.Clone()})
	}
	s.todo = t.next
	return way < ways && t.part.write(s, way)
}

// backtrack returns to the last choice and takes its way.
func (s *search) backtrack() bool {
	for len(s.choices) > 0 {
		last := len(s.choices) - 1
		c := s.choices[last]
		s.choices = s.choices[:last]
		s.openWays -= c.reader.Ways()
		s.longest = max(s.longest, len(s.out))
		s.dropped += len(s.out) - c.at + 1
		if s.dropped > maxDropped+maxDroppedFactor*s.longest {
			return false
		}
		s.out, s.reader = s.out[:c.at], c.reader
		if s.take(c.task, c.way) {
			return true
		}
	}
	return false
}

// read writes text if the grammar allows it.
func (s *search) read(text string) bool {
	for i := range len(text) {
		if s.readWays += s.reader.Ways(); s.readWays > maxReadWays {
			s.choices = nil
			return false
		}
		if !s.reader.Read(text[i]) {
			return false
		}
	}
	s.out = append(s.out, text...)
	return true
}

// push puts parts before the tasks.
func (s *search) push(first, second part) {
	s.todo = &task{first, &task{second, s.todo}}
}

// part returns a value as a part.
func (s *search) part(value any) part {
	switch v := value.(type) {
	case nil:
		return spellings{"null"}
	case bool:
		return spellings{strconv.FormatBool(v)}
	case string:
		return spellings{automaton.Quote(v)}
	case json.Number:
		list := spellings{string(v)}
		if short, ok := plain(string(v)); ok {
			for _, text := range []string{short, automaton.Exponential(short)} {
				if !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
		}
		return list
	case []any:
		return items{v, 0}
	case map[string]any:
		return object{v, s.orders.of(v), s.orders.free}
	}
	return spellings{}
}

// spellings are texts of one value.
type spellings []string

func (p spellings) ways() int { return len(p) }

func (p spellings) write(s *search, way int) bool { return s.read(p[way]) }

// items is the rest of an array from item at on, with the bracket if at is 0.
type items struct {
	list []any
	at   int
}

func (items) ways() int { return 1 }

func (p items) write(s *search, _ int) bool {
	mark := ","
	if p.at == 0 {
		mark = "["
	}
	switch {
	case p.at < len(p.list):
		s.push(s.part(p.list[p.at]), items{p.list, p.at + 1})
	case p.at == 0:
		mark = "[]"
	default:
		mark = "]"
	}
	return s.read(mark)
}

// object is an object. Its members are written in one of several orders or, if free is set,
// in any order.
type object struct {
	values map[string]any
	orders [][]string
	free   bool
}

func (p object) ways() int {
	if p.free {
		return len(p.orders) + 1
	}
	return len(p.orders)
}

func (p object) write(s *search, way int) bool {
	rest := members{values: p.values, mark: "{"}
	if rest.free = way == len(p.orders); rest.free {
		way = 0
	}
	rest.keys = p.orders[way]
	s.todo = &task{rest, s.todo}
	return true
}

// members is the rest of an object after mark.
type members struct {
	values map[string]any
	keys   []string
	mark   string // "{" or ","
	free   bool   // any of keys may be the next, else the first
}

func (p members) ways() int {
	if p.free {
		return max(1, len(p.keys))
	}
	return 1
}

func (p members) write(s *search, way int) bool {
	if len(p.keys) == 0 {
		if p.mark == "{" {
			return s.read("{}")
		}
		return s.read("}")
	}
	key, mark := p.keys[way], p.mark
	rest := p
	rest.keys, rest.mark = p.keys[1:], ","
	if way > 0 {
		rest.keys = make([]string, 0, len(p.keys)-1)
		rest.keys = append(append(rest.keys, p.keys[:way]...), p.keys[way+1:]...)
	}
	s.push(s.part(p.values[key]), rest)
	return s.read(mark + automaton.Quote(key) + ":")
}

// mostDigits bounds the numbers that are written without their exponent.
const mostDigits = 1024

// plain returns a JSON number without exponent and without redundant zeros: 1e3 as 1000,
// 1.50 as 1.5, -0 as 0.
func plain(number string) (string, bool) {
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[at+1:]); err != nil {
			return "", false
		}
		digits = digits[:at]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = whole + fraction
	point := len(whole) + exponent // number of digits before the decimal point
	if whole == "" || strings.Trim(digits, "0123456789") != "" || point < -mostDigits || point > mostDigits {
		return "", false
	}
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	text := whole
	if whole == "" {
		text = "0"
	}
	if fraction != "" {
		text += "." + fraction
	}
	if negative && text != "0" {
		text = "-" + text
	}
	return text, true
}
