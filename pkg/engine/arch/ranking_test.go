package arch_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// rankerFiles returns the files of a golden reranker in directory m, with one text replaced.
func rankerFiles(t *testing.T, name, file, old, new string) fstest.MapFS {
	t.Helper()
	files := encoderFiles(t, "../rerankers/"+name)
	entry := files["m/"+file]
	if entry == nil || !strings.Contains(string(entry.Data), old) {
		t.Fatalf("%s of %s has no %q", file, name, old)
	}
	entry.Data = []byte(strings.Replace(string(entry.Data), old, new, 1))
	return files
}

// The files of cross-encoders are described as they are.
func TestRanking(t *testing.T) {
	for name, want := range map[string]struct {
		most     int
		identity bool
		types    int // the type of the last token
	}{
		"bert": {48, true, 1}, "bert-saved": {31, false, 1}, "xlm-roberta": {64, false, 0}, "roberta": {40, false, 0}, "modernbert": {70, false, 0},
	} {
		files := encoderFiles(t, "../rerankers/"+name)
		m, err := arch.Open(files, "m")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := m.Ranking
		if r == nil || m.Sentence != nil || r.MaxTokens != want.most || r.Identity != want.identity || r.Pair[len(r.Pair)-1].Type != want.types {
			t.Errorf("%s: %+v", name, r)
		}
		info, err := arch.Describe(files, "m")
		if err != nil || info.Tokens != nil || !info.Ranks || info.Embeds || info.Context != want.most {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// A tokenizer that does not give types to the model has none in pairs, whatever its template has.
func TestRankingTypes(t *testing.T) {
	for _, files := range []fstest.MapFS{
		rankerFiles(t, "bert-saved", "tokenizer_config.json", `"token_type_ids",`, ""),
		rankerFiles(t, "bert", "tokenizer_config.json", "BertTokenizer", "PreTrainedTokenizerFast"),
	} {
		m, err := arch.Open(files, "m")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, part := range m.Ranking.Pair {
			if part.Type != 0 {
				t.Errorf("%+v", m.Ranking.Pair)
			}
		}
	}
}

// A decoder ranks by its module LogitScore, or by the name of its directory.
func TestLogitScore(t *testing.T) {
	files := encoderFiles(t, "../rerankers/Qwen3-Reranker")
	m, err := arch.Open(files, "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Ranking != nil {
		t.Errorf("a directory with another name: %+v", m.Ranking)
	}
	named := fstest.MapFS{}
	for name, file := range files {
		named[strings.Replace(name, "m/", "qwen3-RERANKER-0.6b/", 1)] = file
	}
	n, err := arch.Open(named, "qwen3-RERANKER-0.6b")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s, err := arch.Open(encoderFiles(t, "../rerankers/qwen3"), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n.Ranking.ByTemplate || !s.Ranking.ByTemplate || n.Ranking.True != s.Ranking.True || n.Ranking.False != s.Ranking.False {
		t.Errorf("%+v and %+v", n.Ranking, s.Ranking)
	}
}

// What a directory cannot mean is refused with the file and the field.
func TestHostileRankings(t *testing.T) {
	const architectures, labels = `"architectures": [`, `"id2label": {`
	for _, c := range []struct{ name, of, file, old, new, want string }{
		{"labels", "bert", "config.json", labels, labels + `"1":"b",`, "tensor \"classifier.weight\": shape [1 32], but the configuration has [2 32]"},
		{"activation", "bert", "config.json", "torch.nn.modules.linear.Identity", "torch.nn.Tanh", "activation_fn: \"torch.nn.Tanh\" is not supported, only Sigmoid and Identity"},
		{"classes", "bert", "config.json", architectures, `"architectures": "x", "y": [`, "architectures: "},
		{"pooling", "modernbert", "config.json", `"classifier_pooling": "cls"`, `"classifier_pooling": "max"`, "only cls and mean"},
		{"gelu", "modernbert", "config.json", `"classifier_activation": "gelu"`, `"classifier_activation": "relu"`, "classifier_activation: \"relu\" is not supported"},
		{"family", "qwen3", "config.json", "Qwen3ForCausalLM", "Qwen3ForSequenceClassification", "classifiers of Qwen3 models are not supported"},
		{"tokenizer", "xlm-roberta", "tokenizer.json", `"pair"`, `"x"`, "the tokenizer does not say how it joins two texts"},
		{"side", "bert", "tokenizer_config.json", `"tokenizer_class"`, `"truncation_side": "left", "tokenizer_class"`, `truncation_side: "left" is not supported`},
		{"types", "bert", "config.json", `"type_vocab_size": 2`, `"type_vocab_size": 1`, ""},
		{"short", "bert", "tokenizer_config.json", "48", "3", "pairs have at most 3 tokens, 3 of which the tokenizer adds"},
		{"module", "bert-saved", "modules.json", "\n]", `,{"path":"1","type":"a.Dense"}]`, `"a.Dense": it is not supported in a reranker`},
		{"token", "qwen3", "1_LogitScore/config.json", `"true_token_id": `, `"true_token_id": 9`, "true_token_id: "},
		{"logits", "qwen3", "1_LogitScore/config.json", `"true_token_id"`, `"x"`, "true_token_id: missing"},
		{"escape", "qwen3", "modules.json", `"1_LogitScore"`, `"../1_LogitScore"`, "modules.json: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := arch.Open(rankerFiles(t, c.of, c.file, c.old, c.new), "m")
			if err == nil {
				m.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
