package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/language"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Bounds of a translation request.
const (
	MaxTexts = 64
	MaxBeams = 5
	beamRows = 64 // hypotheses that are decoded together

	sentenceBytes = 512 // a sentence and its translation, in addition to its tokens
)

// Translator is an encoder-decoder in memory. It implements [llm.Translator],
// [llm.Tokenizer] and [llm.Embedder], and is safe for concurrent use.
type Translator struct {
	*core

	rules   arch.Translation
	sources spoken // the languages of sources
	targets spoken // and of targets
}

// spoken are languages in the order of the model.
type spoken []arch.Language

var (
	_ llm.Backend    = (*Translator)(nil)
	_ llm.Translator = (*Translator)(nil)
	_ llm.Tokenizer  = (*Translator)(nil)
	_ llm.Embedder   = (*Translator)(nil)
)

// NewTranslator reads the weights of an encoder-decoder. It closes m.
func NewTranslator(m *arch.Model, cfg Config) (_ *Translator, err error) {
	t := &Translator{}
	defer func() { err = closeOpened(m, t, err) }()
	if m.Translation == nil || len(m.Translation.Sources) == 0 || len(m.Translation.Targets) == 0 {
		return nil, fmt.Errorf("model %q: a %s model does not translate", cfg.Name, m.Type)
	}
	t.rules = *m.Translation
	t.sources, t.targets = spoken(t.rules.Sources).among(cfg.Languages), spoken(t.rules.Targets).among(cfg.Languages)
	for _, code := range cfg.Languages {
		if t.sources.find(code) == nil && t.targets.find(code) == nil {
			return nil, fmt.Errorf("model %q: it has no language %q", cfg.Name, code)
		}
	}
	if len(t.sources) == 0 || len(t.targets) == 0 {
		return nil, fmt.Errorf("model %q: of the languages %q none is one to translate from, or none to translate to", cfg.Name, cfg.Languages)
	}
	if t.core, err = newCore(m, cfg); err != nil {
		return nil, err
	}
	return t, nil
}

// among returns those with the codes, in their order; all if there are no codes.
func (l spoken) among(codes []string) (out spoken) {
	if codes == nil {
		return l
	}
	for _, code := range codes {
		if found := l.find(code); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// find returns the language of a code; nil if there is none.
func (l spoken) find(code string) *arch.Language {
	if i := slices.IndexFunc(l, func(one arch.Language) bool { return one.Code == code }); i >= 0 {
		return &l[i]
	}
	return nil
}

// codes returns the codes.
func (l spoken) codes() (list []string) {
	for _, one := range l {
		list = append(list, one.Code)
	}
	return list
}

// detect returns the language of a text; nil if it is unknown.
func (l spoken) detect(text string) *arch.Language {
	if len(l) == 1 {
		return &l[0]
	}
	return l.find(language.Detect(text, l.codes()))
}

// Generate implements [llm.Backend]. It returns an error.
func (t *Translator) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model translates and does not complete text: use /translate or /v1/engines/{engine}/translate"))
	}
}

// Translate implements [llm.Translator]. Usage counts the input of the encoder, including
// the tokens of language and end, and the decoded tokens: the token of the target
// language once, since all beams share it, then one token for each beam and step.
func (t *Translator) Translate(ctx context.Context, req *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	if err := t.checkTranslate(req); err != nil {
		return nil, llm.Usage{}, err
	}
	worker, err := t.queue.acquire(ctx)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer worker.release()
	w := &translation{Translator: t, beams: max(1, req.Beams), member: t.lanes.join(llm.SenderOf(ctx), worker)}
	defer w.member.leave()
	w.target = t.targets.find(req.Target)
	out := make([]llm.Translation, len(req.Texts))
	texts := make([][]*sentence, len(req.Texts))
	for i, text := range req.Texts {
		if err := ctx.Err(); err != nil {
			return nil, llm.Usage{}, translating(err)
		}
		source, err := t.source(text, req.Source, i)
		if err != nil {
			return nil, llm.Usage{}, err
		}
		out[i].Source = source.Code
		if texts[i], err = w.add(ctx, text, source, req.SplitSentences); err != nil {
			return nil, llm.Usage{}, translating(inText(i, err))
		}
	}
	if err := worker.claim(ctx, min(t.memory, w.held+w.all)); err != nil {
		return nil, llm.Usage{}, translating(err)
	}
	if err := w.run(ctx); err != nil {
		return nil, llm.Usage{}, err
	}
	for i := range out {
		out[i].Text, out[i].Score = t.join(texts[i], req.Target), t.score(texts[i])
	}
	return out, w.usage, nil
}

