package tokenizer

// Bounds of vocabularies. Matching special tokens takes time in their length.
const (
	maxVocab         = 1 << 20 // tokens
	maxSpecialLength = 256     // bytes
)
