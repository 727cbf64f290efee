package textsynth

import (
	"math"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// request translates a request for a log-probability.
func (l *logprobRequest) request() (*llm.ScoreRequest, error) {
	return &llm.ScoreRequest{Prompt: llm.Text(*l.Context), Continuation: *l.Continuation}, nil
}

// newLogprob translates a score. JSON has no infinity.
func newLogprob(s *llm.Score, used llm.Usage) logprobAnswer {
	return logprobAnswer{
		Logprob: max(-math.MaxFloat64, min(s.Logprob, 0)), IsGreedy: s.Greedy, InputTokens: used.Input, NumTokens: len(s.Tokens), Cost: used.Cost,
	}
}

// request translates a request for translations. Every error names the key at fault.
func (t *translateRequest) request() (*llm.TranslateRequest, error) {
	req := &llm.TranslateRequest{Texts: t.Text, Beams: defaultBeams, SplitSentences: true}
	var err error
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
		req.Beams = *t.NumBeams
	}
	if t.SplitSentences != nil {
		req.SplitSentences = *t.SplitSentences
	}
	return req, nil
}

// language validates the code of a parameter. Only a source can be auto.
func language(name, code string) (string, error) {
	detect := name == "source_lang"
	switch {
	case knownLanguage(code), detect && code == auto:
		return code, nil
	case detect:
		return "", wire.Invalid(name, "%.40q is neither a supported language code nor %q", code, auto)
	case code == auto:
		return "", wire.Invalid(name, "must be a language code: only source_lang can be %q", auto)
	}
	return "", wire.Invalid(name, "%.40q is not a supported language code", code)
}

// answer translates translations. The detected language is the one that was sent, unless it
// was auto.
func (t *translateRequest) answer(list []llm.Translation, used llm.Usage) translateAnswer {
	out := translateAnswer{Translations: make([]translation, len(list)), InputTokens: used.Input, OutputTokens: used.Output, Cost: used.Cost}
	for i, made := range list {
		out.Translations[i] = translation{DetectedSourceLang: made.Source, Text: made.Text}
		if t.SourceLang != auto {
			out.Translations[i].DetectedSourceLang = t.SourceLang
		}
	}
	return out
}

// part returns the text to tokenise.
func (t *tokenizeRequest) part() (llm.Part, error) { return llm.Part{Text: *t.Text}, nil }

// answer translates tokens.
func (t *tokenizeRequest) answer(tokens []llm.Token) tokenizeAnswer {
	out := tokenizeAnswer{Tokens: make([]int, len(tokens))}
	for i, token := range tokens {
		out.Tokens[i] = token.ID
	}
	if t.TokenContentType == "base64" {
		out.TokenContent = make([][]byte, len(tokens))
		for i, token := range tokens {
			out.TokenContent[i] = []byte(token.Text)
		}
	}
	return out
}
