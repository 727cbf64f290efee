package arch_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// A block is a tensor of a GGUF file; the shape is row-major.
type block struct {
	kind  uint32
	shape []int
	data  []byte
}

// A ggufFile is a file that is being written.
type ggufFile []byte

func (b *ggufFile) u32(v int)     { *b = binary.LittleEndian.AppendUint32(*b, uint32(v)) }
func (b *ggufFile) u64(v int)     { *b = binary.LittleEndian.AppendUint64(*b, uint64(v)) }
func (b *ggufFile) text(s string) { b.u64(len(s)); *b = append(*b, s...) }
func (b *ggufFile) pad()          { *b = append(*b, make([]byte, (32-len(*b)%32)%32)...) }

func (b *ggufFile) value(v any) {
	switch v := v.(type) {
	case int:
		b.u32(4)
		b.u32(v)
	case float64:
		b.u32(6)
		b.u32(int(math.Float32bits(float32(v))))
	case bool:
		b.u32(7)
		*b = append(*b, map[bool]byte{true: 1}[v])
	case string:
		b.u32(8)
		b.text(v)
	case []string:
		b.u32(9)
		b.u32(8)
		b.u64(len(v))
		for _, s := range v {
			b.text(s)
		}
	case []bool:
		b.u32(9)
		b.u32(7)
		b.u64(len(v))
		for _, is := range v {
			*b = append(*b, map[bool]byte{true: 1}[is])
		}
	case []int:
		b.u32(9)
		b.u32(5)
		b.u64(len(v))
		for _, n := range v {
			b.u32(n)
		}
	case []float32:
		b.u32(9)
		b.u32(6)
		b.u64(len(v))
		for _, x := range v {
			b.u32(int(math.Float32bits(x)))
		}
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

// gguf writes a file of keys and tensors.
func gguf(keys map[string]any, tensors map[string]block) *fstest.MapFile {
	b, data := ggufFile("GGUF"), ggufFile{}
	b.u32(3)
	b.u64(len(tensors))
	b.u64(len(keys))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		b.text(key)
		b.value(keys[key])
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		b.text(name)
		b.u32(len(t.shape))
		for _, d := range slices.Backward(t.shape) {
			b.u64(d)
		}
		b.u32(int(t.kind))
		b.u64(len(data))
		data = append(data, t.data...)
		data.pad()
	}
	b.pad()
	return &fstest.MapFile{Data: append(b, data...)}
}

func blockOf(shape ...int) block { return block{0, shape, numbers(len(shape), shape...).data} }

// ggufTokens returns the keys of a tokenizer of bytes, "he" and more.
func ggufTokens(more ...string) map[string]any {
	tokens := slices.Concat(byteLetters(), []string{"he"}, more)
	types := slices.Repeat([]int{1}, firstAdded)
	for range more {
		types = append(types, 3)
	}
	return map[string]any{
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
		"tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": []string{"h e"},
	}
}

// ggufLlama returns the keys and tensors of a Llama of one layer, 260 tokens and width 8.
func ggufLlama() (map[string]any, map[string]block) {
	keys := map[string]any{
		"general.architecture": "llama", "llama.context_length": 16, "llama.embedding_length": 8, "llama.block_count": 1,
		"llama.feed_forward_length": 12, "llama.attention.head_count": 2, "llama.attention.head_count_kv": 1,
		"llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 100.0,
		"tokenizer.ggml.bos_token_id": 257, "tokenizer.ggml.eos_token_id": 258, "tokenizer.ggml.eot_token_id": 259,
		"tokenizer.chat_template": "<|start_header_id|><|end_header_id|><|eot_id|>",
	}
	maps.Copy(keys, ggufTokens("<s>", "</s>", "<|eot_id|>"))
	return keys, map[string]block{
		"token_embd.weight": blockOf(260, 8), "output_norm.weight": blockOf(8), "rope_freqs.weight": factors(1, 4),
		"blk.0.attn_norm.weight": blockOf(8), "blk.0.attn_q.weight": blockOf(8, 8), "blk.0.attn_k.weight": blockOf(4, 8),
		"blk.0.attn_v.weight": blockOf(4, 8), "blk.0.attn_output.weight": blockOf(8, 8), "blk.0.ffn_norm.weight": blockOf(8),
		"blk.0.ffn_up.weight": blockOf(12, 8), "blk.0.ffn_gate.weight": blockOf(12, 8), "blk.0.ffn_down.weight": blockOf(8, 12),
	}
}

func factors(values ...float32) block {
	b := block{shape: []int{len(values)}}
	for _, v := range values {
		b.data = binary.LittleEndian.AppendUint32(b.data, math.Float32bits(v))
	}
	return b
}

func TestGGUF(t *testing.T) {
	keys, all := ggufLlama()
	fsys := fstest.MapFS{"m/x.gguf": gguf(keys, all), "m/readme.txt": {}}
	for _, dir := range []string{"m", "m/x.gguf"} {
		m := openIn(t, fsys, dir)
		checkModel(t, m)
		r := m.Spec.Rotaries[0]
		if m.Type != "llama" || m.Name() != "Llama" || !r.Interleaved || !slices.Equal(r.Frequencies, []float32{1, 0.1 / 4}) {
			t.Errorf("%s %s %+v", m.Type, m.Name(), r)
		}
		if m.Weights.Head.Weight != nil || !slices.Equal(m.End, []int{258, 259}) || m.Empty != 257 || len(m.Start) != 0 || !strings.HasPrefix(m.Chat.Templates["default"], "<|start_header_id|>") {
			t.Errorf("head %v, end %v, empty %d, start %v, template %q", m.Weights.Head, m.End, m.Empty, m.Start, m.Chat)
		}
		if _, err := readAll(m.Weights); err != nil {
			t.Error(err)
		}
	}

	all["output.weight"], all["blk.0.attn_q.bias"], all["blk.0.attn_k.bias"], all["blk.0.attn_v.bias"] = blockOf(260, 8), blockOf(8), blockOf(4), blockOf(4)
	maps.Copy(keys, map[string]any{
		"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0, "tokenizer.ggml.add_bos_token": true, "llama.expert_count": 0,
		"llama.rope.dimension_count": 2, "tokenizer.ggml.eot_token_id": 258,
	})
	all["rope_freqs.weight"] = factors(4)
	m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	if len(m.Weights.Head.Weight) != 1 || len(m.Weights.Decoder[0].QKV.Bias) != 3 || !slices.Equal(m.Spec.Rotaries[0].Frequencies, []float32{0.125}) {
		t.Errorf("%+v %+v", m.Weights.Head, m.Spec.Rotaries)
	}
	if !slices.Equal(m.Start, []int{257}) || !slices.Equal(m.End, []int{258}) {
		t.Errorf("start %v, end %v", m.Start, m.End)
	}
}

// The size of a GPT-NeoX determines its GELU.
func TestGGUFNeoX(t *testing.T) {
	keys := map[string]any{
		"general.architecture": "gptneox", "gptneox.context_length": 16, "gptneox.embedding_length": 8, "gptneox.block_count": 1,
		"gptneox.feed_forward_length": 12, "gptneox.attention.head_count": 2, "gptneox.rope.dimension_count": 2,
		"gptneox.use_parallel_residual": false, "gptneox.attention.layer_norm_epsilon": 1e-3,
	}
	all := map[string]block{"token_embd.weight": blockOf(5, 8), "output.weight": blockOf(5, 8)}
	for name, shape := range map[string][]int{
		"output_norm": {8}, "blk.0.attn_norm": {8}, "blk.0.ffn_norm": {8}, "blk.0.attn_qkv": {24, 8}, "blk.0.attn_output": {8, 8},
		"blk.0.ffn_up": {12, 8}, "blk.0.ffn_down": {8, 12},
	} {
		all[name+".weight"], all[name+".bias"] = blockOf(shape...), blockOf(shape[0])
	}
	m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	s, k, r := m.Spec, m.Spec.Kinds[0], m.Spec.Rotaries[0]
	if m.Type != "gpt_neox" || k.FeedForward.Activation != transformer.GELUErf || k.Parallel || r.Interleaved || r.Dims != 2 || s.Eps != 1e-3 || m.Tokenizer != nil || m.Tokens != 5 {
		t.Errorf("%+v", *s)
	}
	delete(keys, "gptneox.use_parallel_residual")
	if m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m"); !m.Spec.Kinds[0].Parallel {
		t.Error("the residual is parallel if nothing is said")
	}
}

