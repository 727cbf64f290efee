package hf

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/charsmap"
)

// A normalizer is a list of steps. Bytes that are not part of a valid rune pass unchanged.
type normalizer []normalStep

// normalStep is a step of a normalizer.
type normalStep struct {
	apply func(text string) string
	// head returns how many bytes of the result are of the first n bytes of text; nil: those of
	// text[:n] alone.
	head func(text, result string, n int) int
}

// text returns the normalized text.
func (n normalizer) text(text string) string { return n.segment(segment{text: text}).text }

// segment returns the normalized segment.
func (n normalizer) segment(s segment) segment {
	for _, step := range n {
		result := step.apply(s.text)
		switch {
		case s.head == 0:
		case step.head != nil:
			s.head = step.head(s.text, result, s.head)
		default:
			s.head = len(step.apply(s.text[:s.head]))
		}
		s = segment{result, min(s.head, len(result))}
	}
	return s
}

// readNormalizer reads normalizer.
func readNormalizer(s *fileStep) (normalizer, error) {
	list, err := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.Normalizers })
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	var steps normalizer
	for i := range list {
		read, ok := normalizers[list[i].Type]
		if !ok {
			return nil, fmt.Errorf("normalizer: %s is not supported", list[i].name())
		}
		step, err := read(&list[i])
		if err != nil {
			return nil, fmt.Errorf("normalizer: %s: %w", list[i].name(), err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// each returns the reader of a step that treats each part of a text by itself.
func each(apply func(string) string) func(*fileStep) (normalStep, error) {
	return func(*fileStep) (normalStep, error) { return normalStep{apply: apply}, nil }
}

// normalizers are the supported types of normalizer.
var normalizers = map[string]func(s *fileStep) (normalStep, error){
	"NFC":       each(canonical(norm.NFC)),
	"NFD":       each(canonical(norm.NFD)),
	"NFKC":      each(canonical(norm.NFKC)),
	"NFKD":      each(canonical(norm.NFKD)),
	"Lowercase": each(lower),
	"ByteLevel": each(bpe.Spell),
	"Prepend": func(s *fileStep) (normalStep, error) {
		prefix := s.Prepend
		if len(prefix) > maxReplacement {
			return normalStep{}, fmt.Errorf("prepend has %d bytes, at most %d", len(prefix), maxReplacement)
		}
		return normalStep{apply: func(text string) string {
			if text == "" {
				return ""
			}
			return prefix + text
		}}, nil
	},
	"Replace": func(s *fileStep) (normalStep, error) {
		find, err := s.Pattern.compile()
		content := s.Content
		return normalStep{
			apply: func(text string) string { return find.on(text).replaceAll(text, content) },
			head:  func(text, _ string, n int) int { return find.on(text).replacedHead(text, content, n) },
		}, err
	},
	"Strip":          readStripSpace,
	"Precompiled":    readPrecompiled,
	"BertNormalizer": readBertNormalizer,
	"StripAccents":   each(mapValid(removeIn(combiningMarks))),
	"Nmt":            each(mapValid(nmtRune)),
}

func readStripSpace(s *fileStep) (normalStep, error) {
	left, right := s.StripLeft, s.StripRight
	return normalStep{func(text string) string {
		if left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}, func(text, _ string, n int) int {
		if left {
			n -= len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		}
		return max(n, 0)
	}}, nil
}

// maxReplacement bounds the replacement of a character, in bytes.
const maxReplacement = 128

// readPrecompiled reads Precompiled. As in the reference, what it removes at the beginning does not
// count: the first character is then the one after it.
func readPrecompiled(s *fileStep) (normalStep, error) {
	if s.Charsmap == "" {
		return normalStep{}, errors.New("precompiled_charsmap is missing")
	}
	raw, err := base64.StdEncoding.DecodeString(s.Charsmap)
	if err != nil {
		return normalStep{}, fmt.Errorf("precompiled_charsmap: %w", err)
	}
	m, err := charsmap.New(raw)
	if err != nil {
		return normalStep{}, err
	}
	for text := range m.Replacements() {
		if len(text) > maxReplacement {
			return normalStep{}, fmt.Errorf("precompiled_charsmap: a replacement has %d bytes, at most %d", len(text), maxReplacement)
		}
	}
	apply := func(text string) string { return eachValid(text, m.ReplaceClusters) }
	return normalStep{apply, func(text, result string, n int) int {
		_, first := utf8.DecodeRuneInString(result)
		return max(first, len(apply(text[:n])))
	}}, nil
}

// eachValid applies f to the valid parts of text.
func eachValid(text string, f func(string) string) string {
	if utf8.ValidString(text) {
		return f(text)
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if r == utf8.RuneError && n == 1 {
			b.WriteString(f(text[from : i-1]))
			b.WriteByte(text[i-1])
			from = i
		}
	}
	b.WriteString(f(text[from:]))
	return b.String()
}

// lower maps each rune by itself, so that a sigma is never final.
func lower(text string) string {
	return eachValid(text, func(text string) string {
		text = strings.ReplaceAll(text, "\u0130", "i\u0307") // the one rune with two small letters
		return strings.Map(lowerRune, text)
	})
}

// maxMarks is the number of marks in a row after which x/text inserts U+034F, which the
// references do not (Unicode, UAX 15, stream-safe text format).
const maxMarks = 30

// canonical returns a normalization form, in the reference's version of Unicode. A
// character that the reference does not know separates the text around it.
func canonical(form norm.Form) func(string) string {
	return func(text string) string {
		at := strings.IndexFunc(text, isUnknownToReference)
		if at < 0 || form.IsNormalString(text) {
			return normalize(form, text)
		}
		var b strings.Builder
		b.Grow(len(text))
		for at >= 0 {
			_, n := utf8.DecodeRuneInString(text[at:])
			b.WriteString(normalize(form, text[:at]))
			b.WriteString(text[at : at+n])
			text = text[at+n:]
			at = strings.IndexFunc(text, isUnknownToReference)
		}
		b.WriteString(normalize(form, text))
		return b.String()
	}
}

func isUnknownToReference(r rune) bool { return r >= 0x7fd && unicode.Is(unknownToReference, r) }

// normalize applies a form in the Unicode version of x/text. For many marks in a row it
// follows the definition itself.
func normalize(form norm.Form, text string) string {
	start, end := manyMarks(form, text)
	if start == end {
		if form.IsNormalString(text) {
			return text
		}
		return form.String(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for start < end {
		b.WriteString(form.String(text[:start]))
		b.WriteString(eachValid(text[start:end], func(text string) string { return normalForm(form, text) }))
		text = text[end:]
		start, end = manyMarks(form, text)
	}
	b.WriteString(form.String(text))
	return b.String()
}

// manyMarks returns the first part of text in which there may be a run of too many marks,
// decomposed ones included: a rune has at most three at its end. What is around the part
// is normalized by itself. The part is empty if there is no such run.
func manyMarks(form norm.Form, text string) (start, end int) {
	marks := 0
	for i, r := range text {
		if marks >= maxMarks {
			if begins(form, text[i:], r) {
				return start, i
			}
			continue
		}
		if r < 0x300 {
			start, marks = i, 0
			continue
		}
		p, fresh := norm.NFKD.PropertiesString(text[i:]), begins(form, text[i:], r)
		if fresh {
			start = i
		}
		if marks += 3; fresh && p.CCC() == 0 && p.TrailCCC() == 0 {
			marks = 0
		}
	}
	if marks >= maxMarks {
		return start, len(text)
	}
	return 0, 0
}

// begins reports whether the rune r, at the beginning of text, does not interact with the
// text before it.
func begins(form norm.Form, text string, r rune) bool {
	return r < utf8.RuneSelf || r == utf8.RuneError || form.PropertiesString(text).BoundaryBefore()
}

// normalForm is a normalization form by its definition (Unicode, section 3.11).
func normalForm(form norm.Form, text string) string {
	decomposed, composes := norm.NFD, form == norm.NFC || form == norm.NFKC
	if form == norm.NFKC || form == norm.NFKD {
		decomposed = norm.NFKD
	}
	runes := make([]rune, 0, utf8.RuneCountInString(text))
	var one []byte
	for _, r := range text {
		one = decomposed.AppendString(one[:0], string(r))
		for i := 0; i < len(one); {
			part, n := utf8.DecodeRune(one[i:])
			runes = append(runes, part)
			i += n
		}
	}
	order(runes)
	if composes {
		runes = compose(runes)
	}
	return string(runes)
}

func markClass(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
