package arch_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// ggufBERT returns the keys and tensors of a BERT of one layer, 7 tokens and width 8.
func ggufBERT() (map[string]any, map[string]block) {
	keys := map[string]any{
		"general.architecture": "bert", "bert.context_length": 16, "bert.embedding_length": 8, "bert.block_count": 1, "bert.feed_forward_length": 12,
		"bert.attention.head_count": 2, "bert.attention.layer_norm_epsilon": 1e-12, "bert.attention.causal": false, "bert.pooling_type": 2,
		"tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": 2,
		"tokenizer.ggml.tokens": []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁hen", "s"}, "tokenizer.ggml.token_type": []int{3, 3, 3, 3, 3, 1, 1},
	}
	tensors := map[string]block{"token_embd.weight": blockOf(7, 8), "token_types.weight": blockOf(2, 8), "position_embd.weight": blockOf(16, 8)}
	for name, shape := range map[string][]int{
		"token_embd_norm": {8}, "blk.0.attn_q": {8, 8}, "blk.0.attn_k": {8, 8}, "blk.0.attn_v": {8, 8}, "blk.0.attn_output": {8, 8},
		"blk.0.attn_output_norm": {8}, "blk.0.ffn_up": {12, 8}, "blk.0.ffn_down": {8, 12}, "blk.0.layer_output_norm": {8},
	} {
		tensors[name+".weight"], tensors[name+".bias"] = blockOf(shape...), blockOf(shape[0])
	}
	return keys, tensors
}

// addClassifier adds the tensors of a reranker.
func addClassifier(keys map[string]any, tensors map[string]block) {
	keys["bert.pooling_type"] = 4
	maps.Copy(tensors, map[string]block{"cls.weight": blockOf(8, 8), "cls.bias": blockOf(8), "cls.output.weight": blockOf(8), "cls.output.bias": blockOf(1)})
}

// The keys of a file say what an encoder does with texts; tensors may have the forms of older
// converters.
func TestGGUFEncoders(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]any, map[string]block)
		want   string // of the error; "": none
		check  func(m *arch.Model) bool
	}{
		{"cls", func(map[string]any, map[string]block) {}, "", func(m *arch.Model) bool {
			s := m.Sentence
			return s != nil && slices.Equal(s.Pooling, []arch.Pooling{arch.PoolFirst}) && len(s.Steps) == 1 && s.MaxTokens == 16 &&
				slices.Equal(s.Before, []int{2}) && slices.Equal(s.After, []int{3}) && m.Spec.TokenTypes == 2 && m.Empty == 2
		}},
		{"default", func(k map[string]any, _ map[string]block) { delete(k, "bert.pooling_type") }, "", func(m *arch.Model) bool {
			return slices.Equal(m.Sentence.Pooling, []arch.Pooling{arch.PoolMean})
		}},
		{"one type", func(_ map[string]any, b map[string]block) { b["token_types.weight"] = blockOf(8) }, "", func(m *arch.Model) bool { return m.Spec.TokenTypes == 1 }},
		{"one matrix", func(_ map[string]any, b map[string]block) {
			for _, name := range []string{"q", "k", "v"} {
				delete(b, "blk.0.attn_"+name+".weight")
				delete(b, "blk.0.attn_"+name+".bias")
			}
			b["blk.0.attn_qkv.weight"], b["blk.0.attn_qkv.bias"] = blockOf(24, 8), blockOf(24)
		}, "", func(m *arch.Model) bool { return m.Sentence != nil }},
		{"rank", addClassifier, "", func(m *arch.Model) bool {
			r := m.Ranking
			return r != nil && m.Sentence == nil && r.Head.Dense.Tanh && !r.Head.Mean && r.Head.Out.Bias != nil && len(r.Pair) == 5 && r.Pair[4].Type == 1 && r.MaxTokens == 16
		}},
		{"unused classifier", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			k["bert.pooling_type"] = 1
		}, "", func(m *arch.Model) bool { return m.Ranking == nil && m.Sentence != nil }},
		{"no pooler", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			delete(b, "cls.weight")
		}, "leave out the pooler of BERT", nil},
		{"labels", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			b["cls.output.weight"] = blockOf(3, 8)
		}, `tensor "cls.output.weight": shape [3 8]`, nil},
		{"none", func(k map[string]any, _ map[string]block) { k["bert.pooling_type"] = 0 }, "bert.pooling_type: 0 is not supported, only 1 (mean)", nil},
		{"other", func(k map[string]any, _ map[string]block) { k["bert.pooling_type"] = 9 }, "bert.pooling_type: 9 is not supported", nil},
		{"causal", func(k map[string]any, _ map[string]block) { k["bert.attention.causal"] = true }, "attention.causal: true is not supported", nil},
		{"unknown", func(_ map[string]any, b map[string]block) { b["blk.0.ffn_gate.weight"] = blockOf(12, 8) }, `"blk.0.ffn_gate.weight": unknown`, nil},
		{"types", func(_ map[string]any, b map[string]block) { delete(b, "position_embd.weight") }, `"position_embd.weight": missing`, nil},
	} {
		keys, tensors := ggufBERT()
		c.change(keys, tensors)
		fsys := fstest.MapFS{"m/x.gguf": gguf(keys, tensors)}
		m, err := arch.Open(fsys, "m")
		info, described := arch.Describe(fsys, "m")
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || described == nil && info.Tokens == nil {
				t.Errorf("%s: %v; listed: %v %v; want %s", c.name, err, described, info.Tokens, c.want)
			}
			continue
		}
		if err != nil || described != nil || info.Tokens != nil || !c.check(m) || info.Ranks != (m.Ranking != nil) || info.Embeds == info.Ranks {
			t.Errorf("%s: %v; listed: %v %+v", c.name, err, described, info)
		}
		if m != nil {
			m.Close()
		}
	}
}

// The files of the model may be in the directory of the module Transformer.
func TestSentenceSubfolder(t *testing.T) {
	files, inner := encoderFiles(t, "bert-modes"), fstest.MapFS{}
	for name, f := range files {
		switch path.Base(name) {
		case "modules.json":
			f.Data = []byte(strings.Replace(string(f.Data), `"path": ""`, `"path": "0_Transformer"`, 1))
		case "config_sentence_transformers.json":
		default:
			if path.Dir(name) == "m" {
				name = "m/0_Transformer/" + path.Base(name)
			}
		}
		inner[name] = f
	}
	found, err := arch.Detect(inner, "m")
	info, described := arch.Describe(inner, "m")
	if err != nil || !found || described != nil || info.Tokens != nil || !info.Embeds {
		t.Fatalf("%v %v, %+v %v", found, err, info, described)
	}
	m, err := arch.Open(inner, "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s := m.Sentence; len(s.Pooling) != 6 || s.MaxTokens != 40 || s.Prompts["ask"] != "Search: " || len(s.Steps) != 2 || m.Tokenizer == nil {
		t.Errorf("%+v", s)
	}
}

// An encoder whose files name no token before texts opens, and its empty text is a token.
func TestEncoderWithoutStart(t *testing.T) {
	files := encoderFiles(t, "bert-bare")
	set(t, files, "tokenizer.json", map[string]any{"post_processor": nil})
	m, err := arch.Open(files, "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s := m.Sentence; m.Empty != 0 || len(s.Before)+len(s.After) != 0 {
		t.Errorf("an empty text is token %d, others are between %v and %v", m.Empty, s.Before, s.After)
	}
}