func TestHostileGGUF(t *testing.T) {
	for _, c := range []struct {
		change func(keys map[string]any, all map[string]block)
		want   string
	}{
		{func(k map[string]any, _ map[string]block) { delete(k, "general.architecture") }, `"general.architecture": no such key`},
		{func(k map[string]any, _ map[string]block) { k["general.architecture"] = "gptj" }, `general.architecture: "gptj" is not supported, only afmoe, apertus, arcee, bert`},
		{func(k map[string]any, _ map[string]block) { k["general.architecture"] = 7 }, `"general.architecture": uint32 where string`},
		{func(k map[string]any, _ map[string]block) { delete(k, "llama.block_count") }, "llama.block_count: missing"},
		{func(k map[string]any, _ map[string]block) { k["llama.block_count"] = 0 }, "llama.block_count: 0 is not in 1..1000"},
		{func(k map[string]any, _ map[string]block) { k["llama.block_count"] = 2 }, `tensor "blk.1.attn_norm.weight": missing`},
		{func(k map[string]any, _ map[string]block) { k["llama.attention.head_count_kv"] = []int{1} }, "llama.attention.head_count_kv: [1] is not a valid integer"},
		{func(k map[string]any, _ map[string]block) { k["llama.attention.head_count"] = 3 }, "llama.attention.head_count: 3 does not divide the width, 8"},
		{func(k map[string]any, _ map[string]block) { k["llama.attention.value_length"] = 8 }, "llama.attention.value_length: 8 is not attention.key_length, 4"},
		{func(k map[string]any, _ map[string]block) { k["llama.expert_count"] = 8 }, "llama.expert_used_count: missing"},
		{func(k map[string]any, _ map[string]block) {
			k["llama.expert_count"], k["llama.expert_used_count"] = 8, 9
		}, "llama.expert_used_count: 9 is not in 1..8"},
		{func(k map[string]any, _ map[string]block) {
			k["llama.expert_count"], k["llama.expert_used_count"] = 1<<30, 2
		}, "llama.expert_count: 1073741824 is not in 0..65536"},
		{func(k map[string]any, _ map[string]block) {
			k["llama.expert_count"], k["llama.expert_used_count"] = 8, 2
		}, `tensor "blk.0.ffn_gate_inp.weight": missing`},
		{func(k map[string]any, a map[string]block) {
			k["llama.expert_count"], k["llama.expert_used_count"] = 2, 1
			a["blk.0.ffn_gate_inp.weight"], a["blk.0.ffn_up_exps.weight"] = blockOf(2, 8), blockOf(3, 12, 8)
		}, `tensor "blk.0.ffn_up_exps.weight": shape [3 12 8], but the configuration has [2 `},
		{func(k map[string]any, _ map[string]block) { k["general.architecture"] = "plamo2" }, `general.architecture: "plamo2" is not supported: it needs state-space layers`},
		{func(k map[string]any, _ map[string]block) { k["llama.rope.scaling.type"] = "yarn" }, "llama.rope.scaling.factor: missing"},
		{func(k map[string]any, _ map[string]block) { k["llama.rope.dimension_count"] = 6 }, "llama.rope.dimension_count: 6 is not even and at most"},
		{func(k map[string]any, _ map[string]block) { k["llama.rope.freq_base"] = math.NaN() }, `key "llama.rope.freq_base"`},
		{func(k map[string]any, _ map[string]block) { k["llama.vocab_size"] = 261 }, `tensor "token_embd.weight": shape [260 8], but the configuration has [261 8]`},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.ggml.eos_token_id"] = 260 }, "tokenizer.ggml.eos_token_id: token 260 is not below 260"},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.ggml.eos_token_id"] = "x" }, `"tokenizer.ggml.eos_token_id": string where`},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.ggml.bos_token_id"] = 1 << 30 }, "texts begin with token"},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.ggml.model"] = "rwkv" }, `model: "rwkv" is not supported`},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.ggml.tokens"] = 7 }, `"tokenizer.ggml.tokens": uint32 where`},
		{func(k map[string]any, _ map[string]block) { maps.Copy(k, ggufTokens(more(5)...)) }, "the tokenizer has 262 tokens, the model 260"},
		{func(k map[string]any, _ map[string]block) { k["tokenizer.chat_template"] = 7 }, `"tokenizer.chat_template": uint32 where`},
		{func(_ map[string]any, a map[string]block) { a["rope_freqs.weight"] = factors(1, 0) }, `tensor "rope_freqs.weight": factor 1 is 0`},
		{func(_ map[string]any, a map[string]block) { a["rope_freqs.weight"] = factors(1, 2, 3) }, `tensor "rope_freqs.weight": shape [3], but the configuration has [2]`},
		{func(_ map[string]any, a map[string]block) { a["blk.0.ffn_gate_inp.weight"] = blockOf(8, 8) }, `tensor "blk.0.ffn_gate_inp.weight": unknown`},
		{func(_ map[string]any, a map[string]block) { a["blk.0.attn_q.bias"] = blockOf(8) }, `tensor "blk.0.attn_k.bias": missing`},
		{func(_ map[string]any, a map[string]block) { delete(a, "token_embd.weight") }, "llama.vocab_size: missing"},
		{func(_ map[string]any, a map[string]block) {
			a["output_norm.weight"] = block{26, []int{8}, make([]byte, 32)}
		}, `tensor "output_norm.weight": weights of type I32 are not supported`},
	} {
		keys, all := ggufLlama()
		c.change(keys, all)
		checkRejected(t, c.want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, c.want)
	}
}

