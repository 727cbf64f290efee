// Package tokenizer defines tokenizers, which turn text into token ids and back, and
// collects the tokens of a text within bounds. It does not know models, the places of files,
// or chat templates.
//
// # Where to start
//
// The packages below make a [Tokenizer] of the content of its files:
//
//   - hf: tokenizer.json, or GPT-2's vocab.json and merges.txt
//   - sentencepiece: SentencePiece's .model files
//   - gguf: the keys tokenizer.ggml.* of GGUF files
//   - alpha: checkpoints of Alpha, and a trainer
//   - kinds: any of these, from a [Source]
//
// [Tokenizer.Encode] returns the ids of a text and [Decode] its text. A text that streams needs
// a [Decoder] and [UTF8], because a rune may take several tokens. For long texts from
// strangers, a [Collector] bounds the work.
package tokenizer

import (
	"strings"
)

// Tokenizer maps text to ids. Implementations are safe for concurrent use.
type Tokenizer interface {
	// Encode never reads special tokens: their spellings are ordinary text.
	Encode(text string) []int
	// EncodeSpecial also reads special tokens by their spellings, at each place the
	// longest. They never merge with their neighbours.
	EncodeSpecial(text string) []int
	// Size is the number of ids: 0 to Size()-1.
	Size() int
	// Piece returns the spelling of id in the vocabulary, "" if out of range.
	Piece(id int) string
	// NewDecoder returns a decoder at the start of a text.
	NewDecoder() Decoder
}

// Specials is a capability of a [Tokenizer]: the special tokens by their spelling.
type Specials interface {
	SpecialTokens() map[string]int
}

// Affixes is a capability of a [Tokenizer]: the ids that the model's own tokenizer
// puts before and after a text, such as Llama's beginning of text and XGLM's </s>.
// Both may be empty. Neither Encode nor EncodeSpecial adds them.
type Affixes interface {
	Affixes() (before, after []int)
}

// Pairs is a capability of a [Tokenizer]: how the model's own tokenizer joins two texts into
// one sequence. Pair returns nil if it does not say.
type Pairs interface {
	Pair() []PairPart
}

// A PairPart is a part of two texts that are joined: one of the texts, or a token.
type PairPart struct {
	Text int `json:"text,omitempty"` // 1: the first text, 2: the second; 0: the token ID
	ID   int `json:"id,omitempty"`
	Type int `json:"type,omitempty"` // of the tokens: the segments of BERT
}

// Exporter is a capability of a [Tokenizer]: it writes a tokenizer.json of Hugging Face's
// format that encodes and decodes every text in the same way.
type Exporter interface {
	Export() ([]byte, error)
}

// Decoder turns the ids of one text into its bytes, in order.
type Decoder interface {
	// Next returns the bytes that id adds to the text, perhaps a part of a rune. They are
	// "" for unknown and special ids.
	Next(id int) string
	// Flush ends the text and returns the bytes that the decoder still held back.
	Flush() string
}

// Decode returns the text of ids.
func Decode(t Tokenizer, ids []int) string {
	var b strings.Builder
	d := t.NewDecoder()
	for _, id := range ids {
		b.WriteString(d.Next(id))
	}
	b.WriteString(d.Flush())
	return b.String()
}
