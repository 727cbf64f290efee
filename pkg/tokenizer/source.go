package tokenizer

// A Source holds the unchanged content of a tokenizer's files. It can be stored, and
// package kinds makes the same tokenizer from it again.
type Source struct {
	Kind  string            // one of the constants below
	Parts map[string][]byte // by name; the kind determines which
}

// The kinds of sources, with their parts. Any may also have PartNewline.
const (
	KindHF            = "hf"            // PartJSON: tokenizer.json
	KindGPT2          = "gpt2"          // PartVocab: vocab.json; PartMerges: merges.txt
	KindSentencePiece = "sentencepiece" // PartModel: the model's protocol buffer
	KindXGLM          = "xglm"          // PartModel
	KindM2M100        = "m2m100"        // PartVocab, PartModel
	KindMarian        = "marian"        // PartVocab, PartModel: source.spm
	KindPegasus       = "pegasus"       // PartModel
	KindMBART50       = "mbart50"       // PartModel
	KindGGUF          = "gguf"          // PartJSON: gguf.Vocabulary
	KindAlpha         = "alpha"         // PartJSON: tokenizerArtifacts
)

// The names of parts.
const (
	PartJSON    = "json"
	PartVocab   = "vocab"
	PartMerges  = "merges"
	PartModel   = "model"
	PartNewline = "newline" // the id of line feeds in decimal, see [WithNewline]
)
