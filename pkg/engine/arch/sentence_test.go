package arch_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// encoderFiles returns the files of a golden encoder in directory m.
func encoderFiles(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	from := os.DirFS("../testdata/encoders/" + name)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(from, name)
		files["m/"+name] = &fstest.MapFile{Data: raw}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The files of sentence-transformers are described as they are.
func TestSentence(t *testing.T) {
	m, err := arch.Open(encoderFiles(t, "bert-modes"), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.Sentence
	all := []arch.Pooling{arch.PoolFirst, arch.PoolMax, arch.PoolMean, arch.PoolRoot, arch.PoolWeighted, arch.PoolLast}
	if !slices.Equal(s.Pooling, all) || !s.ExcludePrompt || s.MaxTokens != 40 || !s.Lowercase || s.Prompt != "ask" || s.Prompts["ask"] != "Search: " {
		t.Errorf("%+v", s)
	}
	if len(s.Steps) != 2 || !s.Steps[0].Dense.Tanh || s.Steps[0].Dense.Bias == nil || s.Steps[1].Dense.Tanh || s.Steps[1].Dense.Bias != nil {
		t.Errorf("steps %+v", s.Steps)
	}
	if len(s.Before) != 1 || len(s.After) != 1 {
		t.Errorf("texts are between %v and %v", s.Before, s.After)
	}
}

// What a directory cannot mean is refused with the file and the field, when it is listed and
// when it is opened.
func TestHostileSentences(t *testing.T) {
	const transformer, pooling = `{"path":"","type":"a.Transformer"}`, `{"path":"1_Pooling","type":"a.Pooling"}`
	for _, c := range []struct{ name, file, text, want string }{
		{"list", "modules.json", `{}`, "m/modules.json: not a list of at most 16 modules"},
		{"many", "modules.json", "[" + strings.Repeat(transformer+",", 16) + transformer + "]", "not a list of at most 16"},
		{"none", "modules.json", `[]`, "there is no module Pooling"},
		{"order", "modules.json", "[" + pooling + "," + transformer + "]", "only Transformer, then Pooling"},
		{"tokens", "modules.json", "[" + transformer + "]", "there is no module Pooling"},
		{"escape", "modules.json", "[" + transformer + `,{"path":"../../x","type":"a.Pooling"}]`, "leaves the directory"},
		{"below", "modules.json", `[{"path":"0_Transformer","type":"a.Transformer"},` + pooling + "]", "m/0_Transformer"},
		{"module", "modules.json", "[" + transformer + "," + pooling + `,{"path":"2","type":"a.CNN"}]`, "it is not supported, only Transformer"},
		{"width", "1_Pooling/config.json", `{"word_embedding_dimension":31}`, "word_embedding_dimension: 31, but the model has width 24"},
		{"mode", "1_Pooling/config.json", `{"pooling_mode":"sum"}`, `pooling_mode: "sum" is not supported`},
		{"modes", "1_Pooling/config.json", `{"pooling_mode":["cls","cls","cls","cls","cls","cls","cls"]}`, "7 modes, at most 6"},
		{"in", "2_Dense/config.json", `{"in_features":7,"out_features":20}`, "in_features: 7, but the module before it returns 144"},
		{"out", "2_Dense/config.json", `{"in_features":144}`, "out_features: missing"},
		{"large", "2_Dense/config.json", `{"in_features":144,"out_features":1000000}`, "are more than"},
		{"shape", "2_Dense/config.json", `{"in_features":144,"out_features":19}`, "shape [20 144], but the configuration has [19 144]"},
		{"bias", "2_Dense/config.json", `{"in_features":144,"out_features":20,"bias":false,"activation_function":"torch.Identity"}`, `"linear.bias": unknown`},
		{"activation", "2_Dense/config.json", `{"in_features":144,"out_features":20,"activation_function":"torch.nn.ReLU"}`, "only Tanh and Identity"},
		{"residual", "2_Dense/config.json", `{"in_features":144,"out_features":20,"use_residual":true}`, "use_residual: true is not supported"},
		{"default", "config_sentence_transformers.json", `{"prompts":{},"default_prompt_name":"ask"}`, `default_prompt_name: prompts has no "ask"`},
		{"prompts", "config_sentence_transformers.json", `{"prompts":{"a":1}}`, "prompts: "},
		{"limit", "sentence_bert_config.json", `{"max_seq_length":2}`, "at most 2 tokens, 2 of which the tokenizer adds"},
		{"negative", "sentence_bert_config.json", `{"max_seq_length":-1}`, "max_seq_length: -1 is not in"},
		{"positions", "config.json", `{"model_type":"xlm-roberta","max_position_embeddings":2}`, "max_position_embeddings: 2 positions, 2 of which are for padding"},
		{"buckets", "config.json", `{"model_type":"mpnet","relative_attention_num_buckets":16}`, "relative_attention_num_buckets: 16 is not supported, only 32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := encoderFiles(t, "bert-modes")
			files["m/"+c.file] = &fstest.MapFile{Data: []byte(c.text)}
			m, err := arch.Open(files, "m")
			if err == nil {
				m.Close()
			}
			info, listed := arch.Describe(files, "m")
			if listed == nil {
				listed = info.Tokens
			}
			if c.name == "limit" { // a listing does not open the tokenizer
				listed = err
			}
			for _, err := range []error{err, listed} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
		})
	}
}

// Files of encoders, as those of BERT that are published, need not name tokens that begin or end texts.
func TestEncoderWithoutEnds(t *testing.T) {
	files := encoderFiles(t, "bert")
	config := files["m/config.json"]
	for _, key := range []string{"bos_token_id", "eos_token_id"} {
		if !strings.Contains(string(config.Data), `"`+key+`"`) {
			t.Fatalf("no %s", key)
		}
		config.Data = []byte(strings.Replace(string(config.Data), `"`+key+`"`, `"no_`+key+`"`, 1))
	}
	m, err := arch.Open(files, "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(m.End) > 0 || m.Empty < 0 {
		t.Errorf("texts end with %v, and an empty one is %d", m.End, m.Empty)
	}
}
