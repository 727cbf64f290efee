package arch

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds of the expressions in lists of modules, and of the work of matching them.
const (
	maxPatterns     = 256
	maxPattern      = 256     // bytes
	maxPatternSteps = 4096    // of all expressions
	maxMatching     = 1 << 31 // steps times bytes of names
)

// targets choose the forms of a module's weight by its name: first the name itself, then expressions behind
// "re:", which match its beginning, in alphabetical order, then its class.
//
// Source: compressed-tensors, utils/match.py.
type targets struct {
	exact    map[string]*forms // by name or class
	patterns []pattern         // in alphabetical order
	steps    int               // of the expressions
	left     int               // of maxMatching
}

// A pattern is an expression.
type pattern struct {
	text       string
	expression *regexp.Regexp
	forms      *forms
}

func newTargets() *targets { return &targets{exact: map[string]*forms{}, left: maxMatching} }

// add reads a list of targets of f.
func (t *targets) add(c *config, key string, f *forms) {
	_, list, _ := read[[]string](c, key, "list of names")
	for _, target := range list {
		var err error
		if text, ok := strings.CutPrefix(target, "re:"); ok {
			err = t.addPattern(text, f)
		} else if other := t.exact[target]; other != nil && other != f {
			err = errTwice
		} else {
			t.exact[target] = f
		}
		if err != nil {
			c.reject(key, "%.80q: %v", target, err)
			return
		}
	}
}

var errTwice = errors.New("another group has it too")

// addPattern adds an expression. Go's run in linear time, so those that look ahead or behind are rejected.
func (t *targets) addPattern(text string, f *forms) error {
	at, found := slices.BinarySearchFunc(t.patterns, text, func(p pattern, text string) int { return strings.Compare(p.text, text) })
	switch {
	case found && t.patterns[at].forms != f:
		return errTwice
	case found:
		return nil
	case len(text) > maxPattern:
		return fmt.Errorf("an expression of %d bytes, at most %d", len(text), maxPattern)
	case len(t.patterns) == maxPatterns:
		return fmt.Errorf("more than %d expressions", maxPatterns)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("not supported: %w", err)
	}
	if t.steps += stepsOf(parsed); t.steps > maxPatternSteps {
		return fmt.Errorf("expressions of more than %d steps", maxPatternSteps)
	}
	expression, err := regexp.Compile("^(?:" + text + ")")
	if err != nil {
		return fmt.Errorf("not supported: %w", err)
	}
	t.patterns = slices.Insert(t.patterns, at, pattern{text, expression, f})
	return nil
}

// stepsOf returns about the number of instructions of an expression.
func stepsOf(e *syntax.Regexp) int {
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, sub := range e.Sub {
		n += stepsOf(sub)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return n
}

// find returns the forms of a module; nil: no target matches it.
func (t *targets) find(module string) (*forms, error) {
	if f := t.exact[module]; f != nil {
		return f, nil
	}
	if t.left -= t.steps * len(module); t.left < 0 {
		return nil, errors.New("its settings: too many modules and expressions to match")
	}
	for i := range t.patterns {
		if p := &t.patterns[i]; p.expression.MatchString(module) {
			return p.forms, nil
		}
	}
	class := "Linear"
	if strings.Contains(module[strings.LastIndexByte(module, '.')+1:], "embed") {
		class = "Embedding"
	}
	if f := t.exact[class]; f != nil {
		return f, nil
	}
	return t.exact["Module"], nil
}
