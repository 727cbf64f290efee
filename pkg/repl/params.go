package repl

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/llm"
)

// maxStops is how many stop strings a request may have, as in the dialects.
const maxStops = 8

// A param is a parameter that a person can set.
type param struct {
	name, about string
	set         func(p *llm.Params, text string) error // "" unsets it
	get         func(p *llm.Params) any                // nil: not set
}

// params returns the table of parameters, under OpenAI's names where it has one.
func params() []param {
	return []param{
		float("temperature", "0 always takes the likeliest token", 0, 2, func(p *llm.Params) **float64 { return &p.Temperature }),
		float("top_p", "draw among tokens that add up to this probability", 0, 1, func(p *llm.Params) **float64 { return &p.TopP }),
		whole("top_k", "draw among this many likeliest tokens; 0: all", 0, func(p *llm.Params) **int { return &p.TopK }),
		whole("max_tokens", "maximum tokens of an answer", 1, func(p *llm.Params) **int { return &p.MaxTokens }),
		seed(),
		stop(),
		float("presence_penalty", "against tokens that occurred", -2, 2, func(p *llm.Params) **float64 { return &p.PresencePenalty }),
		float("frequency_penalty", "against tokens for each time that they occurred", -2, 2, func(p *llm.Params) **float64 { return &p.FrequencyPenalty }),
		float("repetition_penalty", "against tokens that occurred, as a factor; 1: off", 0, 10, func(p *llm.Params) **float64 { return &p.RepetitionPenalty }),
	}
}

// float returns a row for a number from lo to hi.
func float(name, about string, lo, hi float64, field func(*llm.Params) **float64) param {
	open := name == "top_p" || name == "repetition_penalty" // 0 itself makes no sense
	return param{name, about, func(p *llm.Params, text string) error {
		if text == "" {
			*field(p) = nil
			return nil
		}
		v, err := strconv.ParseFloat(text, 64)
		switch valid := err == nil && !math.IsNaN(v) && v >= lo && v <= hi; {
		case open && (!valid || v == lo):
			return fmt.Errorf("%s must be a number above %v and at most %v", name, lo, hi)
		case !valid:
			return fmt.Errorf("%s must be a number from %v to %v", name, lo, hi)
		}
		*field(p) = &v
		return nil
	}, func(p *llm.Params) any { return value(*field(p)) }}
}

// whole returns a row for a whole number of at least lo.
func whole(name, about string, lo int, field func(*llm.Params) **int) param {
	return param{name, about, func(p *llm.Params, text string) error {
		if text == "" {
			*field(p) = nil
			return nil
		}
		v, err := strconv.Atoi(text)
		switch {
		case (err != nil || v < lo) && lo == 1:
			return fmt.Errorf("%s must be a positive integer", name)
		case err != nil || v < lo:
			return fmt.Errorf("%s must be an integer of at least %d", name, lo)
		}
		*field(p) = &v
		return nil
	}, func(p *llm.Params) any { return value(*field(p)) }}
}

// seed returns the row of the seed.
func seed() param {
	return param{"seed", "the same seed gives the same answers", func(p *llm.Params, text string) error {
		if text == "" {
			p.Seed = nil
			return nil
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("seed must be an integer")
		}
		p.Seed = &v
		return nil
	}, func(p *llm.Params) any { return value(p.Seed) }}
}

// stop returns the row of the stop strings: a text, or a JSON string or array of strings.
func stop() param {
	return param{"stop", `end before this text: stop=END, stop="\n", stop=["a","b"]`, func(p *llm.Params, text string) error {
		list := []string{text}
		switch {
		case text == "":
			p.Stop = nil
			return nil
		case text[0] == '"':
			list[0] = ""
			if json.Unmarshal([]byte(text), &list[0]) != nil {
				return fmt.Errorf("stop: %s is not a JSON string", text)
			}
		case text[0] == '[':
			if json.Unmarshal([]byte(text), &list) != nil {
				return fmt.Errorf("stop: %s is not a JSON array of strings", text)
			}
		}
		if len(list) == 0 || len(list) > maxStops || slices.Contains(list, "") {
			return fmt.Errorf("stop must be 1 to %d strings that are not empty", maxStops)
		}
		p.Stop = list
		return nil
	}, func(p *llm.Params) any {
		if p.Stop == nil {
			return nil
		}
		return p.Stop
	}}
}

// value returns what p points to, nil for nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Names returns the names of the parameters that [Set] sets.
func Names() (names []string) {
	for _, row := range params() {
		names = append(names, row.name)
	}
	return names
}

// Set sets a parameter by an assignment: "top_p=0.9". Without a value it unsets it.
func Set(p *llm.Params, assignment string) error {
	name, text, ok := strings.Cut(assignment, "=")
	name = strings.TrimSpace(name)
	for _, row := range params() {
		if row.name != name {
			continue
		}
		if !ok {
			return fmt.Errorf("%s needs a value: %s=VALUE", name, name)
		}
		return row.set(p, strings.TrimSpace(text))
	}
	if near := nearest(name, Names()); near != "" {
		return fmt.Errorf("there is no parameter %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no parameter %q: use %s", name, anyOf(Names()))
}

// assignments splits k=v k=v; a value may be a JSON string or array.
func assignments(text string) (list []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := strings.IndexAny(text, " \t\n")
		if eq := strings.IndexByte(text, '='); eq >= 0 && (end < 0 || eq < end) && eq+1 < len(text) && (text[eq+1] == '"' || text[eq+1] == '[') {
			d := json.NewDecoder(strings.NewReader(text[eq+1:]))
			var v any
			if err := d.Decode(&v); err != nil {
				return nil, fmt.Errorf("%s is not JSON", text[eq+1:])
			}
			end = eq + 1 + int(d.InputOffset())
		}
		if end < 0 {
			end = len(text)
		}
		list, text = append(list, text[:end]), text[end:]
	}
	return list, nil
}

// showParams prints the parameters and those that are set.
func (s *session) showParams() {
	for _, row := range params() {
		text := "not set"
		if v := row.get(&s.Params); v != nil {
			b, err := json.Marshal(v)
			if err == nil { // of numbers and strings always
				text = string(b)
			}
		}
		s.remark(fmt.Sprintf("  %-18s %-10s %s", row.name, text, row.about))
	}
}

// setParams sets all parameters of text, or none.
func (s *session) setParams(text string) error {
	list, err := assignments(text)
	if err != nil {
		return err
	}
	p := s.Params
	for _, assignment := range list {
		if err := Set(&p, assignment); err != nil {
			return err
		}
	}
	s.Params = p
	s.note(strings.Join(list, " "))
	return nil
}
