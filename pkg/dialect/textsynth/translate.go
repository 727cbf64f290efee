package textsynth

import (
	"fmt"
	"math"

	"glossa/pkg/llm"
)

// Limits and defaults of a translation (seed 001 §1.4).
const (
	maxTexts     = 64
	maxBeams     = 5
	defaultBeams = 4
)

// request translates a request for a log-probability.
func (l *logprobRequest) request() (*llm.ScoreRequest, error) {
	switch {
	case l.Context == nil:
		return nil, invalid("context", "must be given")
	case l.Continuation == nil:
		return nil, invalid("continuation", "must be given")
	case *l.Continuation == "":
		return nil, invalid("continuation", "must not be empty")
	}
	return &llm.ScoreRequest{Prompt: llm.Text(*l.Context), Continuation: *l.Continuation}, nil
}

// newLogprob translates a score. JSON has no infinity.
func newLogprob(s *llm.Score, used llm.Usage) logprobAnswer {
	return logprobAnswer{
		Logprob: max(-math.MaxFloat64, min(s.Logprob, 0)), IsGreedy: s.Greedy, InputTokens: used.Input, NumTokens: len(s.Tokens),
	}
}

// request translates a request for translations; every error names the key at fault.
func (t *translateRequest) request() (*llm.TranslateRequest, error) {
	req := &llm.TranslateRequest{Beams: defaultBeams, SplitSentences: true}
	var err error
	if req.Texts, err = t.texts(); err != nil {
		return nil, err
	}
	if req.Source, err = language("source_lang", t.SourceLang); err != nil {
		return nil, err
	}
	if req.Target, err = language("target_lang", t.TargetLang); err != nil {
		return nil, err
	}
	if req.Source == auto {
		req.Source = ""
	}
	if t.NumBeams != nil {
		if req.Beams = *t.NumBeams; req.Beams < 1 || req.Beams > maxBeams {
			return nil, invalid("num_beams", "must be between 1 and %d", maxBeams)
		}
	}
	if t.SplitSentences != nil {
		req.SplitSentences = *t.SplitSentences
	}
	return req, nil
}

func (t *translateRequest) texts() ([]string, error) {
	switch {
	case len(t.Text) == 0:
		return nil, invalid("text", "at least one string is needed")
	case len(t.Text) > maxTexts:
		return nil, invalid("text", "at most %d strings", maxTexts)
	}
	texts := make([]string, len(t.Text))
	for i, text := range t.Text {
		if text == nil {
			return nil, invalid(fmt.Sprintf("text[%d]", i), "must be a string, not null")
		}
		texts[i] = *text
	}
	return texts, nil
}

// language returns the code that was sent under a name. Only a source can be auto.
func language(name string, code *string) (string, error) {
	detect := name == "source_lang"
	switch {
	case code == nil:
		return "", invalid(name, "must be given")
	case known(*code), detect && *code == auto:
		return *code, nil
	case detect:
		return "", invalid(name, "%.40q is neither the code of a language that is served nor %q", *code, auto)
	case *code == auto:
		return "", invalid(name, "must be the code of a language: only source_lang can be %q", auto)
	}
	return "", invalid(name, "%.40q is not the code of a language that is served", *code)
}

// answer translates translations. The language detected is that which was sent,
// unless it was to be detected.
func (t *translateRequest) answer(list []llm.Translation, used llm.Usage) translateAnswer {
	out := translateAnswer{Translations: make([]translation, len(list)), InputTokens: used.Input, OutputTokens: used.Output}
	for i, made := range list {
		out.Translations[i] = translation{DetectedSourceLang: made.Source, Text: made.Text}
		if *t.SourceLang != auto {
			out.Translations[i].DetectedSourceLang = *t.SourceLang
		}
	}
	return out
}

// text returns the text to tokenise.
func (t *tokenizeRequest) text() (llm.Part, error) {
	switch kind := t.TokenContentType; {
	case t.Text == nil:
		return llm.Part{}, invalid("text", "must be given")
	case kind != nil && *kind != "none" && *kind != "base64":
		return llm.Part{}, invalid("token_content_type", "must be none or base64, not %.40q", *kind)
	}
	return llm.Part{Text: *t.Text}, nil
}

// answer translates tokens.
func (t *tokenizeRequest) answer(tokens []llm.Token) tokenizeAnswer {
	out := tokenizeAnswer{Tokens: make([]int, len(tokens))}
	for i, token := range tokens {
		out.Tokens[i] = token.ID
	}
	if t.TokenContentType != nil && *t.TokenContentType == "base64" {
		out.TokenContent = make([][]byte, len(tokens))
		for i, token := range tokens {
			out.TokenContent[i] = []byte(token.Text)
		}
	}
	return out
}

func invalid(param, format string, args ...any) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
