package tokenizer

// A Source is what a tokenizer is made of: the content of its files, as they are. It may
// be kept elsewhere and gives the same tokenizer again.
type Source struct {
	Kind  string            // one of the kinds
	Parts map[string][]byte // by name; which ones the kind says
}

// The kinds of sources, with their parts. Any may also have PartNewline.
const (
	KindHF            = "hf"            // PartJSON: tokenizer.json
	KindGPT2          = "gpt2"          // PartVocab: vocab.json; PartMerges: merges.txt
	KindSentencePiece = "sentencepiece" // PartModel: the model's protocol buffer
	KindXGLM          = "xglm"          // PartModel
	KindM2M100        = "m2m100"        // PartVocab, PartModel
	KindGGUF          = "gguf"          // PartJSON: gguf.Vocabulary
	KindAlpha         = "alpha"         // PartJSON: tokenizerArtifacts
)

// The names of parts.
const (
	PartJSON    = "json"
	PartVocab   = "vocab"
	PartMerges  = "merges"
	PartModel   = "model"
	PartNewline = "newline" // decimal: the id that line feeds are, see [WithNewline]
)
