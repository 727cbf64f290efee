package arch

import (
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
)

// A Search is how the authors of an encoder-decoder recommend to look for its texts: what
// transformers' generate reads from generation_config.json (version 5.23, generation/utils.py,
// _beam_search and _get_logits_processor). Lengths include the token that a text begins with.
type Search struct {
	Beams         int           `json:"beams"`
	MaxLength     int           `json:"max_length"` // tokens; 0: those of the context
	LengthPenalty float64       `json:"length_penalty"`
	EarlyStopping EarlyStopping `json:"early_stopping"`

	Suppressed  []int   `json:"suppressed,omitempty"`  // tokens that no text has
	Unwanted    [][]int `json:"unwanted,omitempty"`    // sequences of at least two tokens that no text has
	Renormalize bool    `json:"renormalize,omitempty"` // probabilities are those after all other rules
	ForcedEnd   bool    `json:"forced_end,omitempty"`  // the last token of a text of the maximum length is its end

	MinLength         int     `json:"min_length,omitempty"`         // no shorter text ends
	NoRepeat          int     `json:"no_repeat,omitempty"`          // no sequence of so many tokens is twice in a text; 0: any may be
	NoCopy            int     `json:"no_copy,omitempty"`            // none is in the source and in its text; 0: any may be
	RepetitionPenalty float64 `json:"repetition_penalty,omitempty"` // log-probabilities of a text's tokens are multiplied by it; 0: by 1
}

// EarlyStopping is the rule for ending a beam search that has found as many results as it
// has beams.
type EarlyStopping uint8

// The values of early_stopping in generation_config.json.
const (
	StopFalse EarlyStopping = iota // false: when nothing better is likely at the current length
	StopTrue                       // true: at once
	StopNever                      // "never": when nothing better is possible
)

// Bounds of a search.
const (
	maxBeams   = 64
	maxPenalty = 100.0 // of repetitions
	maxWord    = 64    // tokens of a sequence that no text has
)

// Chooses reports whether the search finds other texts than the choice of the likeliest token does.
func (s *Search) Chooses() bool {
	return s.Beams > 1 || len(s.Suppressed)+len(s.Unwanted) > 0 || s.ForcedEnd || s.MinLength > 1 || s.NoRepeat > 0 || s.NoCopy > 0 || s.Penalizes()
}

// Penalizes reports whether repeated tokens have other probabilities.
func (s *Search) Penalizes() bool { return s.RepetitionPenalty != 0 && s.RepetitionPenalty != 1 }

// readSearch reads a search whose texts end with ends. As in transformers, config.json is only read
// if there is no generation_config.json. Values that are in neither are those of absent.
func (o *opened) readSearch(generation *config, ends []int, absent Search) Search {
	c, s, vocab := o.generation(generation), absent, o.Spec.Vocab
	s.Beams = c.integer("num_beams", s.Beams, 1, maxBeams)
	s.MaxLength = c.integer("max_length", s.MaxLength, 2, maxContext)
	if n := c.integer("max_new_tokens", 0, 0, maxContext); n > 0 {
		s.MaxLength = n + 1
	}
	s.MaxLength = min(s.MaxLength, o.Spec.Context)
	s.MinLength = c.integer("min_length", 0, 0, maxContext)
	if n := c.integer("min_new_tokens", 0, 0, maxContext); n > 0 {
		s.MinLength = n + 1
	}
	s.LengthPenalty = c.number("length_penalty", 1, -10, 10)
	s.NoRepeat = c.integer("no_repeat_ngram_size", 0, 0, maxContext)
	s.NoCopy = c.integer("encoder_no_repeat_ngram_size", 0, 0, maxContext)
	if p := c.number("repetition_penalty", 1, 1/maxPenalty, maxPenalty); p != 1 {
		s.RepetitionPenalty = p
	}
	s.readWords(c, ends, vocab)
	if end := c.id("forced_eos_token_id", -1, vocab); end >= 0 {
		if s.ForcedEnd = true; end != ends[0] {
			c.reject("forced_eos_token_id", "%d is not eos_token_id, %d", end, ends[0])
		}
	}
	s.Renormalize = c.flag("renormalize_logits", false)
	if _, raw := c.find("early_stopping"); raw != nil {
		s.EarlyStopping = c.stopping(string(raw))
	}
	c.require([]requiredValue{
		{"encoder_repetition_penalty", "1"}, {"num_beam_groups", "1"}, {"diversity_penalty", "0"}, {"exponential_decay_length_penalty", "null"},
		{"suppress_tokens", "null"}, {"begin_suppress_tokens", "null"}, {"sequence_bias", "null"},
	})
	return s
}

