package tokenizer

// weigh implements encoder.
func (t *sentencePiece) weigh(text string, _ bool) (n, per int) { return t.weights.weigh(text) }

// weigh implements encoder.
func (t *remapped) weigh(text string, _ bool) (n, per int) { return t.sp.weights.weigh(text) }

// setWeights finds the bytes that count. The normalizer leaves those that are plain as
// they are, and without rules it drops spaces alone.
func (t *sentencePiece) setWeights() {
	w := &t.weights
	w.per = maxSpecialLength
	unused, single := false, [256]bool{}
	for id, piece := range t.pieces {
		w.per = max(w.per, len(piece))
		unused = unused || t.kinds[id] == pieceUnused
		if len(piece) == 1 && (t.kinds[id] == pieceNormal || t.kinds[id] == pieceUser) {
			single[piece[0]] = true
		}
	}
	bytes := t.unknown.hasAllBytes()
	for c := range w.counts {
		kept := t.normalizer.plain[c] || t.normalizer.charsmap == nil && (c != ' ' || !t.normalizer.removeExtra)
		w.counts[c] = kept && (bytes || t.normalizer.plain[c] && single[c] && !unused)
	}
}
