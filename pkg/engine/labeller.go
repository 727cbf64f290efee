package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A labeller computes the logits of texts, or of pairs of texts, by the head of an encoder.
type labeller struct {
	*core

	ranking *arch.Ranking
	head    *rankingHead // nil: a decoder ranks by the logits of two tokens
}

// newLabeller reads the weights of a model.
func newLabeller(m *arch.Model, cfg Config, task llm.Task) (l labeller, err error) {
	l.ranking = m.Ranking
	if l.core, err = newCore(m, cfg); err != nil {
		return l, err
	}
	l.context = min(l.context, m.Ranking.MaxTokens)
	l.info.Context, l.info.Streaming, l.info.Task, l.info.Labels = l.context, false, task, m.Ranking.Labels()
	h := m.Ranking.Head
	if h == nil {
		return l, nil
	}
	if t, ok := m.Tokenizer.(tokenizer.Affixes); ok {
		l.start, l.end = t.Affixes()
	}
	if around := len(l.start) + len(l.end); l.context < len(m.Ranking.Pair) || l.context <= around {
		return l, fmt.Errorf("model %q: a context of %d tokens is too short for the tokens that the tokenizer adds", cfg.Name, l.context)
	}
	if l.head, err = newRankingHead(l.kernels, h, m.Spec); err != nil {
		err = fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	return l, err
}

// A joined text is one of tokens, or two that were joined.
type joined struct {
	ids    []int
	second int // where tokens of type 1 begin
	cut    bool
}

// columns returns the tokens of texts, and where their second texts begin.
func columns(texts []joined) (ids [][]int, second []int) {
	for i := range texts {
		ids, second = append(ids, texts[i].ids), append(second, texts[i].second)
	}
	return ids, second
}

// labelBytes is the memory of a label's logit and score, from here to its JSON.
const labelBytes = 150

// run computes the logits of texts, several of them in one pass, and calls then with those of each.
// An error about the memory asks for what advice says.
func (l *labeller) run(ctx context.Context, w *worker, texts []joined, advice string,
	logits func(context.Context, *member, [][]int, []int) ([][]float32, error), then func(i int, logits []float32),
) error {
	ids, second := columns(texts)
	need := l.passBytes(ids) + int64(len(texts))*int64(64+labelBytes*len(l.info.Labels))
	if err := l.affords(need, advice); err != nil {
		return err
	}
	if err := w.claim(ctx, need); err != nil {
		return err
	}
	member := l.lanes.join(llm.SenderOf(ctx), w)
	defer member.leave()
	for at := 0; at < len(ids); {
		n := together(ids[at:], member.workers())
		list, err := logits(ctx, member, ids[at:at+n], second[at:at+n])
		if err != nil {
			return err
		}
		for i, values := range list {
			if slices.ContainsFunc(values, notFinite) {
				return l.lanes.damaged()
			}
			then(at+i, values)
		}
		at += n
	}
	return nil
}

// notFinite reports whether a number is none that JSON has.
func notFinite(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }

// headLogits computes the logits of texts in one pass.
func (l *labeller) headLogits(ctx context.Context, m *member, ids [][]int, second []int) (out [][]float32, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	width := l.model.Width
	err = m.encode(ctx, func(p *transformer.Pass) error {
		if _, err := p.EncodePairs(ids, second); err != nil {
			return err
		}
		x := p.Last()
		for _, text := range ids {
			rows := slices.Collect(slices.Chunk(x[:len(text)*width], width))
			if !l.head.mean {
				rows = rows[:1]
			}
			for _, row := range rows {
				l.model.FinalNorm(true, row, row)
			}
			out = append(out, l.head.logits(l.kernels, rows))
			x = x[len(text)*width:]
		}
		return nil
	})
	return out, err
}

// pair returns two texts of tokens as one text of at most limit tokens: the longer one is cut first.
func (l *labeller) pair(first, second []int, limit int) (out joined) {
	if room := max(0, limit-len(l.ranking.Pair)+2); len(first)+len(second) > room {
		n1, n2 := longestFirst(len(first), len(second), room)
		first, second, out.cut = first[:n1], second[:n2], true
	}
	typed := false
	for _, part := range l.ranking.Pair {
		if part.Type == 1 && !typed {
			out.second, typed = len(out.ids), true
		}
		switch part.Text {
		case 1:
			out.ids = append(out.ids, first...)
		case 2:
			out.ids = append(out.ids, second...)
		default:
			out.ids = append(out.ids, part.ID)
		}
	}
	if !typed {
		out.second = len(out.ids)
	}
	return l.notEmpty(out)
}

// notEmpty returns a text, or that of the token for an empty one.
func (l *labeller) notEmpty(text joined) joined {
	if len(text.ids) == 0 {
		text.ids, text.second = []int{l.empty}, 1
	}
	return text
}

// encodeText returns the tokens of a text, without those of the tokenizer's template. Special
// tokens in it are text. An error says what has too many tokens.
func (l *labeller) encodeText(ctx context.Context, what, text string) ([]int, error) {
	if l.ranking.Lowercase {
		text = lower(text)
	}
	to := tokenizer.Collector{Max: int(max(int64(l.context), l.memory/8))}
	if err := l.encode(ctx, &to, []llm.Part{{Text: text}}); err != nil {
		return nil, l.tooLong(what, err)
	}
	return to.IDs(), nil
}

// rankingHead is an [arch.RankingHead] in memory.
type rankingHead struct {
	transform
	mean bool
	late bool // the mean is of what out reads of each token
	out  *dense
}

// newRankingHead reads the weights of a head.
func newRankingHead(k *kernel.Kernels, from *arch.RankingHead, s *transformer.Spec) (h *rankingHead, err error) {
	h = &rankingHead{mean: from.Mean, late: from.Late}
	if h.transform, err = newTransform(k, from.Dense, from.GELU, from.Norm, s.Eps); err != nil {
		return nil, err
	}
	h.out, err = newDense(k, from.Out)
	return h, err
}

// logits computes the logits of the vectors that are pooled.
func (h *rankingHead) logits(k *kernel.Kernels, rows [][]float32) []float32 {
	mode := arch.PoolFirst
	if h.mean {
		mode = arch.PoolMean
	}
	if h.late {
		for i, row := range rows {
			rows[i] = h.transform.apply(k, row)
		}
		return h.out.apply(k, poolRows(mode, rows, 0))
	}
	return h.out.apply(k, h.transform.apply(k, poolRows(mode, rows, 0)))
}

// readVector reads a vector; nil if the model does not have it.
func readVector(v transformer.Vector) (out []float32, err error) {
	if len(v) == 0 {
		return nil, nil
	}
	out = make([]float32, v[0].Rows)
	return out, v[0].Read(out, 0)
}

// longestFirst returns the numbers of tokens that remain of two texts with n1 and n2 tokens,
// most together, if they are too many.
//
// Source: tokenizers 0.23, TruncationStrategy::LongestFirst.
func longestFirst(n1, n2, most int) (int, int) {
	if n1 > n2 {
		n2, n1 = longestFirst(n2, n1, most)
		return n1, n2
	}
	if n1 > most {
		n2 = n1
	} else {
		n2 = max(n1, most-n1)
	}
	if n1+n2 > most {
		n1 = most / 2
		n2 = n1 + most%2
	}
	return n1, n2
}
