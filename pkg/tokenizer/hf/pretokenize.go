package hf

import (
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/pretoken"
)

// readPreTokenizers reads pre_tokenizer as a list of steps. If byteLevel is set, the list
// ends with ByteLevel, and its spelling step is omitted, because the model spells bytes
// itself.
func readPreTokenizers(s *fileStep, byteLevel bool) ([]preStep, error) {
	list, err := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.PreTokenizers })
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	var steps []preStep
	for i := range list {
		read, ok := preTokenizers[list[i].Type]
		if !ok {
			return nil, fmt.Errorf("pre_tokenizer: %s is not supported", list[i].name())
		}
		more, err := read(&list[i])
		if err != nil {
			return nil, fmt.Errorf("pre_tokenizer: %s: %w", list[i].name(), err)
		}
		steps = append(steps, more...)
	}
	if byteLevel {
		steps = steps[:len(steps)-1]
	}
	return steps, nil
}

// endsByteLevel reports whether the last pre-tokenizer is ByteLevel.
func endsByteLevel(s *fileStep) bool {
	for s != nil && s.Type == "Sequence" && len(s.PreTokenizers) > 0 {
		s = &s.PreTokenizers[len(s.PreTokenizers)-1]
	}
	return s != nil && s.Type == "ByteLevel"
}

// preTokenizers are the supported types of pre_tokenizer.
var preTokenizers = map[string]func(s *fileStep) ([]preStep, error){
	"ByteLevel": readByteLevel,
	"Split":     readSplit,
	"Metaspace": readMetaspace,

	"BertPreTokenizer": readBertPreTokenizer,
	"Digits": func(s *fileStep) ([]preStep, error) {
		if s.IndividualDigits {
			return []preStep{cutAt(matchRune(unicode.IsNumber), isolated, false)}, nil
		}
		return []preStep{cutAt(matchRune(unicode.IsNumber), contiguous, false)}, nil
	},
	"Whitespace": func(*fileStep) ([]preStep, error) {
		return []preStep{cutAt(words, removed, true)}, nil
	},
	"WhitespaceSplit": func(*fileStep) ([]preStep, error) {
		return []preStep{cutAt(matchRune(unicode.IsSpace), removed, false)}, nil
	},
	"Punctuation": func(s *fileStep) ([]preStep, error) {
		b, err := s.behavior(isolated)
		return []preStep{cutAt(matchRune(isPunctuation), b, false)}, err
	},
	"CharDelimiterSplit": func(s *fileStep) ([]preStep, error) {
		if utf8.RuneCountInString(s.Delimiter) != 1 {
			return nil, fmt.Errorf("delimiter %.40q is not a character", s.Delimiter)
		}
		return []preStep{cutAt(matchString(s.Delimiter), removed, false)}, nil
	},
}

func readByteLevel(s *fileStep) ([]preStep, error) {
	var steps []preStep
	if s.AddPrefixSpace != nil && *s.AddPrefixSpace {
		steps = append(steps, prefixSpace)
	}
	if s.UseRegex == nil || *s.UseRegex {
		steps = append(steps, preStep{split: pretoken.GPT2})
	}
	return append(steps, spellBytes), nil
}

// knownPatterns are the patterns with scanners, whose pieces cover every text.
var knownPatterns = map[string]pretoken.Splitter{
	pretoken.PatternGPT2:   pretoken.GPT2,
	pretoken.PatternLlama3: pretoken.Llama3,
	pretoken.PatternQwen2:  pretoken.Qwen2,
	pretoken.PatternO200k:  pretoken.O200k,
}

func readSplit(s *fileStep) ([]preStep, error) {
	b, err := s.behavior("")
	if err != nil {
		return nil, err
	}
	if s.Pattern.Regex != nil {
		if split, ok := knownPatterns[*s.Pattern.Regex]; ok {
			if b == isolated || b == removed && s.Invert {
				return []preStep{{split: split}}, nil // there is no text between the matches
			}
			return []preStep{cutAt(matchSplitter(split), b, s.Invert)}, nil
		}
	}
	find, err := s.Pattern.compile()
	if err != nil {
		return nil, err
	}
	if d := find.covering; d != nil && (b == isolated || b == removed && s.Invert) {
		step := preStep{split: d.match}
		if find.far != nil {
			step.on = find.split
		}
		return []preStep{step}, nil
	}
	step := cutAt(find.find, b, s.Invert)
	if find.far != nil {
		step.cut = func(text segment, yield func(segment) bool) bool {
			return cutAt(find.on(text.text), b, s.Invert).cut(text, yield)
		}
	}
	return []preStep{step}, nil
}

// behavior returns the behavior of the step, or missing if there is none.
func (s *fileStep) behavior(missing behavior) (behavior, error) {
	b := behavior(s.Behavior)
	if b == "" {
		b = missing
	}
	if !slices.Contains([]behavior{removed, isolated, contiguous, mergedWithPrevious, mergedWithNext}, b) {
		return "", fmt.Errorf("behavior %.40q is not supported", s.Behavior)
	}
	return b, nil
}

// filePattern is a text or a regular expression.
type filePattern struct {
	Regex  *string `json:"Regex"`
	String *string `json:"String"`
}

func (p *filePattern) compile() (pattern, error) {
	switch {
	case p.Regex != nil:
		return compilePattern(*p.Regex)
	case p.String == nil:
		return pattern{}, errors.New("pattern: it has neither Regex nor String")
	case *p.String == "":
		return pattern{}, errors.New("pattern: String is empty")
	}
	return pattern{find: matchString(*p.String)}, nil
}

func readMetaspace(s *fileStep) ([]preStep, error) {
	scheme, err := s.scheme()
	if err != nil {
		return nil, err
	}
	return []preStep{metaspace(s.Replacement, scheme, s.Split == nil || *s.Split)}, nil
}

// scheme returns where Metaspace puts its replacement. Old files have add_prefix_space
// instead.
func (s *fileStep) scheme() (string, error) {
	if utf8.RuneCountInString(s.Replacement) != 1 {
		return "", fmt.Errorf("replacement %.40q is not a character", s.Replacement)
	}
	scheme := s.PrependScheme
	if scheme == "" {
		scheme = "always"
	}
	if s.AddPrefixSpace != nil && !*s.AddPrefixSpace {
		if scheme == "first" {
			return "", errors.New("add_prefix_space does not go with prepend_scheme first")
		}
		scheme = "never"
	}
	if !slices.Contains([]string{"always", "first", "never"}, scheme) {
		return "", fmt.Errorf("prepend_scheme %.40q is not supported", scheme)
	}
	return scheme, nil
}
