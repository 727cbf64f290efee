package train

import (
	"encoding/json"
	"strings"

	"glossa/pkg/tokenizer/alpha"
)

// vocabulary builds the tokenizer of a new run. Special tokens follow the characters or
// words and precede the results of merges; no merge crosses one.
func vocabulary(c *Config, text string) (json.RawMessage, error) {
	for _, mark := range c.Special {
		text = strings.ReplaceAll(text, mark, "\n")
	}
	a, err := alpha.Train(c.Tokenizer, text, c.VocabSize)
	if err != nil {
		return nil, err
	}
	addSpecial(a, c.Special)
	return json.Marshal(a)
}

// addSpecial adds special tokens. The results of merges get larger ids.
func addSpecial(a *alpha.Artifacts, marks []string) {
	base, n := len(a.Vocab)-len(a.Merges), len(marks)
	vocab := append([]string{}, a.Vocab[:base]...)
	a.Vocab = append(append(vocab, marks...), a.Vocab[base:]...)
	a.VocabSize, a.SpecialTokens = len(a.Vocab), marks
	for i := range a.Merges {
		for j, id := range a.Merges[i] {
			if id >= base {
				a.Merges[i][j] = id + n
			}
		}
	}
}