// inText adds the index of the text to an error of [translation.add].
func inText(i int, err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Param = fmt.Sprintf("text[%d]", i)
	}
	return err
}

func (t *Translator) checkTranslate(req *llm.TranslateRequest) error {
	switch {
	case len(req.Texts) == 0 || len(req.Texts) > MaxTexts:
		return invalid("text", fmt.Sprintf("%d texts, but a request must have 1 to %d", len(req.Texts), MaxTexts))
	case req.Beams < 0 || req.Beams > MaxBeams:
		return invalid("num_beams", fmt.Sprintf("must be between 1 and %d, not %d", MaxBeams, req.Beams))
	case t.targets.find(req.Target) == nil:
		return t.targets.unknown("target_lang", "to", req.Target)
	case req.Source != "" && t.sources.find(req.Source) == nil:
		return t.sources.unknown("source_lang", "from", req.Source)
	}
	return nil
}

func (l spoken) unknown(param, direction, code string) error {
	return invalid(param, fmt.Sprintf("this model does not translate %s the language %.20q, only %s %s", direction, code, direction, strings.Join(l.codes(), ", ")))
}

// source returns the language of a text, detected if none is given.
func (t *Translator) source(text, given string, i int) (*arch.Language, error) {
	if given != "" {
		return t.sources.find(given), nil
	}
	if found := t.sources.detect(text); found != nil {
		return found, nil
	}
	return nil, invalid("source_lang", fmt.Sprintf("the language of text[%d] could not be detected: specify it", i))
}

// A sentence is translated as a unit; it includes the white space around it.
type sentence struct {
	language.Sentence
	ids   []int // for the encoder; nil if there is nothing to translate
	limit int   // tokens of the translation, including those of language and end

	decoding
}

// join concatenates the sentences of a text. Where the source has nothing between two of
// them, the target gets a space if its script uses one.
func (t *Translator) join(sentences []*sentence, target string) string {
	var b strings.Builder
	spaced := !slices.Contains([]string{"zh", "ja", "th", "lo", "km", "my"}, target)
	for i, s := range sentences {
		after := s.After
		switch last := i == len(sentences)-1; {
		case after == "" && spaced && !last:
			after = " "
		case after == " " && !spaced && !last:
			after = ""
		}
		b.WriteString(s.Before + t.text(s) + after)
	}
	return b.String()
}

// score returns the geometric mean of the probabilities of all tokens of a translation, 1
// if there was nothing to translate.
func (t *Translator) score(sentences []*sentence) float64 {
	sum, tokens := 0.0, 0
	for _, s := range sentences {
		if s.search != nil {
			logprob, n := s.search.likelihood()
			sum, tokens = sum+logprob, tokens+n
		}
	}
	return math.Exp(sum / float64(max(1, tokens)))
}

// text returns the translation of s, without the token of the language.
func (t *Translator) text(s *sentence) string {
	if s.search == nil {
		return ""
	}
	tokens, _ := s.search.best()
	return tokenizer.Decode(t.tokenizer, tokens)
}

// A translation is one request in progress.
type translation struct {
	*Translator
	beams         int
	target        *arch.Language
	member        *member
	waiting       []*sentence
	active        []*sentence
	held, largest int64 // bytes of all sentences, and the most that one takes while it is decoded
	all           int64 // bytes, if all were decoded together
	usage         llm.Usage
}

// add splits a text into sentences and queues them.
func (w *translation) add(ctx context.Context, text string, source *arch.Language, split bool) ([]*sentence, error) {
	parts := []language.Sentence{whole(text)}
	if split {
		parts = language.Sentences(text, source.Code)
	}
	var out []*sentence
	for _, part := range parts {
		s := &sentence{Sentence: part}
		out = append(out, s)
		if part.Text == "" {
			continue
		}
		to := tokenizer.Collector{Max: w.context}
		if err := to.Add(ctx, w.tokenizer, part.Text, false); err != nil {
			return nil, w.tooLong("a sentence has", err)
		}
		s.ids = slices.Concat(tokensOf(source.Source, w.target.Source), to.IDs(), []int{w.rules.End})
		s.limit = w.limit(len(s.ids))
		if n := len(s.ids); n > w.context {
			return nil, llm.TooManyTokens("a sentence has", n, w.context)
		}
		w.held += sentenceBytes + 8*int64(len(s.ids))
		w.largest = max(w.largest, w.bytes(s))
		w.all += w.bytes(s)
		if err := w.affords(w.held+w.largest, "fewer or shorter sentences, or fewer beams"); err != nil {
			return nil, err
		}
		w.usage.Input += len(s.ids)
		w.waiting = append(w.waiting, s)
	}
	return out, nil
}

