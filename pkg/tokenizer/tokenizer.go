// Package tokenizer says what a tokenizer is, which turns text into token ids and back,
// and collects the tokens of a text within bounds. The tokenizers are in the packages
// below it: alpha, hf, sentencepiece, gguf; kinds opens any of them from a [Source]. It
// refuses to know models, where files are, and chat templates.
package tokenizer

import (
	"strings"
)

// Tokenizer maps text to ids. Implementations are safe for concurrent use.
type Tokenizer interface {
	// Encode never reads special tokens: what spells one is ordinary text.
	Encode(text string) []int
	// EncodeSpecial reads special tokens spelled in text as such, at each place the
	// longest. They are never merged with their neighbours.
	EncodeSpecial(text string) []int
	// Size is the number of ids: 0 to Size()-1.
	Size() int
	// Piece returns the spelling of id in the vocabulary, "" if out of range.
	Piece(id int) string
	// NewDecoder returns a decoder at the beginning of a text.
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

// Exporter is a capability of a [Tokenizer]: the tokenizer.json of Hugging Face's format that
// splits every text into the same tokens, and makes the same text of them.
type Exporter interface {
	Export() ([]byte, error)
}

// Decoder turns the ids of one text into its bytes, in order.
type Decoder interface {
	// Next returns what id adds to the text: perhaps a part of a rune, "" for
	// unknown and special ids.
	Next(id int) string
	// Flush returns what the decoder holds back at the end of the text.
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
