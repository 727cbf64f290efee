package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"glossa/pkg/tokenizer/internal/encode"
)

// Check returns the number of ids of a tokenizer.json, and an error if [Parse] would reject
// one of its steps or settings. It skips the vocabulary and the merges instead of building
// them, which makes it faster than Parse and blind to faults in them. With
// head, raw is only the beginning of a file; the size is 0 if it ends within the vocabulary.
func Check(raw []byte, head bool) (size int, err error) {
	var f file
	f.Model.Type = "BPE"
	if size, err = f.skim(raw, head); err == nil {
		err = f.checkSteps(size)
	}
	if err != nil {
		return 0, err
	}
	return size, nil
}

var errCutOff = errors.New("the file is cut off or not JSON")

// skim reads everything but the vocabulary and the merges, and returns the number of ids;
// 0 if it is unknown.
func (f *file) skim(raw []byte, head bool) (size int, err error) {
	parts := map[string]any{
		"added_tokens": &f.AddedTokens, "normalizer": &f.Normalizer, "pre_tokenizer": &f.PreTokenizer,
		"post_processor": &f.PostProcessor, "decoder": &f.Decoder,
	}
	whole, err := members(raw, func(key string, value []byte, whole bool) (err error) {
		if to := parts[key]; to != nil && whole {
			return json.Unmarshal(value, to)
		}
		if key == "model" {
			size, err = f.Model.skim(value)
		}
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case !whole && !head:
		return 0, errCutOff
	case size == 0 && !head:
		return 0, fmt.Errorf("model: %w", errNoVocab)
	}
	for _, token := range f.AddedTokens {
		if size > 0 {
			size = max(size, token.ID+1)
		}
	}
	return size, nil
}

// skim reads the settings of a model and returns the number of ids of its vocabulary; 0 if
// it is unknown.
func (m *fileModel) skim(raw []byte) (size int, err error) {
	settings := bytes.NewBufferString("{")
	_, err = members(raw, func(key string, value []byte, whole bool) (err error) {
		switch {
		case key == "vocab":
			size, err = countIDs(value, whole)
		case key != "merges" && whole:
			if settings.Len() > 1 {
				settings.WriteByte(',')
			}
			name, _ := json.Marshal(key) // strings always marshal
			fmt.Fprintf(settings, "%s:%s", name, value)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("model: %w", err)
	}
	settings.WriteByte('}')
	if err := json.Unmarshal(settings.Bytes(), m); err != nil {
		return 0, fmt.Errorf("model: %w", err)
	}
	return size, m.checkSettings()
}

// checkSteps checks the steps around the model. size is the number of ids; 0 if it is
// unknown.
func (f *file) checkSteps(size int) error {
	if _, err := readNormalizer(f.Normalizer); err != nil {
		return err
	}
	byteLevel := f.Model.Type == "BPE" && endsByteLevel(f.PreTokenizer)
	if _, err := readPreTokenizers(f.PreTokenizer, byteLevel); err != nil {
		return err
	}
	if size == 0 {
		return nil // the steps behind the model are unknown
	}
	if byteLevel {
		if err := f.checkByteLevel(); err != nil {
			return err
		}
	} else if _, err := readDecoder(f.Decoder, &Tokenizer{}, nil); err != nil {
		return err
	}
	_, _, err := readAffixes(f.PostProcessor, size)
	return err
}

// countIDs returns the number of ids of a vocabulary: ids by piece, or a list of pieces.
func countIDs(raw []byte, whole bool) (n int, err error) {
	if !whole {
		return 0, nil
	}
	switch raw[0] {
	case '[':
		whole = elements(raw, func([]byte) { n++ })
	case '{':
		whole, err = entries(raw, func(_, value []byte, _ bool) error {
			id := 0
			for _, c := range value {
				if c < '0' || c > '9' || id >= encode.MaxVocab {
					return fmt.Errorf("vocab: the id %.20s is not 0 to %d", value, encode.MaxVocab-1)
				}
				id = 10*id + int(c-'0')
			}
			n = max(n, id+1)
			return nil
		})
	default:
		return 0, errors.New("vocab: neither an object nor an array")
	}
	if err == nil && !whole {
		err = errCutOff
	}
	return n, err
}

// members calls each with the members of a JSON object. The last value may be cut off; then
// whole is false.
func members(raw []byte, each func(key string, value []byte, whole bool) error) (whole bool, err error) {
	return entries(raw, func(name, value []byte, whole bool) error {
		var key string
		if err := json.Unmarshal(name, &key); err != nil {
			return err
		}
		return each(key, value, whole)
	})
}

// entries calls each with the names and values of a JSON object, and reports whether the
// object is complete.
func entries(raw []byte, each func(name, value []byte, whole bool) error) (whole bool, err error) {
	at := skipSpace(raw, 0)
	if at >= len(raw) || raw[at] != '{' {
		return false, errors.New("not a JSON object")
	}
	for at = skipSpace(raw, at+1); at < len(raw) && raw[at] == '"'; {
		end := skipString(raw, at)
		name := raw[at:end]
		if at = skipSpace(raw, end); at >= len(raw) || raw[at] != ':' {
			return false, nil
		}
		at = skipSpace(raw, at+1)
		end, whole := skipValue(raw, at)
		if at == end {
			return false, nil
		}
		if err := each(name, raw[at:end], whole); err != nil {
			return false, err
		}
		if at = skipSpace(raw, end); at < len(raw) && raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return at < len(raw) && raw[at] == '}', nil
}

// elements calls each with the elements of a JSON array, and reports whether it is
// complete.
func elements(raw []byte, each func(value []byte)) (whole bool) {
	at := skipSpace(raw, 1)
	for at < len(raw) && raw[at] != ']' {
		end, whole := skipValue(raw, at)
		if !whole || at == end {
			return false
		}
		each(raw[at:end])
		if at = skipSpace(raw, end); at < len(raw) && raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return at < len(raw)
}

func skipSpace(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at
}

// skipString returns the end of the string at a place, len(raw) if it is cut off.
func skipString(raw []byte, at int) int {
	for at++; at < len(raw); at++ {
		switch raw[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(raw)
}

// skipValue returns the end of the value at a place; whole is false if it is cut off.
func skipValue(raw []byte, at int) (end int, whole bool) {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			if at = skipString(raw, at); depth == 0 {
				return at, at < len(raw)
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at, true
			}
			if depth--; depth == 0 {
				return at + 1, true
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at, true
			}
		}
		at++
	}
	return at, false
}