// A model in several files is opened by the name of its directory or of any of its files.
func TestSplitGGUF(t *testing.T) {
	keys, all := ggufLlama()
	parts := []map[string]block{{}, {}, {}}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		parts[i%3][name] = all[name]
	}
	write := func(changes ...map[string]any) fstest.MapFS {
		fsys := fstest.MapFS{}
		for i, part := range parts {
			own := map[string]any{"split.no": i, "split.count": 3, "split.tensors.count": len(all)}
			if i == 0 {
				maps.Copy(own, keys)
			}
			if i < len(changes) {
				maps.Copy(own, changes[i])
			}
			fsys[fmt.Sprintf("m/x-%05d-of-00003.gguf", i+1)] = gguf(own, part)
		}
		return fsys
	}
	whole := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	for _, dir := range []string{"m", "m/x-00002-of-00003.gguf"} {
		m := openIn(t, write(), dir)
		if n, err := readAll(m.Weights); err != nil || n != whole.Weights.Elements() {
			t.Errorf("%s: %d values, %v", dir, n, err)
		}
	}
	if i, err := arch.Describe(write(), "m"); err != nil || i.Parameters != whole.Weights.Elements() || i.Size == 0 {
		t.Errorf("%+v, %v", i, err)
	}
	fsys := write()
	delete(fsys, "m/x-00003-of-00003.gguf")
	checkRejected(t, "a part is missing", fsys, "m/x-00003-of-00003.gguf")
	checkRejected(t, "number", write(nil, map[string]any{"split.no": 2}), "m/x-00002-of-00003.gguf: split.no is 2, but the name says 1")
	checkRejected(t, "count", write(nil, nil, map[string]any{"split.count": 4}), "m/x-00003-of-00003.gguf: split.count is 4, but the name says 3")
	checkRejected(t, "tensors", write(map[string]any{"split.tensors.count": 99}), "split.tensors.count, 99")
	fsys = write()
	fsys["m/x-00002-of-00003.gguf"] = fsys["m/x-00001-of-00003.gguf"]
	checkRejected(t, "twice", fsys, "split.no is 0, but the name says 1")
	fsys = write()
	fsys["m/x.gguf"] = fsys["m/x-00001-of-00003.gguf"]
	for i := range 3 {
		delete(fsys, fmt.Sprintf("m/x-%05d-of-00003.gguf", i+1))
	}
	checkRejected(t, "name", fsys, "m/x.gguf: one of several files, but not named")
}

func FuzzGGUF(f *testing.F) {
	keys, all := ggufLlama()
	f.Add(gguf(keys, all).Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := arch.Open(fstest.MapFS{"m/x.gguf": {Data: data}}, "m")
		if err != nil {
			if !strings.Contains(err.Error(), "m/x.gguf") && !strings.HasPrefix(err.Error(), "m: ") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		defer m.Close()
		checkModel(t, m)
	})
}
