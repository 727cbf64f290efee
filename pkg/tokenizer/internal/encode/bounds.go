package encode

// Bounds of vocabularies. Matching special tokens takes time in their length.
const (
	MaxVocab         = 1 << 20 // tokens
	MaxSpecialLength = 256     // bytes
)
