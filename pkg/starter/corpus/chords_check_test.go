package corpus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckProgression returns the first fault of one line of Chords: an unknown key, style
// or section, a chord that no style of its family uses in the key, a phrase that is not
// of four chords, begins or rests on the wrong function or makes a step outside
// functional harmony, a line without its cadence.
func CheckProgression(line string) error {
	words := strings.Fields(line)
	if len(words) < 4 || words[2] != ":" {
		return errors.New(`progression: does not begin "key style :"`)
	}
	v, err := findVoice(words[0], words[1])
	if err != nil {
		return err
	}
	if !slices.Contains(sectionNames, words[3]) {
		return fmt.Errorf("progression: unknown section %q", words[3])
	}
	phrases := splitWords(words[4:], "|")
	if n := len(phrases); n < 2 || n > 4 {
		return fmt.Errorf("progression: %d phrases, want 2 to 4", n)
	}
	for i, p := range phrases {
		if err := v.checkPhrase(p, i == len(phrases)-1); err != nil {
			return fmt.Errorf("progression: phrase %d: %w", i+1, err)
		}
	}
	return nil
}

// findVoice finds the key and style by name.
func findVoice(key, style string) (*voice, error) {
	k := slices.IndexFunc(chordKeys, func(k chordKey) bool { return k.name == key })
	if k < 0 {
		return nil, fmt.Errorf("progression: unknown key %q", key)
	}
	s := slices.IndexFunc(chordStyles, func(s chordStyle) bool { return s.name == style })
	if s < 0 {
		return nil, fmt.Errorf("progression: unknown style %q", style)
	}
	return newVoice(chordKeys[k], chordStyles[s]), nil
}

// splitWords splits words at every sep.
func splitWords(words []string, sep string) [][]string {
	out := [][]string{nil}
	for _, w := range words {
		if w == sep {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], w)
	}
	return out
}

// checkPhrase follows all readings of the symbols as degrees at once; the phrase is right
// if one reading reaches its end.
func (v *voice) checkPhrase(p []string, final bool) error {
	if len(p) != phraseChords {
		return fmt.Errorf("%d chords, want %d", len(p), phraseChords)
	}
	var at []int
	for i, sym := range p {
		meant, known := v.degree[sym]
		if !known {
			return fmt.Errorf("%q is not a %s chord of %s", sym, v.style.name, v.key.name)
		}
		at = slices.DeleteFunc(slices.Clone(meant), func(g int) bool {
			switch {
			case i == 0:
				return !v.opens(g)
			case !slices.ContainsFunc(at, func(from int) bool { return v.follows(from, g) }):
				return true
			case i == phraseChords-1:
				return !v.rests(g) || final && g != 0
			case i == phraseChords-2 && final:
				return !v.closes(g)
			}
			return false
		})
		if len(at) == 0 {
			return fmt.Errorf("%q cannot stand at place %d of %q", sym, i+1, p)
		}
	}
	return nil
}

// ChordWords lists every word that Chords may write, sorted.
func ChordWords() []string {
	words := append([]string{":", "|"}, sectionNames...)
	for _, k := range chordKeys {
		words = append(words, k.name)
		for _, s := range chordStyles {
			words = append(words, s.name)
			for sym := range newVoice(k, s).degree {
				words = append(words, sym)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
