package arch_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// alpha returns a checkpoint with an activation; all its weights differ.
func alpha(t *testing.T, activation string, fused bool) *checkpoint.Alpha {
	t.Helper()
	ck := checkpointtest.Golden()
	ck.ModelConfig.FFNActivation = activation
	if activation == checkpoint.Composed {
		ck.ModelConfig.ActivationGraph = json.RawMessage(`{"type":"basis","op":"relu"}`)
	}
	ck.Params = map[string]checkpoint.Tensor{}
	for i, p := range checkpoint.Params(&ck.ModelConfig, fused) {
		data := make([]float32, p.Elements())
		for j := range data {
			data[j] = float32(1000*i + j)
		}
		ck.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	if err := ck.Validate(); err != nil {
		t.Fatal(err)
	}
	return ck
}

func TestFromAlpha(t *testing.T) {
	for activation, want := range map[string]transformer.Activation{
		"": transformer.GELU, checkpoint.GELU: transformer.GELU, checkpoint.SiLU: transformer.SiLU, checkpoint.ReLU: transformer.ReLU,
		checkpoint.SwiGLU: transformer.SiLU, checkpoint.Universal: transformer.Universal, checkpoint.KANSpline: transformer.KANSpline,
		checkpoint.Composed: transformer.Composed,
	} {
		for _, fused := range []bool{false, true} {
			ck := alpha(t, activation, fused)
			m, err := arch.FromAlpha(ck, "")
			if err != nil {
				t.Fatal(err)
			}
			checkModel(t, m)
			total := int64(0)
			for _, p := range ck.Params {
				total += int64(len(p.Data))
			}
			if n, err := readAll(m.Weights); err != nil || n != total {
				t.Errorf("%s: %d values of %d, %v", activation, n, total, err)
			}
			if f := m.Spec.Kinds[0].FeedForward; f.Activation != want || f.Gated != (activation == checkpoint.SwiGLU) || (f.Graph != nil) != (activation == checkpoint.Composed) {
				t.Errorf("%s: %+v", activation, *m.Spec)
			}
			qkv := m.Weights.Decoder[0].QKV.Weight
			wantQKV := ck.Params["layer.0.attn.wqkv"].Data
			if !fused {
				wantQKV = slices.Concat(ck.Params["layer.0.attn.wq"].Data, ck.Params["layer.0.attn.wk"].Data, ck.Params["layer.0.attn.wv"].Data)
			}
			if !slices.Equal(valuesOf(t, qkv), wantQKV) {
				t.Errorf("%s: queries, keys and values differ", activation)
			}
			if _, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32); err != nil {
				t.Errorf("%s: %v", activation, err)
			}
		}
	}
	m, err := arch.FromAlpha(checkpointtest.Golden(), "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Type != "alpha" || m.Name() != "Alpha" || m.Version != "00000000-7" || m.Empty != 0 || m.Start != nil || m.End != nil || m.Tokens != 3 || m.Close() != nil {
		t.Errorf("%+v", m)
	}
	if err := m.Weights.Embed.Weight[0].Read(make([]float32, 4), 12); err == nil {
		t.Error("read beyond a tensor")
	}
}

func TestAlphaEmpty(t *testing.T) {
	ck := checkpointtest.Golden()
	ck.Tokenizer = json.RawMessage(`{"type":"char","vocabSize":3,"vocab":["a","b","\n"]}`)
	if m, err := arch.FromAlpha(ck, ""); err != nil || m.Empty != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	for want, raw := range map[string]string{
		"no tokenizerArtifacts":       "",
		"4 tokens, the model 3":       `{"type":"char","vocabSize":4,"vocab":["a","b","\n","c"]}`,
		"vocabSize is 5, vocab has 1": `{"type":"char","vocabSize":5,"vocab":["a"]}`,
	} {
		ck.Tokenizer = json.RawMessage(raw)
		if raw == "" {
			ck.Tokenizer = nil
		}
		if _, err := arch.FromAlpha(ck, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Attention scores are bounded by the record's setting, or else by the file's.
func TestScoreCap(t *testing.T) {
	type bound struct{ softCap, clamp float32 }
	tanh := func(v float32) bound { return bound{softCap: v} }
	clamp := bound{clamp: 30}
	for _, c := range []struct {
		fused bool
		soft  *float64
		limit string
		want  bound
	}{
		{false, nil, "", bound{}},
		{true, nil, "", tanh(30)},
		{true, new(0.0), "", bound{}},
		{false, new(12.5), "", tanh(12.5)},
		{true, new(12.5), "none", bound{}},
		{false, new(12.5), "clamp30", clamp},
		{false, nil, "tanh30", tanh(30)},
		{false, nil, "7.5", tanh(7.5)},
	} {
		ck := alpha(t, "", c.fused)
		ck.ModelConfig.SoftCap = c.soft
		m, err := arch.FromAlpha(ck, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if a := m.Spec.Kinds[0].Attention; a.SoftCap != c.want.softCap || a.Clamp != c.want.clamp {
			t.Errorf("%+v: %+v", c, a)
		}
	}
	for _, limit := range []string{"tanh", "tanh31", "0", "-1", "nan", "1e7", "x", "clamp"} {
		if _, err := arch.FromAlpha(alpha(t, "", false), limit); err == nil || !strings.Contains(err.Error(), "is not none, clamp30") {
			t.Errorf("%s: %v", limit, err)
		}
	}
}
