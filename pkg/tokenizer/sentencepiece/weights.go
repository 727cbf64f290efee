package sentencepiece

import (
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// Weigh implements [encode.Encoder].
func (t *Tokenizer) Weigh(text string, _ bool) (n, per int) { return t.weights.Weigh(text) }

// Weigh implements [encode.Encoder].
func (t *remapped) Weigh(text string, _ bool) (n, per int) { return t.sp.weights.Weigh(text) }

// setWeights finds the bytes that count. The normalizer does not change plain bytes, and
// without rules it drops only spaces. Special tokens may take white space.
func (t *Tokenizer) setWeights() {
	w := &t.weights
	w.Per = encode.MaxSpecialLength
	unused, single := false, [256]bool{}
	for id, piece := range t.pieces {
		w.Per = max(w.Per, len(piece))
		unused = unused || t.kinds[id] == subword.KindUnused
		if len(piece) == 1 && (t.kinds[id] == subword.KindNormal || t.kinds[id] == subword.KindUser) {
			single[piece[0]] = true
		}
	}
	bytes := t.unknown.HasAllBytes()
	for c := range w.Counts {
		kept := (t.takesSpace == nil || !isSpace(byte(c))) && (t.normalizer.plain[c] || t.normalizer.charsmap == nil && (c != ' ' || !t.normalizer.removeExtra))
		w.Counts[c] = kept && (bytes || t.normalizer.plain[c] && single[c] && !unused)
	}
}
