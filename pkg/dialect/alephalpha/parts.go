package alephalpha

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A span is a part of a text, in bytes.
type span struct{ start, end int }

// A splitter splits a text into the parts to explain, in order. White space or delimiters
// between parts belong to none.
type splitter func(text string) ([]span, error)

// granularities lists the names of splitters, the finest first.
var granularities = []string{"token", "word", "sentence", "paragraph"}

// splitterOf returns the splitter of a name. The one of tokens uses the tokenizer.
func splitterOf(ctx context.Context, name string, tokenizer llm.Tokenizer) splitter {
	switch name {
	case "token":
		return func(text string) ([]span, error) {
			tokens, err := tokenizer.Tokenize(ctx, []llm.Part{{Text: text}}, false)
			if err != nil {
				return nil, err
			}
			return tokenSpans(text, tokens), nil
		}
	case "word":
		return func(text string) ([]span, error) { return wordSpans(text), nil }
	case "sentence":
		return func(text string) ([]span, error) { return cutAfter(text, endsSentence), nil }
	}
	return func(text string) ([]span, error) { return cutAfter(text, endsParagraph), nil }
}

// delimited returns a splitter at a delimiter.
func delimited(delimiter string) splitter {
	return func(text string) (list []span, err error) {
		at := 0
		for part := range strings.SplitSeq(text, delimiter) {
			if part != "" {
				list = append(list, span{at, at + len(part)})
			}
			at += len(part) + len(delimiter)
		}
		return list, nil
	}
}

// tokenSpans returns the spans of tokens in a text. Tokens of one character are joined, and
// white space before a token's letters belongs to none.
func tokenSpans(text string, tokens []llm.Token) (list []span) {
	at, from := 0, 0
	for _, t := range tokens {
		at = min(at+len(t.Text), len(text))
		if at == from || at < len(text) && !utf8.RuneStart(text[at]) {
			continue
		}
		list = append(list, trimmed(text, span{from, at}))
		from = at
	}
	return list
}

// trimmed returns s without surrounding white space, or s if it is only white space.
func trimmed(text string, s span) span {
	inner := strings.TrimSpace(text[s.start:s.end])
	if inner == "" {
		return s
	}
	start := s.start + strings.Index(text[s.start:s.end], inner)
	return span{start, start + len(inner)}
}

// wordSpans returns runs of letters, marks and digits, which may contain apostrophes, and
// runs of other characters that are not white space.
func wordSpans(text string) (list []span) {
	kind := func(r rune) int {
		switch {
		case unicode.IsSpace(r):
			return 0
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '_' || r == '\'' || r == '’':
			return 1
		}
		return 2
	}
	last := 0
	for i, r := range text {
		now := kind(r)
		switch {
		case now == 0:
		case now == last:
			list[len(list)-1].end = i + utf8.RuneLen(r)
		default:
			list = append(list, span{i, i + utf8.RuneLen(r)})
		}
		last = now
	}
	return list
}

// cutAfter splits a text at each position where ends, given the text before and after it,
// returns true. It drops the white space between the parts.
func cutAfter(text string, ends func(before, after string) bool) (list []span) {
	from := 0
	for i := range len(text) + 1 {
		if i < len(text) && (!utf8.RuneStart(text[i]) || !ends(text[from:i], text[i:])) {
			continue
		}
		if s := trimmed(text, span{from, i}); strings.TrimSpace(text[s.start:s.end]) != "" {
			list = append(list, s)
		}
		from = i
	}
	return list
}

// endsSentence reports whether a sentence mark precedes white space, or a line ends.
func endsSentence(before, after string) bool {
	return strings.HasPrefix(after, "\n") || strings.ContainsAny(after[:1], " \t\r") && before != "" && strings.ContainsAny(lastRune(before), ".!?…。！？")
}

func lastRune(text string) string {
	_, n := utf8.DecodeLastRuneInString(text)
	return text[len(text)-n:]
}

// endsParagraph reports whether an empty line follows.
func endsParagraph(_, after string) bool {
	return strings.HasPrefix(after, "\n\n") || strings.HasPrefix(after, "\n\r\n") || strings.HasPrefix(after, "\r\n\r\n")
}

// A cut is a part of a prompt.
type cut struct {
	item int // of the prompt
	span span
	gone span // what the prompt without the part lacks
}

// without returns the prompt without a part.
func (c *cut) without(prompt llm.Prompt) llm.Prompt {
	parts := slices.Clone(prompt.Parts)
	part := &parts[c.item]
	if part.Tokens != nil {
		part.Tokens = slices.Delete(slices.Clone(part.Tokens), c.gone.start, c.gone.end)
	} else {
		part.Text = part.Text[:c.gone.start] + part.Text[c.gone.end:]
	}
	return llm.Prompt{Parts: parts}
}

// cuts returns the parts of a prompt: the parts of its texts, as split finds them, and each
// token of a list. The prompt without a part also lacks the white space before it, or after
// the first part.
func cuts(prompt llm.Prompt, split splitter) (list []cut, err error) {
	for i, part := range prompt.Parts {
		if part.Tokens != nil {
			if len(list)+len(part.Tokens) > maxParts {
				return nil, wire.Invalid("prompt_granularity", "the prompt has more than %d parts: choose larger ones, or send it as text", maxParts)
			}
			for at := range part.Tokens {
				list = append(list, cut{i, span{at, at + 1}, span{at, at + 1}})
			}
			continue
		}
		spans, err := split(part.Text)
		if err != nil {
			return nil, err
		}
		if len(list)+len(spans) > maxParts {
			return nil, wire.Invalid("prompt_granularity", "the prompt has more than %d parts: choose larger ones", maxParts)
		}
		for k, s := range spans {
			gone := s
			switch {
			case k > 0:
				gone.start = spans[k-1].end
			case len(spans) > 1:
				gone = span{0, spans[1].start}
			default:
				gone = span{0, len(part.Text)}
			}
			list = append(list, cut{i, s, gone})
		}
	}
	return list, nil
}

// Limits of an explanation: each part needs a pass of the model over the rest of the prompt.
const (
	maxParts      = 256
	maxExplained  = 1 << 17 // tokens of all passes
	wantedParts   = 30      // the service's documented default if no granularity is given
	maxTargetSize = 1 << 14 // bytes
)

// automatic returns the cuts of the granularity whose number is closest to [wantedParts].
func automatic(prompt llm.Prompt, of func(name string) splitter) (best []cut, err error) {
	distance := -1
	for _, name := range granularities {
		list, e := cuts(prompt, of(name))
		if e != nil {
			err = e // a coarser granularity may give few enough parts
			continue
		}
		d := max(len(list)-wantedParts, wantedParts-len(list))
		if distance < 0 || d < distance {
			best, distance = list, d
		}
	}
	if distance < 0 {
		return nil, err
	}
	return best, nil
}

// characters counts the characters of a text before a byte, as clients in Python do.
func characters(text string, at int) int { return utf8.RuneCountInString(text[:at]) }
