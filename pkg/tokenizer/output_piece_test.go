package tokenizer

import "math"

// encodePiece returns the ids that a model makes of a piece.
func encodePiece(m pieceModel, piece string) []int {
	o := output{limit: math.MaxInt}
	m.encode(&o, piece)
	return o.ids
}
