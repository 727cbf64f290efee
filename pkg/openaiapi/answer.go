package openaiapi

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// NewID returns a random id of a kind: chatcmpl-, call_.
func NewID(kind string) string {
	var b [12]byte
	rand.Read(b[:])
	return kind + hex.EncodeToString(b[:])
}

// TokenLogprob is a token of the answer.
type TokenLogprob struct {
	TopLogprob
	TopLogprobs []TopLogprob `json:"top_logprobs" doc:"the most likely tokens at this position"`
}

// TopLogprob is a likely token at a position.
type TopLogprob struct {
	Token   string  `json:"token" doc:"the text; bytes that are not UTF-8 are written as in bytes:\\xe2\\x82"`
	Logprob float64 `json:"logprob" doc:"the natural logarithm of the probability; -9999 if it is impossible"`
	Bytes   []int   `json:"bytes" null:"yes" doc:"null for special tokens"`
}

// TokenLogprobs translates the tokens of an answer.
func TokenLogprobs(tokens []llm.Token) []TokenLogprob {
	list := make([]TokenLogprob, len(tokens))
	for i, t := range tokens {
		list[i] = TokenLogprob{NewLogprob(t), make([]TopLogprob, len(t.Top))}
		for j, top := range t.Top {
			list[i].TopLogprobs[j] = NewLogprob(top)
		}
	}
	return list
}

// NewLogprob translates a token. Bytes that are not UTF-8 are written as OpenAI does,
// "bytes:\xe2\x82"; a special token is spelt out and has no bytes.
func NewLogprob(t llm.Token) TopLogprob {
	out := TopLogprob{Token: t.Text, Logprob: t.Logprob}
	if math.IsInf(t.Logprob, -1) {
		out.Logprob = -9999 // OpenAI's number for very unlikely; JSON has no infinity
	}
	if t.Text == "" {
		out.Token = t.Piece
		return out
	}
	out.Bytes = make([]int, len(t.Text))
	var escaped strings.Builder
	for i := range len(t.Text) {
		out.Bytes[i] = int(t.Text[i])
		fmt.Fprintf(&escaped, `\x%02x`, t.Text[i])
	}
	if !utf8.ValidString(t.Text) {
		out.Token = "bytes:" + escaped.String()
	}
	return out
}
