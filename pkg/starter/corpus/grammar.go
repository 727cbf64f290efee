package corpus

import (
	"fmt"
	"strings"
	"unicode"
)

// grammar is a set of rules that rewrite a name into text; novels.grammar describes its
// notation.
type grammar struct {
	rules map[string][]sequence // the alternatives of each rule
}

// sequence is one alternative: parts that are written one after another.
type sequence []part

// part is literal text, a reference to a rule, or a choice of sequences.
type part struct {
	text    string
	rule    string
	bound   bool // {rule}: expanded once in a piece
	choices []sequence
}

// parseGrammar reads the notation of novels.grammar.
func parseGrammar(source string) (*grammar, error) {
	g := &grammar{rules: map[string][]sequence{}}
	name := ""
	for i, line := range strings.Split(source, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			if err := g.add(name, line[1:]); err != nil {
				return nil, fmt.Errorf("grammar: line %d: %w", i+1, err)
			}
		default:
			list, words, isList := strings.Cut(line, " = ")
			name = list
			if g.rules[name] != nil {
				return nil, fmt.Errorf("grammar: line %d: rule %q is defined twice", i+1, name)
			}
			if !isList {
				continue
			}
			for w := range strings.SplitSeq(words, ", ") {
				if err := g.add(name, w); err != nil {
					return nil, fmt.Errorf("grammar: line %d: %w", i+1, err)
				}
			}
		}
	}
	return g, nil
}

// add parses one alternative of a rule.
func (g *grammar) add(rule, text string) error {
	seq, rest, err := parseSequence(text, 0)
	if err == nil && rest != "" {
		err = fmt.Errorf("unexpected %q", rest)
	}
	if err != nil {
		return err
	}
	g.rules[rule] = append(g.rules[rule], seq)
	return nil
}

// parseSequence reads up to the end of text or, inside a choice, to | or ).
func parseSequence(text string, depth int) (seq sequence, rest string, err error) {
	for text != "" {
		at := strings.IndexAny(text, "[{(|)")
		if at < 0 {
			return append(seq, part{text: text}), "", nil
		}
		if at > 0 {
			seq, text = append(seq, part{text: text[:at]}), text[at:]
		}
		switch text[0] {
		case '|', ')':
			if depth == 0 {
				return nil, "", fmt.Errorf("%q outside a choice", text[0])
			}
			return seq, text, nil
		case '(':
			var p part
			if p, text, err = parseChoice(text, depth); err != nil {
				return nil, "", err
			}
			seq = append(seq, p)
		default:
			end := strings.IndexAny(text, "]}")
			if end < 0 {
				return nil, "", fmt.Errorf("%q has no end", text)
			}
			seq = append(seq, part{rule: text[1:end], bound: text[0] == '{'})
			text = text[end+1:]
		}
	}
	return seq, "", nil
}

// parseChoice reads (a|b|c), starting at its parenthesis.
func parseChoice(text string, depth int) (p part, rest string, err error) {
	for {
		var seq sequence
		if seq, text, err = parseSequence(text[1:], depth+1); err != nil {
			return part{}, "", err
		}
		p.choices = append(p.choices, seq)
		if text == "" {
			return part{}, "", fmt.Errorf("choice without )")
		}
		if text[0] == ')' {
			return p, text[1:], nil
		}
	}
}

// find returns the rule of a reference. A capitalised reference without a rule of its own
// means the text of the lower-case rule, capitalised.
func (g *grammar) find(name string) (rule string, capital bool) {
	if _, ok := g.rules[name]; ok {
		return name, false
	}
	low := strings.ToLower(name[:1]) + name[1:]
	return low, low != name
}

// writer expands a grammar for one piece.
type writer struct {
	g     *grammar
	d     *dice
	bound map[string]string // the text of {rule} in this piece

	// paraphrase, if not nil, remembers the alternative of {rule} instead of its text, so
	// that the choices in it are made anew each time.
	paraphrase *meaning
}

// expand writes one alternative of the rule to a string.
func (w *writer) expand(name string, bound bool) string {
	if text, ok := w.bound[name]; ok && bound {
		return text
	}
	rule, capital := w.g.find(name)
	text, ok := w.bound[rule]
	if !ok || !bound {
		text = w.sequence(w.alternative(rule, bound))
		if bound && w.paraphrase == nil {
			w.bound[rule] = text
		}
	}
	if capital {
		text = capitalised(text)
	}
	return text
}

// alternative draws one of a rule, or returns the one that the meaning of a pair has.
func (w *writer) alternative(rule string, bound bool) sequence {
	if !bound || w.paraphrase == nil {
		return pick(w.d, w.g.rules[rule])
	}
	return w.g.rules[rule][w.paraphrase.choose(rule, func() int { return w.d.n(len(w.g.rules[rule])) })]
}

func (w *writer) sequence(seq sequence) string {
	var b strings.Builder
	for _, p := range seq {
		switch {
		case p.choices != nil:
			b.WriteString(w.sequence(pick(w.d, p.choices)))
		case p.rule != "":
			b.WriteString(w.expand(p.rule, p.bound))
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// capitalised makes the first letter a capital, also after a quotation mark.
func capitalised(text string) string {
	i := strings.IndexFunc(text, unicode.IsLetter)
	if i < 0 {
		return text
	}
	return text[:i] + strings.ToUpper(text[i:i+1]) + text[i+1:]
}
