package subword

// Kind is the type of a piece, numbered as in sentencepiece_model.proto and in
// GGUF's tokenizer.ggml.token_type.
type Kind int32

const (
	KindNormal  Kind = 1
	KindUnknown Kind = 2
	KindControl Kind = 3
	KindUser    Kind = 4 // user defined: always a token where a text spells it
	KindUnused  Kind = 5
	KindByte    Kind = 6 // of byte fallback
)
