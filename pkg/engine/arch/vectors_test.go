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

// vectorFiles returns the files of a golden model with sparse embeddings or vectors of tokens
// in directory m.
func vectorFiles(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	from := os.DirFS("../testdata/vectors/" + name)
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

// The files of PyLate, of sentence-transformers and of Stanford's ColBERT describe how queries
// and documents are read.
func TestLateInteraction(t *testing.T) {
	for name, want := range map[string]struct {
		query, document arch.Side // without Omit and Filler
		omitted         int       // of a document
		prompt          string    // of queries
		width           int
	}{
		"pylate":            {arch.Side{MaxTokens: 16, Expand: 16}, arch.Side{MaxTokens: 30}, 5, "", 20},
		"pylate-modernbert": {arch.Side{MaxTokens: 24, Expand: 24}, arch.Side{MaxTokens: 60}, 32, "", 12},
		"multi-vector":      {arch.Side{MaxTokens: 48, Expand: 12, Attend: true}, arch.Side{MaxTokens: 36}, 2, "search query: ", 16},
		"stanford":          {arch.Side{MaxTokens: 20, Expand: 20}, arch.Side{MaxTokens: 33}, 32, "", 24},
		"bge-m3":            {arch.Side{MaxTokens: 64}, arch.Side{MaxTokens: 64}, 0, "", 32},
	} {
		m, err := arch.Open(vectorFiles(t, name), "m")
		if err != nil {
			t.Fatal(err)
		}
		multi := m.Sentence.Multi
		for i, side := range []*arch.Side{&multi.Query, &multi.Document} {
			of := [2]arch.Side{want.query, want.document}[i]
			if side.MaxTokens != of.MaxTokens || side.Expand != of.Expand || side.Attend != of.Attend {
				t.Errorf("%s: %+v, want %+v", name, side, of)
			}
		}
		if !multi.Unit || len(multi.Document.Omit) != want.omitted || m.Sentence.Prompts["query"] != want.prompt || multi.Width(m.Spec) != want.width {
			t.Errorf("%s: %+v, prompts %q", name, multi, m.Sentence.Prompts)
		}
		if marked := name != "multi-vector" && name != "bge-m3"; marked != (len(multi.Query.Marker) == 1) || marked && slices.Equal(multi.Query.Marker, multi.Document.Marker) {
			t.Errorf("%s: markers %v and %v", name, multi.Query.Marker, multi.Document.Marker)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a directory cannot mean is refused with the file and the field.
func TestHostileVectors(t *testing.T) {
	const transformer, pooling = `{"path":"","type":"a.MLMTransformer"}`, `{"path":"1","type":"a.SpladePooling"}`
	for _, c := range []struct{ model, file, text, want string }{
		{"splade-bert", "modules.json", "[" + transformer + "," + pooling + `,{"path":"2","type":"a.Normalize"}]`, "only a Transformer that predicts masked tokens"},
		{"splade-bert", "modules.json", "[" + pooling + "," + transformer + "]", "only Transformer, then Pooling"},
		{"splade-bert", "1_SpladePooling/config.json", `{"pooling_strategy":"mean"}`, `pooling_strategy: "mean" is not supported, only max and sum`},
		{"splade-bert", "1_SpladePooling/config.json", `{"activation_function":"gelu"}`, `activation_function: "gelu" is not supported`},
		{"splade-bert", "1_SpladePooling/config.json", `{"embedding_dimension":9}`, "embedding_dimension: 9, but the model has"},
		{"splade-bert", "config.json", `{"model_type":"bert","hidden_act":"relu"}`, `hidden_act: "relu" is not supported`},
		{"bge-m3", "modules.json", "[" + transformer + "," + pooling + "]", `"lm_head.dense.weight": missing`},
		{"bge-m3", "sparse_linear.pt", "PK\x03\x04", "m/sparse_linear.pt: the directory of the zip is missing"},
		{"bge-m3", "sparse_linear.pt", "other", "m/sparse_linear.pt"},
		{"pylate", "1_Dense/config.json", `{"in_features":32,"out_features":20,"bias":false,"activation_function":"torch.nn.Identity","module_input_name":"sentence_embedding"}`, "module_input_name"},
		{"pylate", "1_Dense/config.json", `{"in_features":31,"out_features":20}`, "in_features: 31, but the module before it returns 32"},
		{"pylate", "modules.json", `[{"path":"","type":"a.Transformer"},{"path":"1_Dense","type":"a.Dense"},{"path":"2","type":"a.Pooling"}]`, "it is not supported after vectors of tokens"},
		{"pylate", "config_sentence_transformers.json", `{"query_length":0}`, "query_length: 0 is not in"},
		{"pylate", "config_sentence_transformers.json", `{"query_length":65}`, "query: texts of at most 65 tokens"},
		{"multi-vector", "2_MultiVectorMask/config.json", `{"keep_only_token_ids":[1]}`, "keep_only_token_ids"},
		{"multi-vector", "3_Normalize/config.json", `{}`, "module_input_name: missing"},
		{"multi-vector", "sentence_bert_config.json", `{"query_expansion":{"strategy":"other","length":3}}`, `query_expansion.strategy: "other" is not supported`},
		{"multi-vector", "sentence_bert_config.json", `{"query_expansion":{"strategy":"min","length":3,"token":"[nothing]"}}`, `query_expansion.token: the tokenizer has no "[nothing]"`},
		{"stanford", "artifact.metadata", `{"similarity":"l2"}`, "similarity"},
		{"pylate-modernbert", "config.json", `{"local_attention":8}`, "queries are expanded to 24 tokens, beyond the window of 5"},
	} {
		t.Run(c.model+" "+c.file, func(t *testing.T) {
			files := vectorFiles(t, c.model)
			data := c.text
			if rest, ok := strings.CutPrefix(c.text, `{"local_attention":8}`); ok { // one setting of many
				data = strings.Replace(string(files["m/"+c.file].Data), `"local_attention": 48`, `"local_attention": 8`, 1) + rest
			}
			files["m/"+c.file] = &fstest.MapFile{Data: []byte(data)}
			m, err := arch.Open(files, "m")
			if err == nil {
				m.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
