package tokenizer

import (
	"glossa/pkg/tokenizer/internal/encode"
)

// Held is the number of tokens in memory.
func (c *Collector) Held() int { return len(c.out.IDs) }

// EncodesWhole reports whether all of text is encoded although only its last tokens are kept.
func EncodesWhole(t Tokenizer, keep int, text string) bool {
	e, ok := t.(encode.Encoder)
	return ok && len((&Collector{Keep: keep}).tail(e, text, false)) == len(text)
}
