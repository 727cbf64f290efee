package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// pieceModelFile is a SentencePiece .model: what of ModelProto decides ids and
// texts (sentencepiece_model.proto; field numbers in the methods).
type pieceModelFile struct {
	pieces       []string
	scores       []float64
	kinds        []pieceKind
	modelType    int32
	byteFallback bool
	suffix       bool   // treat_whitespace_as_suffix
	unkSurface   string // what the unknown piece is decoded to
	normalizer   pieceNormalizerSpec
	denormalizer pieceNormalizerSpec
}

type pieceNormalizerSpec struct {
	charsmap     []byte
	dummyPrefix  bool
	removeExtra  bool // extra white space
	escapeSpaces bool
}

// Model types of trainer_spec.
const (
	modelUnigram = 1
	modelBPE     = 2
)

// maxPiece bounds the length of a piece, as sentencepiece does.
const maxPiece = 8000

// readPieceModel reads and checks a .model file.
func readPieceModel(raw []byte) (*pieceModelFile, error) {
	spec := pieceNormalizerSpec{dummyPrefix: true, removeExtra: true, escapeSpaces: true}
	m := &pieceModelFile{modelType: modelUnigram, unkSurface: " \u2047 ", normalizer: spec, denormalizer: spec}
	for f, err := range protoFields(raw) {
		if err != nil {
			return nil, err
		}
		var of string
		switch f.number {
		case 1:
			of, err = fmt.Sprintf("piece %d", len(m.pieces)), m.readPiece(&f)
		case 2:
			of, err = "trainer_spec", m.readTrainer(&f)
		case 3:
			of, err = "normalizer_spec", m.normalizer.read(&f)
		case 5:
			of, err = "denormalizer_spec", m.denormalizer.read(&f)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of, err)
		}
	}
	return m, m.check()
}

func (m *pieceModelFile) readPiece(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	if len(m.pieces) == maxVocab {
		return fmt.Errorf("there are more than %d pieces", maxVocab)
	}
	var piece string
	var score float32
	kind := int32(pieceNormal)
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
	if kind < int32(pieceNormal) || kind > int32(pieceByteOf) {
		return fmt.Errorf("type %d is not known", kind)
	}
	m.pieces = append(m.pieces, piece)
	m.scores = append(m.scores, float64(score))
	m.kinds = append(m.kinds, pieceKind(kind))
	return nil
}

func (m *pieceModelFile) readTrainer(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	for f, err := range protoFields(field.bytes) {
		switch {
		case err != nil:
		case f.number == 3:
			err = f.readInt32(&m.modelType)
		case f.number == 24:
			err = f.readBool(&m.suffix)
		case f.number == 35:
			err = f.readBool(&m.byteFallback)
		case f.number == 44:
			err = f.readString(&m.unkSurface)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *pieceNormalizerSpec) read(field *protoField) error {
	if err := field.want(2); err != nil {
		return err
	}
	for f, err := range protoFields(field.bytes) {
		switch {
		case err != nil:
		case f.number == 2:
			err = f.readBytes(&s.charsmap)
		case f.number == 3:
			err = f.readBool(&s.dummyPrefix)
		case f.number == 4:
			err = f.readBool(&s.removeExtra)
		case f.number == 5:
			err = f.readBool(&s.escapeSpaces)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check applies sentencepiece's own rules.
func (m *pieceModelFile) check() error {
	if len(m.pieces) == 0 {
		return errors.New("there are no pieces")
	}
	if m.modelType != modelUnigram && m.modelType != modelBPE {
		return fmt.Errorf("trainer_spec: model_type %d is not supported, only UNIGRAM (1) and BPE (2)", m.modelType)
	}
	if len(m.denormalizer.charsmap) > 0 {
		return errors.New("denormalizer_spec: precompiled_charsmap is not supported")
	}
	seen := make(map[string]int, len(m.pieces))
	found := map[byte]bool{}
	for id, piece := range m.pieces {
		if piece == "\x00" && (m.byteFallback || m.kinds[id] == pieceUnused) {
			m.kinds[id] = pieceUnused // an error of converters that sentencepiece forgives
			continue
		}
		if err := checkPiece(piece, m.scores[id]); err != nil {
			return fmt.Errorf("piece %d, %.40q: %w", id, piece, err)
		}
		if first, ok := seen[piece]; ok {
			return fmt.Errorf("pieces %d and %d are both %.40q", first, id, piece)
		}
		seen[piece] = id
		if m.kinds[id] != pieceByteOf {
			continue
		}
		b, ok := pieceByte(piece)
		if !ok || !m.byteFallback {
			return fmt.Errorf("piece %d, %.40q, is of type BYTE, and is none or byte_fallback is off", id, piece)
		}
		found[b] = true
	}
	if m.byteFallback && len(found) != 256 {
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

// unknownID is the id of the unknown piece, -1 for none.
func unknownID(kinds []pieceKind) (int, error) {
	unk := -1
	for id, kind := range kinds {
		if kind != pieceUnknown {
			continue
		}
		if unk >= 0 {
			return 0, fmt.Errorf("pieces %d and %d are both of type UNKNOWN", unk, id)
		}
		unk = id
	}
	return unk, nil
}
