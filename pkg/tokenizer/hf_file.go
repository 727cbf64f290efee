package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// hfFile is tokenizer.json.
type hfFile struct {
	AddedTokens   []addedToken `json:"added_tokens"`
	Normalizer    *hfStep      `json:"normalizer"`
	PreTokenizer  *hfStep      `json:"pre_tokenizer"`
	PostProcessor *hfStep      `json:"post_processor"`
	Decoder       *hfStep      `json:"decoder"`
	Model         hfModel      `json:"model"`
}

// hfModel is BPE or Unigram.
type hfModel struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       []hfMerge       `json:"merges"`
	Dropout      *float64        `json:"dropout"`
	UnkToken     *string         `json:"unk_token"` // of BPE
	UnkID        *int            `json:"unk_id"`    // of Unigram
	FuseUnk      bool            `json:"fuse_unk"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`

	vocab  map[string]int // ids
	scores []float64      // of Unigram, by id
}

// hfMerge is "a b" or, since 2024, ["a","b"].
type hfMerge [2]string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *hfMerge) UnmarshalJSON(raw []byte) error {
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
		return fmt.Errorf("model.merges: %.40s has not two parts", raw)
	}
	*m = hfMerge(parts)
	return nil
}

// merges are the pairs by rank.
func (m *hfModel) merges() [][2]string {
	pairs := make([][2]string, len(m.Merges))
	for i, p := range m.Merges {
		pairs[i] = p
	}
	return pairs
}

// read checks what the model says and reads its vocabulary.
func (m *hfModel) read() error {
	switch {
	case m.Type != "BPE" && m.Type != "Unigram":
		return fmt.Errorf("model: type %.40q is not supported, only BPE and Unigram", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("model: dropout is not supported")
	case m.Prefix != "":
		return errors.New("model: continuing_subword_prefix is not supported")
	case m.Suffix != "":
		return errors.New("model: end_of_word_suffix is not supported")
	case m.Vocab == nil:
		return fmt.Errorf("model: %w", errNoVocab)
	}
	var err error
	if m.Type == "BPE" {
		err = json.Unmarshal(m.Vocab, &m.vocab)
	} else {
		err = m.readScores()
	}
	m.Vocab = nil
	if err != nil {
		return fmt.Errorf("model: vocab: %w", err)
	}
	return nil
}

// hfScored is an entry of Unigram's vocab: [piece, score].
type hfScored struct {
	piece string
	score float64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *hfScored) UnmarshalJSON(raw []byte) error {
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

func (m *hfModel) readScores() error {
	var list []hfScored
	if err := json.Unmarshal(m.Vocab, &list); err != nil {
		return err
	}
	if len(list) > maxVocab {
		return fmt.Errorf("%d pieces, at most %d", len(list), maxVocab)
	}
	m.vocab, m.scores = make(map[string]int, len(list)), make([]float64, len(list))
	for id, s := range list {
		if first, ok := m.vocab[s.piece]; ok {
			return fmt.Errorf("%.40q has both id %d and %d", s.piece, first, id)
		}
		m.vocab[s.piece], m.scores[id] = id, s.score
	}
	return nil
}

// hfStep is a normalizer, pre-tokenizer, post-processor or decoder: the fields of all.
type hfStep struct {
	Type string `json:"type"`
	// Sequence
	Normalizers   []hfStep `json:"normalizers"`
	PreTokenizers []hfStep `json:"pretokenizers"`
	Processors    []hfStep `json:"processors"`
	Decoders      []hfStep `json:"decoders"`
	// ByteLevel, Metaspace
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"` // nil is true
	Replacement    string `json:"replacement"`
	PrependScheme  string `json:"prepend_scheme"`
	Split          *bool  `json:"split"` // nil is true
	// Split, Replace, Digits, Punctuation, CharDelimiterSplit
	Pattern          hfPattern `json:"pattern"`
	Behavior         string    `json:"behavior"`
	Invert           bool      `json:"invert"`
	Content          string    `json:"content"`
	IndividualDigits bool      `json:"individual_digits"`
	Delimiter        string    `json:"delimiter"`
	// Prepend, Strip, Precompiled
	Prepend    string `json:"prepend"`
	StripLeft  bool   `json:"strip_left"`
	StripRight bool   `json:"strip_right"`
	Start      int    `json:"start"`
	Stop       int    `json:"stop"`
	Charsmap   string `json:"precompiled_charsmap"` // base64
	// TemplateProcessing, BertProcessing, RobertaProcessing
	Single        []hfTemplate          `json:"single"`
	SpecialTokens map[string]hfSpecials `json:"special_tokens"`
	CLS           hfNamed               `json:"cls"`
	SEP           hfNamed               `json:"sep"`
}

// Bounds of the steps of a kind: their number, how many times longer they may make a
// text, and a token that is decoded.
const (
	maxSteps       = 64
	maxGrowth      = 1 << 12
	maxTokenGrowth = 1 << 4
)

// flatten returns what is in s, of which sequences are taken apart by parts. Together
// they make a text at most limit times longer.
func flatten(s *hfStep, limit int, parts func(*hfStep) []hfStep) ([]hfStep, error) {
	var list []hfStep
	var add func(s *hfStep) error
	add = func(s *hfStep) error {
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

// growth bounds how many times longer a step makes a text.
func (s *hfStep) growth() int {
	switch s.Type {
	case "Replace":
		return len(s.Content)
	case "Precompiled":
		return maxReplacement
	case "NFC", "NFD":
		return 3 // U+1D160
	case "NFKC", "NFKD":
		return 11 // U+FDFA
	case "ByteLevel", "Lowercase":
		return 2
	case "Metaspace":
		return 2 * len(s.Replacement)
	}
	return 1
}

// name is how errors call a step.
func (s *hfStep) name() string {
	if s.Type == "" {
		return "a step without a type"
	}
	return fmt.Sprintf("%.40s", s.Type)
}
