package hf

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readBertNormalizer reads BERT's normalizer. Without strip_accents, marks are removed if
// letters become small.
//
// Source: Hugging Face's tokenizers, normalizers/bert.rs; Devlin et al. 2018, tokenization.py.
func readBertNormalizer(s *fileStep) (normalStep, error) {
	if s.CleanText == nil || s.ChineseChars == nil || s.Lowercase == nil {
		return normalStep{}, errors.New("clean_text, handle_chinese_chars or lowercase is missing")
	}
	strip := *s.Lowercase
	if s.StripAccents != nil {
		strip = *s.StripAccents
	}
	var steps []func(string) string
	if *s.CleanText {
		steps = append(steps, mapValid(cleanRune))
	}
	if *s.ChineseChars {
		steps = append(steps, func(text string) string { return eachValid(text, spaceIdeographs) })
	}
	if strip {
		steps = append(steps, canonical(norm.NFD), mapValid(removeIn(nonspacingMarks)))
	}
	if *s.Lowercase {
		steps = append(steps, lower)
	}
	return normalStep{apply: func(text string) string {
		for _, step := range steps {
			text = step(text)
		}
		return text
	}}, nil
}

// mapValid returns a function that maps each valid rune; a negative result removes it.
func mapValid(mapping func(rune) rune) func(string) string {
	return func(text string) string {
		return eachValid(text, func(text string) string { return strings.Map(mapping, text) })
	}
}

// removeIn returns a mapping that removes the runes of a table.
func removeIn(table *unicode.RangeTable) func(rune) rune {
	return func(r rune) rune {
		if r >= 0x300 && unicode.Is(table, r) { // the first mark
			return -1
		}
		return r
	}
}

// cleanRune removes control characters and maps white space to a space.
func cleanRune(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		if r == '\v' || r == '\f' || r == 0x85 { // control characters to the reference
			return -1
		}
		return ' '
	case unicode.Is(controls, r):
		return -1
	}
	return r
}

// spaceIdeographs puts a space on both sides of each ideograph.
func spaceIdeographs(text string) string {
	at := strings.IndexFunc(text, isIdeograph)
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(2 * len(text))
	b.WriteString(text[:at])
	for _, r := range text[at:] {
		if isIdeograph(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isIdeograph reports whether r is in one of BERT's blocks of ideographs. The fifth block
// begins 256 runes late, as in the reference.
func isIdeograph(r rune) bool {
	return r >= 0x3400 && (r <= 0x4dbf || 0x4e00 <= r && r <= 0x9fff || 0xf900 <= r && r <= 0xfaff ||
		0x20000 <= r && r <= 0x2a6df || 0x2a700 <= r && r <= 0x2b73f || 0x2b740 <= r && r <= 0x2b81f ||
		0x2b920 <= r && r <= 0x2ceaf || 0x2f800 <= r && r <= 0x2fa1f)
}

// nmtRune is the cleaning of neural machine translation: it removes control characters
// and maps white space and invisible characters to a space.
//
// Source: Hugging Face's tokenizers, normalizers/unicode.rs, do_nmt.
func nmtRune(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200b <= r && r <= 0x200f, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == utf8.RuneError:
		return ' '
	case 1 <= r && r < 0x20, r == 0x7f, r == 0x8f, r == 0x9f:
		return -1
	}
	return r
}

// readBertPreTokenizer reads BERT's pre-tokenizer: words without white space, each
// punctuation character by itself.
func readBertPreTokenizer(*fileStep) ([]preStep, error) {
	return []preStep{cutAt(matchRune(unicode.IsSpace), removed, false), cutAt(matchRune(isBertPunctuation), isolated, false)}, nil
}

// isBertPunctuation reports whether r is punctuation in ASCII or in the reference's version
// of Unicode.
func isBertPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.Is(punctuation, r)
}
