package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// FromHF builds the tokenizer of a tokenizer.json: byte-level BPE as GPT-2, GPT-J,
// GPT-NeoX and Llama 3 have it. What it does not know is refused by name. Of the
// post-processor only the kind is looked at: whoever builds prompts adds the tokens
// that begin a text.
func FromHF(tokenizerJSON []byte) (Tokenizer, error) {
	t, err := fromHF(tokenizerJSON)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

// hfFile is tokenizer.json.
type hfFile struct {
	AddedTokens   []addedToken `json:"added_tokens"`
	Normalizer    *hfStep      `json:"normalizer"`
	PreTokenizer  *hfStep      `json:"pre_tokenizer"`
	PostProcessor *hfStep      `json:"post_processor"`
	Decoder       *hfStep      `json:"decoder"`
	Model         hfModel      `json:"model"`
}

type hfModel struct {
	Type         string         `json:"type"`
	Vocab        map[string]int `json:"vocab"`
	Merges       []hfMerge      `json:"merges"`
	Dropout      *float64       `json:"dropout"`
	Prefix       string         `json:"continuing_subword_prefix"`
	Suffix       string         `json:"end_of_word_suffix"`
	ByteFallback bool           `json:"byte_fallback"`
	IgnoreMerges bool           `json:"ignore_merges"`
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

// hfStep is a normalizer, pre-tokenizer, post-processor or decoder.
type hfStep struct {
	Type           string   `json:"type"`
	Normalizers    []hfStep `json:"normalizers"`   // of Sequence
	PreTokenizers  []hfStep `json:"pretokenizers"` // of Sequence
	Processors     []hfStep `json:"processors"`    // of Sequence
	AddPrefixSpace bool     `json:"add_prefix_space"`
	UseRegex       *bool    `json:"use_regex"` // nil is true
	Pattern        struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`
}

func fromHF(raw []byte) (*byteTokenizer, error) {
	var f hfFile
	f.Model.Type = "BPE" // old files leave it out
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	o := byteOptions{ignoreMerges: f.Model.IgnoreMerges}
	var err error
	if err := f.Model.check(); err != nil {
		return nil, err
	}
	if o.nfc, err = readNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if o.split, err = readPreTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	if err := checkPostProcessor(f.PostProcessor); err != nil {
		return nil, err
	}
	if f.Decoder == nil || f.Decoder.Type != "ByteLevel" {
		return nil, fmt.Errorf("decoder: %s is not supported, only ByteLevel", f.Decoder.name())
	}
	merges := make([][2]string, len(f.Model.Merges))
	for i, m := range f.Model.Merges {
		merges[i] = m
	}
	return newByteTokenizer(f.Model.Vocab, merges, f.AddedTokens, o)
}

// name is how errors call a step.
func (s *hfStep) name() string {
	switch {
	case s == nil:
		return "null"
	case s.Type == "":
		return "a step without a type"
	}
	return fmt.Sprintf("%.40s", s.Type)
}

func (m *hfModel) check() error {
	switch {
	case m.Type != "BPE":
		return fmt.Errorf("model: type %.40q is not supported, only BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("model: dropout is not supported")
	case m.Prefix != "":
		return errors.New("model: continuing_subword_prefix is not supported")
	case m.Suffix != "":
		return errors.New("model: end_of_word_suffix is not supported")
	case m.ByteFallback:
		return errors.New("model: byte_fallback is not supported")
	}
	return nil
}

// readNormalizer tells whether there is NFC; else there must be nothing.
func readNormalizer(s *hfStep) (nfc bool, err error) {
	switch {
	case s == nil:
		return false, nil
	case s.Type == "NFC":
		return true, nil
	case s.Type != "Sequence":
		return false, fmt.Errorf("normalizer: %s is not supported, only NFC", s.name())
	}
	for i := range s.Normalizers {
		if s.Normalizers[i].Type != "NFC" {
			return false, fmt.Errorf("normalizer: %s in a Sequence is not supported, only NFC", s.Normalizers[i].name())
		}
		nfc = true
	}
	return nfc, nil
}

// readPreTokenizer knows ByteLevel, and Split by a known pattern with ByteLevel
// after it.
func readPreTokenizer(s *hfStep) (splitter, error) {
	steps := []hfStep{}
	switch {
	case s == nil:
		return nil, errors.New("pre_tokenizer: null is not supported, only ByteLevel and Sequence of Split and ByteLevel")
	case s.Type == "Sequence":
		steps = s.PreTokenizers
	default:
		steps = append(steps, *s)
	}
	var split splitter
	if len(steps) == 2 && steps[0].Type == "Split" {
		var err error
		if split, err = readSplit(&steps[0]); err != nil {
			return nil, err
		}
		steps = steps[1:]
	}
	if len(steps) != 1 {
		return nil, fmt.Errorf("pre_tokenizer: a Sequence of %d is not supported, only Split and ByteLevel", len(steps))
	}
	level := steps[0]
	useRegex := level.UseRegex == nil || *level.UseRegex
	switch {
	case level.Type != "ByteLevel":
		return nil, fmt.Errorf("pre_tokenizer: %s is not supported, only ByteLevel and Split with ByteLevel", level.name())
	case level.AddPrefixSpace:
		return nil, errors.New("pre_tokenizer: ByteLevel: add_prefix_space is not supported")
	case useRegex && split != nil:
		return nil, errors.New("pre_tokenizer: ByteLevel: use_regex after a Split is not supported")
	case !useRegex && split == nil:
		return nil, errors.New("pre_tokenizer: ByteLevel: use_regex false without a Split is not supported")
	case useRegex:
		split = splitGPT2
	}
	return split, nil
}

func readSplit(s *hfStep) (splitter, error) {
	switch {
	case s.Invert:
		return nil, errors.New("pre_tokenizer: Split: invert is not supported")
	case s.Behavior != "Isolated":
		return nil, fmt.Errorf("pre_tokenizer: Split: behavior %.40q is not supported, only Isolated", s.Behavior)
	case s.Pattern.Regex == nil:
		return nil, errors.New("pre_tokenizer: Split: a pattern that is no Regex is not supported")
	}
	switch *s.Pattern.Regex {
	case patternGPT2:
		return splitGPT2, nil
	case patternLlama3:
		return splitLlama3, nil
	}
	return nil, fmt.Errorf("pre_tokenizer: Split: pattern %.200q is not supported, only those of GPT-2 and Llama 3", *s.Pattern.Regex)
}

func checkPostProcessor(s *hfStep) error {
	steps := []hfStep{}
	switch {
	case s == nil:
	case s.Type == "Sequence":
		steps = s.Processors
	default:
		steps = append(steps, *s)
	}
	for i := range steps {
		if kind := steps[i].Type; kind != "ByteLevel" && kind != "TemplateProcessing" {
			return fmt.Errorf("post_processor: %s is not supported, only ByteLevel and TemplateProcessing", steps[i].name())
		}
	}
	return nil
}

// FromVocabMerges builds the tokenizer of GPT-2's two files, vocab.json and
// merges.txt. They do not name special tokens: those are the entries that are
// neither a byte nor made by a merge.
func FromVocabMerges(vocabJSON, mergesTXT []byte) (Tokenizer, error) {
	var vocab map[string]int
	if err := json.Unmarshal(vocabJSON, &vocab); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	merges, err := readMerges(string(mergesTXT))
	if err != nil {
		return nil, fmt.Errorf("merges.txt: %w", err)
	}
	ordinary := make(map[string]bool, len(vocab))
	for _, r := range byteAlphabet {
		ordinary[string(r)] = true
	}
	for _, m := range merges {
		ordinary[m[0]+m[1]] = true
	}
	var added []addedToken
	for piece, id := range vocab {
		if !ordinary[piece] {
			added = append(added, addedToken{ID: id, Content: piece, Special: true})
		}
	}
	t, err := newByteTokenizer(vocab, merges, added, byteOptions{split: splitGPT2})
	if err != nil {
		return nil, fmt.Errorf("vocab.json, merges.txt: %w", err)
	}
	return t, nil
}

// readMerges reads a merge a line, after a line "#version: 0.2".
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
			return nil, fmt.Errorf("line %d: %.40q has not two parts", n, line)
		}
		merges = append(merges, [2]string{left, right})
	}
	return merges, nil
}