// tokensOf returns those of the tokens that there are.
func tokensOf(tokens ...int) []int {
	return slices.DeleteFunc(tokens, func(id int) bool { return id == 0 })
}

func whole(text string) language.Sentence {
	body := strings.TrimSpace(text)
	at := strings.Index(text, body)
	return language.Sentence{Before: text[:at], Text: body, After: text[at+len(body):]}
}

// limit returns the maximum length of the translation of n tokens: that of the model's
// files, or more for a long source, so that the translation is not cut off.
func (w *translation) limit(n int) int {
	return min(max(w.rules.MaxLength-1, 2*n+10), w.context-1)
}

// bytes returns the memory that s may take while it is decoded.
func (w *translation) bytes(s *sentence) int64 {
	return w.model.MemoryBytes(len(s.ids)) + decodingBytes(w.model, w.beams, s.limit)
}

// run decodes all sentences, as many together as fit.
func (w *translation) run(ctx context.Context) error {
	for {
		for more := true; more; {
			err := ctx.Err()
			if err == nil {
				more, err = w.admit(ctx)
			}
			if err != nil {
				return translating(err)
			}
		}
		if len(w.active) == 0 {
			return nil
		}
		if err := w.step(ctx); err != nil {
			return translating(err)
		}
	}
}

func translating(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &llm.Error{Code: llm.Timeout, Message: "the deadline passed before the translation was done", Err: err}
	}
	return err
}

// admit encodes waiting sentences, about [prefillChunk] tokens of those that fit, and
// begins their searches. It returns false if there were none.
func (w *translation) admit(ctx context.Context) (bool, error) {
	var room, tokens, fresh = w.memory - w.held, 0, []*sentence(nil)
	for _, s := range w.active {
		room -= w.bytes(s)
	}
	var texts [][]int
	for len(w.waiting) > 0 && tokens < prefillChunk && (len(w.active)+len(fresh)+1)*w.beams <= beamRows {
		s := w.waiting[0]
		if room -= w.bytes(s); room < 0 {
			break
		}
		tokens += len(s.ids)
		fresh, texts, w.waiting = append(fresh, s), append(texts, s.ids), w.waiting[1:]
	}
	if len(fresh) == 0 {
		return false, nil
	}
	var memories []*transformer.Memory
	err := w.member.encode(ctx, func(p *transformer.Pass) (err error) {
		memories, err = p.Encode(texts)
		return err
	})
	if err != nil {
		return false, err
	}
	var seqs []transformer.Sequence
	begin := tokensOf(w.target.Target)
	for i, memory := range memories {
		s := fresh[i]
		around := target{kernels: w.kernels, start: w.rules.DecoderStart, ends: []int{w.rules.End}, source: s.ids, tokens: w.tokens}
		s.decoding = newDecoding(w.model, memory, newBeamSearch(&w.rules.Search, around, w.beams, s.limit, begin...), len(s.ids)+16)
		w.usage.Output += len(begin)
		seqs = s.beginning(seqs)
	}
	w.active = append(w.active, fresh...)
	if len(seqs) > 0 {
		_, err = w.member.forward(ctx, seqs)
	}
	return true, err
}

// step feeds every running hypothesis its newest token and extends it.
func (w *translation) step(ctx context.Context) error {
	var seqs []transformer.Sequence
	for _, s := range w.active {
		seqs = s.inputs(seqs)
	}
	logits, err := w.member.forward(ctx, seqs)
	if err != nil {
		return err
	}
	for _, s := range w.active {
		logits = s.extend(logits)
		w.usage.Output += w.beams
	}
	w.active = slices.DeleteFunc(w.active, func(s *sentence) bool { return s.search.done })
	return nil
}

// Embed implements [llm.Embedder] over the encoder. The language of a text is detected;
// if that fails, the model's first language is used. A model whose sources begin with the target's
// language gets its first one.
func (t *Translator) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	return t.embed(ctx, req, len(t.model.Encoder), func(to *tokenizer.Collector, p llm.Prompt) ([]int, error) {
		text, ok := p.Text()
		if !ok {
			return nil, llm.Errorf(llm.Unsupported, "this model accepts text, not chats or tokens")
		}
		source := t.sources.detect(text)
		if source == nil {
			source = &t.sources[0]
		}
		err := to.Add(ctx, t.tokenizer, text, false)
		return slices.Concat(tokensOf(source.Source, t.targets[0].Source), to.IDs(), []int{t.rules.End}), err
	}, runEncoder)
}
