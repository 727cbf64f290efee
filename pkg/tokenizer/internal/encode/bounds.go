package encode

// Bounds of vocabularies. The time to match special tokens is proportional to their length.
const (
	MaxVocab         = 1 << 20 // tokens
	MaxSpecialLength = 256     // bytes
)
