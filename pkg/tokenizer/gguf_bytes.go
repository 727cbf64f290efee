package tokenizer

import (
	"errors"
	"fmt"
	"strings"
)

// ggufPre is what a pre-tokenizer of GGUF means for byte-level BPE.
type ggufPre struct {
	digits       bool // digits are first cut out, each by itself
	split        splitter
	ignoreMerges bool
	addBOS       bool // unless the file says otherwise
}

// ggufPres are the known values of tokenizer.ggml.pre, as llama.cpp reads them. Where
// its own patterns differ from those of the models' files in contractions with
// U+017F, the models' are taken.
var ggufPres = func() map[string]ggufPre {
	m := map[string]ggufPre{}
	for names, pre := range map[string]ggufPre{
		"gpt-2 phi-2 mpt olmo roberta-bpe":            {split: splitGPT2},
		"llama3 llama-v3 llama-bpe falcon3 pixtral":   {split: splitLlama3, ignoreMerges: true, addBOS: true},
		"dbrx smaug-bpe chatglm-bpe":                  {split: splitLlama3},
		"qwen2 stablelm2 deepseek-r1-qwen":            {split: splitQwen2},
		"gpt-4o":                                      {split: splitO200k},
		"starcoder refact command-r smollm codeshell": {split: splitGPT2, digits: true},
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = pre
		}
	}
	return m
}()

// fromGGUFBytes builds a byte-level BPE. Control and unknown tokens are its special
// tokens; user-defined ones are read in every text.
func fromGGUFBytes(g *GGUF) (Tokenizer, error) {
	if g.Pre == "" {
		return nil, errors.New("pre is missing")
	}
	pre, ok := ggufPres[g.Pre]
	if !ok {
		return nil, fmt.Errorf("pre: %.40q is not supported", g.Pre)
	}
	if len(g.Types) != 0 && len(g.Types) != len(g.Tokens) {
		return nil, fmt.Errorf("token_type: %d of them for %d tokens", len(g.Types), len(g.Tokens))
	}
	vocab, added, err := g.byteVocab()
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(g.Merges))
	for i, m := range g.Merges {
		left, right, ok := strings.Cut(m, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merges: %d, %.40q, has not two parts", i, m)
		}
		merges[i] = [2]string{left, right}
	}
	t, err := newByteLevelPipeline(byteLevelOptions{
		vocab: vocab, merges: merges, added: added, ignoreMerges: pre.ignoreMerges, digits: pre.digits, split: pre.split,
	})
	if err != nil {
		return nil, err
	}
	var before, after []int
	if ggufFlag(g.AddBOS, pre.addBOS) {
		if before, err = g.affix("bos_token_id", g.BOS, -1); err != nil {
			return nil, err
		}
	}
	if ggufFlag(g.AddEOS, false) {
		if after, err = g.affix("eos_token_id", g.EOS, -1); err != nil {
			return nil, err
		}
	}
	t.setAffixes(before, after)
	return t, nil
}

// byteVocab is the vocabulary by spelling and what is read in texts as a whole. Empty
// tokens are ids that are not used. Keys tell special tokens only where types do not:
// some name an ordinary token for padding.
func (g *GGUF) byteVocab() (map[string]int, []addedToken, error) {
	special := map[int64]bool{}
	for _, id := range []*int64{g.BOS, g.EOS, g.EOT, g.Unknown, g.Padding} {
		if id != nil && len(g.Types) == 0 {
			special[*id] = true
		}
	}
	vocab := make(map[string]int, len(g.Tokens))
	var added []addedToken
	for id, piece := range g.Tokens {
		if first, ok := vocab[piece]; ok {
			return nil, nil, fmt.Errorf("tokens: %d and %d are both %.40q", first, id, piece)
		}
		if piece == "" {
			continue
		}
		vocab[piece] = id
		kind := pieceNormal
		if len(g.Types) > 0 {
			kind = pieceKind(g.Types[id])
		}
		switch {
		case kind < pieceNormal || kind > pieceByteOf:
			return nil, nil, fmt.Errorf("token_type of token %d is %d, not 1 to 6", id, g.Types[id])
		case kind == pieceControl, kind == pieceUnknown, special[int64(id)]:
			added = append(added, addedToken{ID: id, Content: piece, Special: true})
		case kind == pieceUser:
			added = append(added, addedToken{ID: id, Content: piece})
		}
	}
	return vocab, added, nil
}
