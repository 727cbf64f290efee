// Package spmodel reads SentencePiece's .model files, which are protocol buffers.
//
// Source: sentencepiece_model.proto; protobuf.dev, Encoding.
package spmodel

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// Model has the fields of a SentencePiece .model that determine ids and texts (ModelProto
// of sentencepiece_model.proto; field numbers in the methods).
type Model struct {
	Pieces       []string
	Scores       []float64
	Kinds        []subword.Kind
	ModelType    int32
	ByteFallback bool
	Suffix       bool   // treat_whitespace_as_suffix
	UnkSurface   string // the decoded text of the unknown piece
	Normalizer   NormalizerSpec
	denormalizer NormalizerSpec
}

// NormalizerSpec has the fields of normalizer_spec.
type NormalizerSpec struct {
	Charsmap     []byte
	DummyPrefix  bool
	RemoveExtra  bool // extra white space
	EscapeSpaces bool
}

// Model types of trainer_spec.
const (
	Unigram = 1
	BPE     = 2
)

// maxPiece bounds the length of a piece, as sentencepiece does.
const maxPiece = 8000

// Read reads and checks a .model file.
func Read(raw []byte) (*Model, error) {
	spec := NormalizerSpec{DummyPrefix: true, RemoveExtra: true, EscapeSpaces: true}
	m := &Model{ModelType: Unigram, UnkSurface: " \u2047 ", Normalizer: spec, denormalizer: spec}
	for f, err := range protoFields(raw) {
		if err != nil {
			return nil, err
		}
		var of string
		switch f.number {
		case 1:
			of, err = fmt.Sprintf("piece %d", len(m.Pieces)), m.readPiece(&f)
		case 2:
			of, err = "trainer_spec", m.readTrainer(&f)
		case 3:
			of, err = "normalizer_spec", m.Normalizer.read(&f)
		case 5:
			of, err = "denormalizer_spec", m.denormalizer.read(&f)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of, err)
		}
	}
	return m, m.check()
}

func (m *Model) readPiece(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	if len(m.Pieces) == encode.MaxVocab {
		return fmt.Errorf("there are more than %d pieces", encode.MaxVocab)
	}
	var piece string
	var score float32
	kind := int32(subword.KindNormal)
	for f, err := range protoFields(field.bytes) {
		switch {
		case err != nil:
		case f.number == 1:
			err = f.readString(&piece)
		case f.number == 2:
			err = f.readFloat(&score)
		case f.number == 3:
			err = f.readInt32(&kind)
		}
		if err != nil {
			return err
		}
	}
	if kind < int32(subword.KindNormal) || kind > int32(subword.KindByte) {
		return fmt.Errorf("type %d is unknown", kind)
	}
	m.Pieces = append(m.Pieces, piece)
	m.Scores = append(m.Scores, float64(score))
	m.Kinds = append(m.Kinds, subword.Kind(kind))
	return nil
}

func (m *Model) readTrainer(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	for f, err := range protoFields(field.bytes) {
		switch {
		case err != nil:
		case f.number == 3:
			err = f.readInt32(&m.ModelType)
		case f.number == 24:
			err = f.readBool(&m.Suffix)
		case f.number == 35:
			err = f.readBool(&m.ByteFallback)
		case f.number == 44:
			err = f.readString(&m.UnkSurface)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *NormalizerSpec) read(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	for f, err := range protoFields(field.bytes) {
		switch {
		case err != nil:
		case f.number == 2:
			err = f.readBytes(&s.Charsmap)
		case f.number == 3:
			err = f.readBool(&s.DummyPrefix)
		case f.number == 4:
			err = f.readBool(&s.RemoveExtra)
		case f.number == 5:
			err = f.readBool(&s.EscapeSpaces)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check applies sentencepiece's own rules.
func (m *Model) check() error {
	if len(m.Pieces) == 0 {
		return errors.New("there are no pieces")
	}
	if m.ModelType != Unigram && m.ModelType != BPE {
		return fmt.Errorf("trainer_spec: model_type %d is not supported, only UNIGRAM (1) and BPE (2)", m.ModelType)
	}
	if len(m.denormalizer.Charsmap) > 0 {
		return errors.New("denormalizer_spec: precompiled_charsmap is not supported")
	}
	seen := make(map[string]int, len(m.Pieces))
	found := map[byte]bool{}
	for id, piece := range m.Pieces {
		if piece == "\x00" && (m.ByteFallback || m.Kinds[id] == subword.KindUnused) {
			m.Kinds[id] = subword.KindUnused // an error of converters that sentencepiece tolerates
			continue
		}
		if err := checkPiece(piece, m.Scores[id]); err != nil {
			return fmt.Errorf("piece %d, %.40q: %w", id, piece, err)
		}
		if first, ok := seen[piece]; ok {
			return fmt.Errorf("pieces %d and %d are both %.40q", first, id, piece)
		}
		seen[piece] = id
		if m.Kinds[id] != subword.KindByte {
			continue
		}
		b, ok := subword.ParseByte(piece)
		if !ok || piece != subword.BytePiece(b) || !m.ByteFallback {
			return fmt.Errorf("piece %d, %.40q, is of type BYTE, but it is not a byte or byte_fallback is off", id, piece)
		}
		found[b] = true
	}
	if m.ByteFallback && len(found) != 256 {
		return fmt.Errorf("byte_fallback is on, and there are pieces for %d bytes, not 256", len(found))
	}
	return nil
}

func checkPiece(piece string, score float64) error {
	switch {
	case piece == "":
		return errors.New("it is empty")
	case len(piece) >= maxPiece:
		return fmt.Errorf("it has %d bytes, at most %d", len(piece), maxPiece-1)
	case strings.Contains(piece, "\x00"):
		return errors.New("it has a NUL")
	case math.IsNaN(score) || math.IsInf(score, 0):
		return fmt.Errorf("its score is %v", score)
	}
	return nil
}

// UnknownID returns the id of the unknown piece, -1 for none.
func UnknownID(kinds []subword.Kind) (int, error) {
	unk := -1
	for id, kind := range kinds {
		if kind != subword.KindUnknown {
			continue
		}
		if unk >= 0 {
			return 0, fmt.Errorf("pieces %d and %d are both of type UNKNOWN", unk, id)
		}
		unk = id
	}
	return unk, nil
}
