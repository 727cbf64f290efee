// Package hf reads Hugging Face's tokenizer.json: added tokens, normalizers,
// pre-tokenizers, BPE, Unigram and WordPiece models, post-processors and decoders; and the two files
// of GPT-2. It does not know chat templates.
//
// Start with [Parse]. [NewByteLevel] and [NewSpaced] are for package gguf.
//
// Source: the file format of Hugging Face's tokenizers, version 0.23; Radford et al. 2019,
// sec. 2.2 (byte-level BPE).
package hf

import (
	"encoding/json"
	"fmt"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/unigram"
)

// Parse builds the tokenizer of a tokenizer.json: BPE of bytes (GPT-2, GPT-J, GPT-NeoX,
// Llama 3) or of characters with byte fallback (Llama 2), Unigram (XGLM) or WordPiece (BERT),
// with all other parts of the file. Unsupported parts are rejected by name. Encode never makes special
// tokens of text, even where the reference's model does: neither by a merge nor as a piece
// of Unigram.
//
// Source: the file format of Hugging Face's tokenizers, version 0.23.
func Parse(tokenizerJSON []byte) (tokenizer.Tokenizer, error) {
	t, err := parse(tokenizerJSON)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func parse(raw []byte) (*Tokenizer, error) {
	var f file
	f.Model.Type = "BPE" // old files leave it out
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	var err error
	if err := f.Model.read(); err != nil {
		return nil, err
	}
	if t.normalize, err = readNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	byteLevel := f.Model.Type == "BPE" && endsByteLevel(f.PreTokenizer)
	if t.steps, err = readPreTokenizers(f.PreTokenizer, byteLevel); err != nil {
		return nil, err
	}
	if byteLevel {
		err = f.byteLevel(t)
	} else {
		err = f.other(t)
	}
	if err != nil {
		return nil, err
	}
	t.setWeights(shrinkage(f.Normalizer))
	if t.before, t.after, err = readAffixes(f.PostProcessor, len(t.spelling)); err == nil {
		t.pair = readPair(f.PostProcessor, len(t.spelling))
	}
	return t, err
}

// checkByteLevel checks what goes with a vocabulary of bytes. It supports one decoder.
func (f *file) checkByteLevel() error {
	if f.Decoder == nil || f.Decoder.Type != "ByteLevel" {
		return fmt.Errorf("decoder: %s is not supported with a model of bytes, only ByteLevel", f.Decoder.nameOrNull())
	}
	if f.Model.ByteFallback {
		return fmt.Errorf("model: byte_fallback is not supported with a model of bytes")
	}
	return nil
}

// byteLevel reads a vocabulary of bytes.
func (f *file) byteLevel(t *Tokenizer) error {
	if err := f.checkByteLevel(); err != nil {
		return err
	}
	return t.setBytes(f.Model.vocab, f.Model.merges(), f.AddedTokens, f.Model.IgnoreMerges)
}

// other reads a vocabulary of characters or a Unigram.
func (f *file) other(t *Tokenizer) error {
	ordinary, err := t.addTokens(f.Model.vocab, f.AddedTokens)
	if err != nil {
		return err
	}
	switch f.Model.Type {
	case "BPE":
		t.model, err = newCharBPE(&f.Model, ordinary, t.special, t.spelling)
	case "WordPiece":
		t.model, err = newWordPiece(&f.Model, ordinary)
	default:
		t.model, err = f.Model.unigram(ordinary)
	}
	if err != nil {
		return err
	}
	t.decoder, err = readDecoder(f.Decoder, t, f.AddedTokens)
	return err
}

func (s *fileStep) nameOrNull() string {
	if s == nil {
		return "null"
	}
	return s.name()
}

// unigram builds the model without special tokens.
func (m *fileModel) unigram(ordinary map[string]int) (pieceModel, error) {
	pieces, kinds := make([]string, len(m.vocab)), make([]subword.Kind, len(m.vocab))
	for piece, id := range m.vocab {
		pieces[id], kinds[id] = piece, subword.KindNormal
		if _, ok := ordinary[piece]; !ok {
			kinds[id] = subword.KindControl
		}
	}
	unk := -1
	if m.UnkID != nil {
		unk = *m.UnkID
	}
	u, err := unigram.New(pieces, m.scores, unk, unigram.Options{Kinds: kinds, ByteFallback: m.ByteFallback, As: unigram.Tokenizers})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return u, nil
}

// ParseGPT2 builds the tokenizer of GPT-2's two files, vocab.json and merges.txt. They do
// not name special tokens, so entries that are neither a byte nor the result of a merge are
// special. The affixes are empty.
func ParseGPT2(vocabJSON, mergesTXT []byte) (tokenizer.Tokenizer, error) {
	var vocab map[string]int
	if err := json.Unmarshal(vocabJSON, &vocab); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	merges, err := readMerges(string(mergesTXT))
	if err != nil {
		return nil, fmt.Errorf("merges.txt: %w", err)
	}
	ordinary := make(map[string]bool, len(vocab))
	for b := range 256 {
		ordinary[string(bpe.ByteRune(byte(b)))] = true
	}
	for _, m := range merges {
		ordinary[m[0]+m[1]] = true
	}
	var added []AddedToken
	for piece, id := range vocab {
		if !ordinary[piece] {
			added = append(added, AddedToken{ID: id, Content: piece, Special: true})
		}
	}
	t, err := NewByteLevel(ByteLevel{Vocab: vocab, Merges: merges, Added: added, Split: pretoken.GPT2})
	if err != nil {
		return nil, fmt.Errorf("vocab.json, merges.txt: %w", err)
	}
	return t, nil
}

// readMerges reads one merge per line. A line "#version: 0.2" may come first.
func readMerges(text string) ([][2]string, error) {
	var merges [][2]string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("line %d: %.40q does not have two parts", n, line)
		}
		merges = append(merges, [2]string{left, right})
	}
	return merges, nil
}
