package tokenizer

// pieceKind is the type of a piece, numbered as in sentencepiece_model.proto and in
// GGUF's tokenizer.ggml.token_type.
type pieceKind int32

const (
	pieceNormal  pieceKind = 1
	pieceUnknown pieceKind = 2
	pieceControl pieceKind = 3
	pieceUser    pieceKind = 4 // user defined: always a token where a text spells it
	pieceUnused  pieceKind = 5
	pieceByteOf  pieceKind = 6 // of byte fallback
)
