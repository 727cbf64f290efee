package arch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// classifierFiles returns the files of a golden classifier in directory m, with one text replaced.
func classifierFiles(t *testing.T, name, file, old, new string) fstest.MapFS {
	t.Helper()
	return rankerFiles(t, "../classifiers/"+name, file, old, new)
}

// The files of classifiers are described as they are. One label makes a reranker.
func TestClasses(t *testing.T) {
	for name, want := range map[string]struct {
		labels   []string
		function arch.Function
		most     int
		ranks    bool
	}{
		"bert":       {[]string{"entailment", "neutral", "contradiction"}, arch.Softmax, 48, false},
		"distilbert": {[]string{"LABEL_0", "LABEL_1"}, arch.Softmax, 40, false},
		"roberta":    {[]string{"toxic", "insult", "threat", "identity attack"}, arch.Sigmoid, 44, false},
		"camembert":  {[]string{"injection"}, arch.Sigmoid, 64, true},
		"mpnet":      {[]string{"valence", "arousal"}, arch.Logits, 60, false},
		"modernbert": {[]string{"topic 0", "topic 1", "topic 2", "topic 3", "topic 4"}, arch.Softmax, 70, false},
	} {
		files := encoderFiles(t, "../classifiers/"+name)
		m, err := arch.Open(files, "m")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := m.Ranking
		if r == nil || m.Sentence != nil || r.MaxTokens != want.most || r.Ranks() != want.ranks || r.Function() != want.function || !slices.Equal(r.Labels(), want.labels) || r.Pair == nil {
			t.Errorf("%s: %+v", name, r)
		}
		info, err := arch.Describe(files, "m")
		if err != nil || info.Tokens != nil || info.Ranks != want.ranks || info.Embeds || info.Context != want.most || !slices.Equal(info.Labels, want.labels) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// A classifier needs no tokenizer that joins texts. A reranker does.
func TestClassesOfSingleTexts(t *testing.T) {
	m, err := arch.Open(classifierFiles(t, "roberta", "tokenizer.json", "RobertaProcessing", "ByteLevel"), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Ranking.Pair != nil || len(m.Ranking.Labels()) != 4 {
		t.Errorf("%+v", m.Ranking)
	}
}

// What a directory cannot mean is refused with the file and the field.
func TestHostileClasses(t *testing.T) {
	const shape = `tensor "classifier.weight": shape [3 16], but the configuration has `
	for _, c := range []struct{ name, of, file, old, new, want string }{
		{"few", "bert", "config.json", `"2": "contradiction"`, `"0": "contradiction"`, shape},
		{"gap", "bert", "config.json", `"2": "contradiction"`, `"3": "contradiction"`, "id2label: 3 labels, but none for 2"},
		{"number", "bert", "config.json", `"2": "contradiction"`, `"2": 2`, "id2label: the label of 2, 2, is not a string"},
		{"null", "bert", "config.json", `"2": "contradiction"`, `"2": null`, "id2label: the label of 2, null, is not a string"},
		{"list", "bert", "config.json", `"id2label": {`, `"id2label": [], "x": {`, "id2label: [] is not a valid object"},
		{"none", "bert", "config.json", `"id2label": {`, `"id2label": {}, "x": {`, "id2label: 0 labels are not in 1..16384"},
		{"default", "bert", "config.json", `"id2label"`, `"x"`, shape + "[2 16]"},
		{"many", "bert", "config.json", `"id2label"`, `"num_labels": 99999999, "x"`, "num_labels: 99999999 is not in 1..16384"},
		{"problem", "roberta", "config.json", "multi_label_classification", "tagging", `problem_type: "tagging" is not one of`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := arch.Open(classifierFiles(t, c.of, c.file, c.old, c.new), "m")
			if err == nil {
				m.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
