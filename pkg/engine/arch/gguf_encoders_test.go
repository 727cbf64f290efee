package arch_test

import (
	"encoding/binary"
	"encoding/json"
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
		{"letters", func(k map[string]any, _ map[string]block) {
			k["tokenizer.ggml.tokens"] = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁café", "▁A"}
			k["tokenizer.ggml.normalizer.lowercase"], k["tokenizer.ggml.normalizer.strip_accents"] = true, false
		}, "", func(m *arch.Model) bool { return slices.Equal(m.Tokenizer.Encode("CAFÉ"), []int{5}) }},
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
		{"rank without a key", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			delete(k, "bert.pooling_type")
		}, "", func(m *arch.Model) bool {
			return m.Ranking != nil && m.Ranking.Ranks() && m.Ranking.Function() == arch.Sigmoid
		}},
		{"no pooler and no key", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			delete(b, "cls.weight")
			delete(k, "bert.pooling_type")
		}, "leave out the pooler of BERT", nil},
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
		if err != nil || described != nil || info.Tokens != nil || !c.check(m) || info.Ranks != (m.Ranking != nil && m.Ranking.Ranks()) || info.Embeds == (m.Ranking != nil) {
			t.Errorf("%s: %v; listed: %v %+v", c.name, err, described, info)
		}
		if m != nil {
			m.Close()
		}
	}
}

// The labels of a classifier are those of its key, or else numbered.
func TestGGUFLabels(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]any, map[string]block)
		want   string // of the error; "": none
		check  func(m *arch.Model) bool
	}{
		{"labels without names", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			b["cls.output.weight"], b["cls.output.bias"] = blockOf(2, 8), blockOf(2)
		}, "", func(m *arch.Model) bool {
			r := m.Ranking
			return slices.Equal(r.Labels(), []string{"LABEL_0", "LABEL_1"}) && r.Function() == arch.Softmax && !r.Ranks() && r.Head.Dense.Tanh
		}},
		{"labels", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			b["cls.output.weight"], b["cls.output.bias"] = blockOf(3, 8), blockOf(3)
			k["bert.classifier.output_labels"] = []string{"good", "bad", "none"}
			delete(b, "token_types.weight") // DistilBERT
		}, "", func(m *arch.Model) bool {
			r := m.Ranking
			return slices.Equal(r.Labels(), []string{"good", "bad", "none"}) && r.Head.Dense.ReLU && !r.Head.Dense.Tanh && r.Pair[4].Type == 0
		}},
		{"fewer labels", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			b["cls.output.weight"], b["cls.output.bias"] = blockOf(3, 8), blockOf(3)
			k["bert.classifier.output_labels"] = []string{"good", "bad"}
		}, `bert.classifier.output_labels: 2 labels for 3 rows of the tensor "cls.output.weight"`, nil},
		{"no labels", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			b["cls.output.weight"] = blockOf(0, 8)
		}, `tensor "cls.output.weight": 0 labels are not in 1..16384`, nil},
		{"labels of another type", func(k map[string]any, b map[string]block) {
			addClassifier(k, b)
			k["bert.classifier.output_labels"] = 1
		}, "bert.classifier.output_labels", nil},
	} {
		keys, tensors := ggufBERT()
		c.change(keys, tensors)
		fsys := fstest.MapFS{"m/x.gguf": gguf(keys, tensors)}
		m, err := arch.Open(fsys, "m")
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		}
		info, described := arch.Describe(fsys, "m")
		if err != nil || described != nil || info.Ranks || info.Embeds || !c.check(m) || !slices.Equal(info.Labels, m.Ranking.Labels()) {
			t.Errorf("%s: %v; listed: %v %+v", c.name, err, described, info)
		}
		if m != nil {
			m.Close()
		}
	}
}

// Jina's encoder has gates in one matrix or two, no positions, and slopes; its rerankers lack the pooler.
func TestGGUFJina(t *testing.T) {
	for want, change := range map[string]func(map[string]any, map[string]block){
		"": func(map[string]any, map[string]block) {},
		"two": func(_ map[string]any, b map[string]block) {
			b["blk.0.ffn_up.weight"], b["blk.0.ffn_gate.weight"] = blockOf(12, 8), blockOf(12, 8)
		},
		"leave out the pooler of BERT": func(k map[string]any, b map[string]block) {
			b["cls.weight"], b["cls.bias"] = blockOf(1, 8), blockOf(1)
			delete(k, "jina-bert-v2.pooling_type")
		},
		`tensor "blk.0.ffn_up.weight": shape [12 8]`:           func(_ map[string]any, b map[string]block) { b["blk.0.ffn_up.weight"] = blockOf(12, 8) },
		`"blk.0.attn_norm_2.weight": unknown`:                  func(_ map[string]any, b map[string]block) { b["blk.0.attn_norm_2.weight"] = blockOf(8) },
		"attention.max_alibi_bias: 4 is not supported, only 8": func(k map[string]any, _ map[string]block) { k["jina-bert-v2.attention.max_alibi_bias"] = 4 },
		"expert_count: 2 experts are not supported":            func(k map[string]any, _ map[string]block) { k["jina-bert-v2.expert_count"] = 2 },
	} {
		keys, tensors := ggufBERT()
		for name, v := range keys {
			if rest, ok := strings.CutPrefix(name, "bert."); ok {
				delete(keys, name)
				keys["jina-bert-v2."+rest] = v
			}
		}
		keys["general.architecture"] = "jina-bert-v2"
		delete(tensors, "position_embd.weight")
		delete(tensors, "blk.0.ffn_up.bias")
		tensors["blk.0.ffn_up.weight"] = blockOf(24, 8)
		change(keys, tensors)
		m, err := arch.Open(fstest.MapFS{"m/x.gguf": gguf(keys, tensors)}, "m")
		if want != "" && want != "two" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			continue
		}
		if err != nil || !slices.Equal(m.Spec.Kinds[0].Attention.Slopes, []float32{1.0 / 16, 1.0 / 256}) || m.Weights.Encoder[0].Gate.Weight == nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		m.Close()
	}
}

