package arch_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// The tokens that an answer begins with are those of the files, in the spelling of any year.
func TestSeq2SeqFiles(t *testing.T) {
	type members = map[string]any
	for name, c := range map[string]struct {
		config, generation members
		start              int
		begin              []int
	}{
		"as saved":      {nil, nil, 2, []int{0}},
		"not forced":    {nil, members{"forced_bos_token_id": nil}, 2, nil},
		"in the config": {members{"forced_bos_token_id": 7}, members{"forced_bos_token_id": nil}, 2, []int{7}},
		"by a flag":     {members{"force_bos_token_to_be_generated": true}, members{"forced_bos_token_id": nil}, 2, []int{0}},
		"by the class":  {members{"decoder_start_token_id": nil, "scale_embedding": nil}, members{"decoder_start_token_id": nil}, 2, []int{0}},
		"another start": {members{"decoder_start_token_id": 9}, members{"decoder_start_token_id": nil}, 9, []int{0}},
	} {
		fsys := copyOf(t, "bart")
		set(t, fsys, "config.json", c.config)
		set(t, fsys, "generation_config.json", c.generation)
		m := openIn(t, fsys, "m")
		if m.Spec.EmbedScale != 0 {
			t.Errorf("%s: embeddings are scaled", name)
		}
		if got := m.Seq2Seq; got.DecoderStart != c.start || got.End != 2 || !slices.Equal(got.Begin, c.begin) || !slices.Equal(m.Start, []int{0}) {
			t.Errorf("%s: %+v, sources begin with %v", name, got, m.Start)
		}
	}
	fsys := copyOf(t, "bart")
	set(t, fsys, "generation_config.json", members{"forced_bos_token_id": 280})
	checkRejected(t, "forced", fsys, "forced_bos_token_id: token 280")
	fsys = copyOf(t, "pegasus")
	set(t, fsys, "tokenizer_config.json", members{"offset": 0})
	checkRejected(t, "offset", fsys, "offset: 0 is not supported, only 103")
}

// A packed model has the same tokens. Those that are not in its vocabulary are refused.
func TestHostileSeq2Seq(t *testing.T) {
	data := packed(t, "bart", transformer.F32)
	files := func(data []byte) fstest.MapFS { return fstest.MapFS{"m.safetensors": {Data: data}} }
	m, want := must(arch.Open(files(data), "m.safetensors")), open(t, "bart")
	if !reflect.DeepEqual(m.Seq2Seq, want.Seq2Seq) || !slices.Equal(m.Start, want.Start) || !m.Spec.DecoderInput {
		t.Errorf("%+v, %v", m.Seq2Seq, m.Start)
	}
	for _, begin := range [][]int{{280}, {-1}, slices.Repeat([]int{1}, 1000)} {
		var d map[string]any
		if err := json.Unmarshal([]byte(describedIn(t, data)), &d); err != nil {
			t.Fatal(err)
		}
		d["seq2seq"].(map[string]any)["begin"] = begin
		if _, err := arch.Open(files(repacked(t, data, string(must(json.Marshal(d))))), "m.safetensors"); err == nil || !strings.Contains(err.Error(), "seq2seq: texts from token 2") {
			t.Errorf("%.60v: %v", begin, err)
		}
	}
}
