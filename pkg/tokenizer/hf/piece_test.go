package hf

import (
	"math"

	"glossa/pkg/tokenizer/internal/encode"
)

// encodePiece returns a model's ids of a piece.
func encodePiece(m pieceModel, piece string) []int {
	o := encode.Output{Limit: math.MaxInt}
	m.Encode(&o, piece)
	return o.IDs
}
