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

// readNormalizer reads normalizer as one function, nil for none. Bytes that are not part of
// a valid rune pass unchanged.
func readNormalizer(s *fileStep) (func(string) string, error) {
	list, err := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.Normalizers })
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	var steps []func(string) string
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
	if len(steps) == 0 {
		return nil, nil
	}
	return func(text string) string {
		for _, step := range steps {
			text = step(text)
		}
		return text
	}, nil
}

// normalizers are the supported types of normalizer.
var normalizers = map[string]func(s *fileStep) (func(string) string, error){
	"NFC":       func(*fileStep) (func(string) string, error) { return canonical(norm.NFC), nil },
	"NFD":       func(*fileStep) (func(string) string, error) { return canonical(norm.NFD), nil },
	"NFKC":      func(*fileStep) (func(string) string, error) { return canonical(norm.NFKC), nil },
	"NFKD":      func(*fileStep) (func(string) string, error) { return canonical(norm.NFKD), nil },
	"Lowercase": func(*fileStep) (func(string) string, error) { return lower, nil },
	"ByteLevel": func(*fileStep) (func(string) string, error) { return bpe.Spell, nil },
	"Prepend": func(s *fileStep) (func(string) string, error) {
		prefix := s.Prepend
		if len(prefix) > maxReplacement {
			return nil, fmt.Errorf("prepend has %d bytes, at most %d", len(prefix), maxReplacement)
		}
		return func(text string) string {
			if text == "" {
				return ""
			}
			return prefix + text
		}, nil
	},
	"Replace": func(s *fileStep) (func(string) string, error) {
		find, err := s.Pattern.compile()
		content := s.Content
		return func(text string) string { return find.on(text).replaceAll(text, content) }, err
	},
	"Strip":          readStripSpace,
	"Precompiled":    readPrecompiled,
	"BertNormalizer": readBertNormalizer,
	"StripAccents": func(*fileStep) (func(string) string, error) {
		return mapValid(removeIn(combiningMarks)), nil
	},
	"Nmt": func(*fileStep) (func(string) string, error) { return mapValid(nmtRune), nil },
}

func readStripSpace(s *fileStep) (func(string) string, error) {
	left, right := s.StripLeft, s.StripRight
	return func(text string) string {
		if left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}, nil
}

// maxReplacement bounds the replacement of a character, in bytes.
const maxReplacement = 128

func readPrecompiled(s *fileStep) (func(string) string, error) {
	if s.Charsmap == "" {
		return nil, errors.New("precompiled_charsmap is missing")
	}
	raw, err := base64.StdEncoding.DecodeString(s.Charsmap)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap: %w", err)
	}
	m, err := charsmap.New(raw)
	if err != nil {
		return nil, err
	}
	for text := range m.Replacements() {
		if len(text) > maxReplacement {
			return nil, fmt.Errorf("precompiled_charsmap: a replacement has %d bytes, at most %d", len(text), maxReplacement)
		}
	}
	return func(text string) string { return eachValid(text, m.ReplaceClusters) }, nil
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