// What Nomic's layers add to the sum of experts must be zero.
func TestNomicExpertsBias(t *testing.T) {
	files := encoderFiles(t, "nomic-moe")
	data := slices.Clone(files["m/model.safetensors"].Data)
	n := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		At []int `json:"data_offsets"`
	}
	const name = "encoder.layers.1.mlp.experts.bias"
	if err := json.Unmarshal(data[8:8+n], &header); err != nil || len(header[name].At) != 2 {
		t.Fatalf("%v, %v", err, header[name])
	}
	data[8+int(n)+header[name].At[0]+1] = 0x3f // of bfloat16
	files["m/model.safetensors"].Data = data
	if _, err := arch.Open(files, "m"); err == nil || !strings.Contains(err.Error(), `tensor "`+name+`": it is not zero`) {
		t.Error(err)
	}
}

// ggufEmbeddingGemma returns the keys and tensors of an EmbeddingGemma of one layer.
func ggufEmbeddingGemma() (map[string]any, map[string]block) {
	keys, _ := ggufBERT()
	for name, v := range keys {
		if rest, ok := strings.CutPrefix(name, "bert."); ok {
			delete(keys, name)
			keys["gemma-embedding."+rest] = v
		}
	}
	maps.Copy(keys, map[string]any{
		"general.architecture": "gemma-embedding", "gemma-embedding.pooling_type": 1, "gemma-embedding.attention.key_length": 4,
		"gemma-embedding.attention.value_length": 4, "gemma-embedding.attention.head_count_kv": 1, "gemma-embedding.attention.sliding_window": 6,
	})
	tensors := map[string]block{"token_embd.weight": blockOf(7, 8), "output_norm.weight": blockOf(8), "dense_2.weight": blockOf(24, 8), "dense_3.weight": blockOf(6, 24)}
	for name, shape := range map[string][]int{
		"attn_norm": {8}, "attn_q": {8, 8}, "attn_k": {4, 8}, "attn_v": {4, 8}, "attn_q_norm": {4}, "attn_k_norm": {4}, "attn_output": {8, 8},
		"post_attention_norm": {8}, "ffn_norm": {8}, "ffn_gate": {12, 8}, "ffn_up": {12, 8}, "ffn_down": {8, 12}, "post_ffw_norm": {8},
	} {
		tensors["blk.0."+name+".weight"] = blockOf(shape...)
	}
	return keys, tensors
}

// EmbeddingGemma sees half its window on each side, and has up to two modules Dense.
func TestGGUFEmbeddingGemma(t *testing.T) {
	const dense = "dense_2.weight"
	for _, c := range []struct {
		name   string
		change func(map[string]any, map[string]block)
		steps  int
		want   string // of the error; "": none
	}{
		{"modules", func(map[string]any, map[string]block) {}, 3, ""},
		{"no modules", func(_ map[string]any, b map[string]block) { delete(b, dense); delete(b, "dense_3.weight") }, 1, ""},
		{"second module alone", func(_ map[string]any, b map[string]block) { delete(b, dense) }, 0, `"dense_3.weight": unknown`},
		{"other width", func(_ map[string]any, b map[string]block) { b[dense] = blockOf(24, 9) }, 0, `"dense_2.weight": shape [24 9]`},
		{"a vector", func(_ map[string]any, b map[string]block) { b["dense_3.weight"] = blockOf(24) }, 0, `"dense_3.weight": shape [24]`},
		{"chain", func(_ map[string]any, b map[string]block) { b[dense] = blockOf(23, 8) }, 0, `"dense_3.weight": shape [6 24]`},
		{"no window", func(k map[string]any, _ map[string]block) { delete(k, "gemma-embedding.attention.sliding_window") }, 0, "attention.sliding_window"},
		{"causal", func(k map[string]any, _ map[string]block) { k["gemma-embedding.attention.causal"] = true }, 0, "attention.causal: true is not supported"},
	} {
		keys, tensors := ggufEmbeddingGemma()
		c.change(keys, tensors)
		m, err := arch.Open(fstest.MapFS{"m/x.gguf": gguf(keys, tensors)}, "m")
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(m.Sentence.Steps) != c.steps || m.Spec.Kinds[m.Spec.Encoder[0]].Attention.Window != 4 || len(m.Spec.Decoder) > 0 {
			t.Errorf("%s: %+v, %+v", c.name, m.Sentence, m.Spec)
		}
		m.Close()
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