// generation returns the file that says how texts are generated.
func (o *opened) generation(file *config) *config {
	if file.fields == nil {
		return o.config
	}
	return file
}

// readWords reads bad_words_ids: sequences of tokens, each a list. An end alone is never among them.
func (s *Search) readWords(c *config, ends []int, vocab int) {
	name, list, _ := read[[][]int](c, "bad_words_ids", "list of lists of tokens")
	if len(list) > maxEnds {
		c.reject(name, "%d sequences, at most %d are supported", len(list), maxEnds)
		return
	}
	for _, word := range list {
		switch {
		case !isWord(word, vocab):
			c.reject(name, "%.60s: only sequences of 1 to %d tokens below %d are supported", fmt.Sprint(word), maxWord, vocab)
			return
		case len(word) > 1:
			s.Unwanted = append(s.Unwanted, word)
		case !slices.Contains(ends, word[0]):
			s.Suppressed = append(s.Suppressed, word[0])
		}
	}
}

func isWord(tokens []int, vocab int) bool {
	return len(tokens) > 0 && len(tokens) <= maxWord && slices.Min(tokens) >= 0 && slices.Max(tokens) < vocab
}

// writesSome reports whether any token may be written.
func (s *Search) writesSome(vocab int) bool {
	distinct := slices.Compact(slices.Sorted(slices.Values(s.Suppressed)))
	return len(distinct) < vocab
}

// stopping reads early_stopping.
func (c *config) stopping(raw string) EarlyStopping {
	switch raw {
	case "false":
		return StopFalse
	case "true":
		return StopTrue
	case `"never"`:
		return StopNever
	}
	c.reject("early_stopping", "must be true, false or \"never\", not %.60s", raw)
	return StopFalse
}

// check rejects searches without an end and tokens out of range.
func (s *Search) check(spec *transformer.Spec) error {
	if s == nil {
		return nil
	}
	unwanted := func(word []int) bool { return len(word) < 2 || !isWord(word, spec.Vocab) }
	switch p := s.RepetitionPenalty; {
	case s.EarlyStopping > StopNever:
		return fmt.Errorf("early_stopping %d", s.EarlyStopping)
	case s.Beams < 1 || s.Beams > maxBeams || s.MaxLength < 0 || s.MaxLength == 1 || s.MaxLength > spec.Context || math.Abs(s.LengthPenalty) > 10:
		return fmt.Errorf("texts of %d tokens with %d beams, length penalty %v", s.MaxLength, s.Beams, s.LengthPenalty)
	case min(s.MinLength, s.NoRepeat, s.NoCopy) < 0 || max(s.MinLength, s.NoRepeat, s.NoCopy) > maxContext:
		return fmt.Errorf("min_length %d, no_repeat %d, no_copy %d", s.MinLength, s.NoRepeat, s.NoCopy)
	case p != 0 && !(p >= 1/maxPenalty && p <= maxPenalty):
		return fmt.Errorf("repetition_penalty %v", p)
	case len(s.Suppressed) > 2*maxEnds || len(s.Unwanted) > maxEnds || slices.ContainsFunc(s.Unwanted, unwanted):
		return fmt.Errorf("%d tokens and %d sequences are not written, or one of %v is not a sequence of tokens below %d", len(s.Suppressed), len(s.Unwanted), s.Unwanted, spec.Vocab)
	case slices.ContainsFunc(s.Suppressed, func(id int) bool { return id < 0 || id >= spec.Vocab }) || !s.writesSome(spec.Vocab):
		return fmt.Errorf("suppressed: a token is not below %d, or none may be written", spec.Vocab)
	}
	return nil
}
