package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"glossa/pkg/tokenizer/internal/encode"
)

// file is tokenizer.json.
type file struct {
	AddedTokens   []AddedToken `json:"added_tokens"`
	Normalizer    *fileStep    `json:"normalizer"`
	PreTokenizer  *fileStep    `json:"pre_tokenizer"`
	PostProcessor *fileStep    `json:"post_processor"`
	Decoder       *fileStep    `json:"decoder"`
	Model         fileModel    `json:"model"`
}

// fileModel is BPE, Unigram or WordPiece.
type fileModel struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       []fileMerge     `json:"merges"`
	Dropout      *float64        `json:"dropout"`
	UnkToken     *string         `json:"unk_token"` // of BPE and WordPiece
	UnkID        *int            `json:"unk_id"`    // of Unigram
	FuseUnk      bool            `json:"fuse_unk"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	MaxChars     *int            `json:"max_input_chars_per_word"` // of WordPiece

	vocab  map[string]int // ids
	scores []float64      // of Unigram, by id
}

// fileMerge is "a b" or, since 2024, ["a","b"].
type fileMerge [2]string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *fileMerge) UnmarshalJSON(raw []byte) error {
	var parts []string
	if bytes.HasPrefix(raw, []byte(`"`)) {
		var line string
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		parts = strings.Split(line, " ")
	} else if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("model.merges: %.40s does not have two parts", raw)
	}
	*m = fileMerge(parts)
	return nil
}

// merges returns the pairs by rank.
func (m *fileModel) merges() [][2]string {
	pairs := make([][2]string, len(m.Merges))
	for i, p := range m.Merges {
		pairs[i] = p
	}
	return pairs
}

// checkSettings rejects unsupported settings.
func (m *fileModel) checkSettings() error {
	switch {
	case m.Type != "BPE" && m.Type != "Unigram" && m.Type != "WordPiece":
		return fmt.Errorf("model: type %.40q is not supported, only BPE, Unigram and WordPiece", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("model: dropout is not supported")
	case m.Prefix != "" && m.Type != "WordPiece":
		return errors.New("model: continuing_subword_prefix is not supported")
	case m.Suffix != "":
		return errors.New("model: end_of_word_suffix is not supported")
	}
	return nil
}

// read checks the model's settings and reads its vocabulary.
func (m *fileModel) read() error {
	err := m.checkSettings()
	switch {
	case err != nil:
		return err
	case m.Vocab == nil:
		return fmt.Errorf("model: %w", errNoVocab)
	}
	if m.Type == "Unigram" {
		err = m.readScores()
	} else {
		err = json.Unmarshal(m.Vocab, &m.vocab)
	}
	m.Vocab = nil
	if err != nil {
		return fmt.Errorf("model: vocab: %w", err)
	}
	return nil
}

// scoredPiece is an entry of Unigram's vocab: [piece, score].
type scoredPiece struct {
	piece string
	score float64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *scoredPiece) UnmarshalJSON(raw []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("%.40s is not a piece and its score", raw)
	}
	if err := json.Unmarshal(parts[0], &s.piece); err != nil {
		return err
	}
	return json.Unmarshal(parts[1], &s.score)
}

func (m *fileModel) readScores() error {
	var list []scoredPiece
	if err := json.Unmarshal(m.Vocab, &list); err != nil {
		return err
	}
	if len(list) > encode.MaxVocab {
		return fmt.Errorf("%d pieces, at most %d", len(list), encode.MaxVocab)
	}
	m.vocab, m.scores = make(map[string]int, len(list)), make([]float64, len(list))
	for id, s := range list {
		if first, ok := m.vocab[s.piece]; ok {
			return fmt.Errorf("%.40q has the ids %d and %d", s.piece, first, id)
		}
		m.vocab[s.piece], m.scores[id] = id, s.score
	}
	return nil
}

// fileStep is a normalizer, pre-tokenizer, post-processor or decoder. It has the fields of
// all.
type fileStep struct {
	Type string `json:"type"`
	// Sequence
	Normalizers   []fileStep `json:"normalizers"`
	PreTokenizers []fileStep `json:"pretokenizers"`
	Processors    []fileStep `json:"processors"`
	Decoders      []fileStep `json:"decoders"`
	// ByteLevel, Metaspace
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"` // nil is true
	Replacement    string `json:"replacement"`
	PrependScheme  string `json:"prepend_scheme"`
	Split          *bool  `json:"split"` // nil is true
	// Split, Replace, Digits, Punctuation, CharDelimiterSplit
	Pattern          filePattern `json:"pattern"`
	Behavior         string      `json:"behavior"`
	Invert           bool        `json:"invert"`
	Content          string      `json:"content"`
	IndividualDigits bool        `json:"individual_digits"`
	Delimiter        string      `json:"delimiter"`
	// Prepend, Strip, Precompiled
	Prepend    string `json:"prepend"`
	StripLeft  bool   `json:"strip_left"`
	StripRight bool   `json:"strip_right"`
	Start      int    `json:"start"`
	Stop       int    `json:"stop"`
	Charsmap   string `json:"precompiled_charsmap"` // base64
	// BertNormalizer; WordPiece, a decoder
	CleanText    *bool  `json:"clean_text"`
	ChineseChars *bool  `json:"handle_chinese_chars"`
	StripAccents *bool  `json:"strip_accents"` // nil is Lowercase
	Lowercase    *bool  `json:"lowercase"`
	Prefix       string `json:"prefix"`
	CleanUp      bool   `json:"cleanup"`
	// TemplateProcessing, BertProcessing, RobertaProcessing
	Single        []templatePart           `json:"single"`
	Pair          []templatePart           `json:"pair"`
	SpecialTokens map[string]templateToken `json:"special_tokens"`
	CLS           namedToken               `json:"cls"`
	SEP           namedToken               `json:"sep"`
}

// Bounds of the steps of a kind: their number, and how many times longer they may make a
// text or a decoded token.
const (
	maxSteps       = 64
	maxGrowth      = 1 << 12
	maxTokenGrowth = 1 << 4
)

// flatten returns the steps of s. parts returns the steps of a sequence. An error is
// returned if together they could make a text more than limit times longer.
func flatten(s *fileStep, limit int, parts func(*fileStep) []fileStep) ([]fileStep, error) {
	var list []fileStep
	var add func(s *fileStep) error
	add = func(s *fileStep) error {
		if s.Type != "Sequence" {
			list = append(list, *s)
			if limit /= max(s.growth(), 1); limit == 0 {
				return fmt.Errorf("%s: the steps up to it make texts too long", s.name())
			}
			if len(list) > maxSteps {
				return fmt.Errorf("there are more than %d", maxSteps)
			}
			return nil
		}
		inner := parts(s)
		for i := range inner {
			if err := add(&inner[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if s == nil {
		return nil, nil
	}
	return list, add(s)
}

// growth returns a bound of how many times longer a step makes a text.
func (s *fileStep) growth() int {
	switch s.Type {
	case "Replace":
		return len(s.Content)
	case "Precompiled":
		return maxReplacement
	case "NFC", "NFD":
		return 3 // U+1D160
	case "NFKC", "NFKD":
		return 11 // U+FDFA
	case "ByteLevel", "Lowercase", "WordPiece":
		return 2
	case "BertNormalizer":
		return 12 // spaces, NFD and small letters
	case "Metaspace":
		return 2 * len(s.Replacement)
	}
	return 1
}

// name returns the name of a step in errors.
func (s *fileStep) name() string {
	if s.Type == "" {
		return "a step without a type"
	}
	return fmt.Sprintf("%.40s", s.Type)
}
