package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/tokenizer"
)

// templatePart is a part of a template: a special token or the text itself.
type templatePart struct {
	SpecialToken *templateID `json:"SpecialToken"`
	Sequence     *templateID `json:"Sequence"`
}

// templateID names a special token, or a text: A or B.
type templateID struct {
	ID   string `json:"id"`
	Type int    `json:"type_id"`
}

// templateToken are the ids that a special token of a template stands for.
type templateToken struct {
	IDs []int `json:"ids"`
}

// namedToken is [token, id].
type namedToken struct {
	set bool
	id  int
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *namedToken) UnmarshalJSON(raw []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("%.40s is not a token and its id", raw)
	}
	n.set = true
	return json.Unmarshal(parts[1], &n.id)
}

// maxAffix bounds the tokens around a text.
const maxAffix = 64

// readAffixes reads post_processor and returns the ids before and after a single text.
func readAffixes(s *fileStep, size int) (before, after []int, err error) {
	list, err := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.Processors })
	for i := 0; err == nil && i < len(list); i++ {
		var head, tail []int
		switch s := &list[i]; s.Type {
		case "ByteLevel": // moves offsets only
		case "TemplateProcessing":
			head, tail, err = s.template()
		case "BertProcessing", "RobertaProcessing":
			if !s.CLS.set || !s.SEP.set {
				err = errors.New("cls or sep is missing")
			}
			head, tail = []int{s.CLS.id}, []int{s.SEP.id}
		default:
			return nil, nil, fmt.Errorf("post_processor: %s is not supported", s.name())
		}
		for _, id := range slices.Concat(head, tail) {
			if id < 0 || id >= size {
				err = fmt.Errorf("id %d is not 0 to %d", id, size-1)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("post_processor: %s: %w", list[i].name(), err)
		}
		before, after = append(head, before...), append(after, tail...)
	}
	if err == nil && len(before)+len(after) > maxAffix {
		err = fmt.Errorf("there are %d tokens around a text, at most %d", len(before)+len(after), maxAffix)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("post_processor: %w", err)
	}
	return before, after, nil
}

// readPair reads post_processor and returns how it joins two texts, whose affixes are valid; nil
// if it has several steps that add tokens.
func readPair(s *fileStep, size int) (out []tokenizer.PairPart) {
	first, second := tokenizer.PairPart{Text: 1}, tokenizer.PairPart{Text: 2}
	list, _ := flatten(s, maxGrowth, func(s *fileStep) []fileStep { return s.Processors })
	for i := range list {
		s := &list[i]
		if s.Type == "ByteLevel" {
			continue
		}
		if out != nil {
			return nil
		}
		start, end := tokenizer.PairPart{ID: s.CLS.id}, tokenizer.PairPart{ID: s.SEP.id}
		switch s.Type {
		case "BertProcessing":
			second.Type = 1
			out = []tokenizer.PairPart{start, first, end, second, {ID: s.SEP.id, Type: 1}}
		case "RobertaProcessing":
			out = []tokenizer.PairPart{start, first, end, end, second, end}
		default:
			if out = s.joins(size); out == nil {
				return nil
			}
		}
	}
	return out
}

// joins reads pair, in which each text must occur once, the first one before the second; nil if
// it is different.
func (s *fileStep) joins(size int) (out []tokenizer.PairPart) {
	texts := ""
	for _, part := range s.Pair {
		if part.Sequence != nil {
			texts += part.Sequence.ID
			out = append(out, tokenizer.PairPart{Text: len(texts), Type: part.Sequence.Type})
		} else if part.SpecialToken != nil {
			for _, id := range s.SpecialTokens[part.SpecialToken.ID].IDs {
				if id < 0 || id >= size {
					return nil
				}
				out = append(out, tokenizer.PairPart{ID: id, Type: part.SpecialToken.Type})
			}
		}
		if len(out) > maxAffix {
			return nil
		}
	}
	if texts != "AB" {
		return nil
	}
	return out
}

// template reads single, in which the text must occur once.
func (s *fileStep) template() (before, after []int, err error) {
	seen := false
	for _, part := range s.Single {
		switch {
		case part.Sequence != nil && part.Sequence.ID == "A" && !seen:
			seen = true
		case part.SpecialToken != nil:
			special, ok := s.SpecialTokens[part.SpecialToken.ID]
			if !ok {
				return nil, nil, fmt.Errorf("special_tokens has no %.40q", part.SpecialToken.ID)
			}
			if seen {
				after = append(after, special.IDs...)
			} else {
				before = append(before, special.IDs...)
			}
		default:
			return nil, nil, errors.New("single has another part than special tokens and one $A")
		}
	}
	if !seen {
		return nil, nil, errors.New("single has no $A")
	}
	return before, after, nil
}
