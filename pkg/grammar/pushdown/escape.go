package pushdown

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
)

// maxEscapedBytes bounds the constants of a rule with characters that a vocabulary lacks, less
// what they have in common at the beginning.
const maxEscapedBytes = 1 << 17

// escapedFor returns m with \u escapes in the constants and the declared keys of JSON that v cannot
// spell otherwise, or m itself if there are none.
func (m *Machine) escapedFor(budget *automaton.Budget, v *Vocabulary) (*Machine, error) {
	if !m.json || v.spellsUTF8() {
		return m, nil
	}
	p, changed := &Program{Rules: make([]Rule, len(m.rules)), Start: m.start, JSON: true}, false
	made := map[*automaton.DFA]*automaton.DFA{}
	p.quote = func(name string) string { return v.escaped(automaton.Quote(name)) }
	for i := range m.rules {
		r := m.rules[i].Rule
		switch {
		case r.Text != nil && r.Text.JSON && !r.Text.Counted:
			d, ok := made[r.Text.DFA]
			if !ok {
				var err error
				if d, err = v.escapedTexts(budget, r.Text.DFA); err != nil {
					return nil, &RuleError{ID(i), err}
				}
				made[r.Text.DFA] = d
			}
			if d != r.Text.DFA {
				t := *r.Text
				t.DFA, changed = d, true
				r.Text = &t
			}
		case r.Object != nil:
			for _, key := range m.rules[i].object.keys {
				changed = changed || v.escaped(key) != key
			}
		}
		p.Rules[i] = r
	}
	if !changed {
		return m, nil
	}
	return NewWithin(budget, p)
}

// spellsUTF8 reports whether each byte of characters beyond ASCII is a token.
func (v *Vocabulary) spellsUTF8() bool {
	for b := 0x80; b <= 0xF4; b++ {
		if b != 0xC0 && b != 0xC1 && !v.isToken[b] {
			return false
		}
	}
	return true
}

// escaped returns a JSON text with escapes in place of the characters beyond ASCII that v cannot
// spell, if it cannot spell the text otherwise and has the escapes.
func (v *Vocabulary) escaped(text string) string {
	if isASCII(text) || v.spell(text)[0] < never {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if escape := jsonEscape(r); r >= utf8.RuneSelf && v.spell(string(r))[0] >= never && v.spell(escape)[0] < never {
			b.WriteString(escape)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// jsonEscape returns the escape of a character; RFC 8259, section 7.
func jsonEscape(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escapedTexts returns the automaton of the texts of d, escaped. It is d itself if none changes, or
// if they are not few.
func (v *Vocabulary) escapedTexts(budget *automaton.Budget, d *automaton.DFA) (*automaton.DFA, error) {
	if d.Empty() || !finite(d) || !readsBeyondASCII(d) {
		return d, nil
	}
	texts, read := []string(nil), 0
	var visit func(state int32, text []byte) bool
	visit = func(state int32, text []byte) bool {
		s := &d.States[state]
		if s.Accept {
			texts = append(texts, string(text))
		}
		for _, e := range s.Edges {
			for b := int(e.Lo); b <= int(e.Hi); b++ {
				if read++; read > maxEscapedBytes || budget.Spend(16, 96) != nil || !visit(e.To, append(text, byte(b))) {
					return false
				}
			}
		}
		return true
	}
	if !visit(0, nil) {
		return d, budget.Err()
	}
	changed := false
	for i, text := range texts {
		texts[i] = v.escaped(text)
		changed = changed || texts[i] != text
	}
	if !changed {
		return d, nil
	}
	return automaton.Literals(texts), budget.Err()
}

func readsBeyondASCII(d *automaton.DFA) bool {
	for i := range d.States {
		for _, e := range d.States[i].Edges {
			if e.Hi >= utf8.RuneSelf {
				return true
			}
		}
	}
	return false
}
