package engine_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// packDir returns the model of a directory as a packed file.
func packDir(t *testing.T, dir string, f transformer.Format) fs.FS {
	t.Helper()
	m, err := arch.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b checkpointtest.File
	if err := arch.Pack(&b, m, kernel.Best(), f, func(_, _ int64) error { return nil }); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	return fstest.MapFS{packName: {Data: b.Data}}
}

const packName = "m.safetensors"

// openPacked opens a packed model, and describes it for a listing.
func openPacked(t *testing.T, fsys fs.FS) (*arch.Model, arch.Info) {
	t.Helper()
	info, err := arch.Describe(fsys, packName)
	if err != nil || info.Tokens != nil {
		t.Fatal(err, info.Tokens)
	}
	m, err := arch.Open(fsys, packName)
	if err != nil {
		t.Fatal(err)
	}
	return m, info
}

// A packed encoder has the vectors of its directory in the same format, to the bit, for every
// prompt, pooling, matrix and cut. It can be packed again.
func TestPackedEncoders(t *testing.T) {
	for _, name := range encoderNames(t) {
		dir := filepath.Join("testdata/encoders", name)
		for _, f := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			source := openEncoder(t, dir, engine.Config{Format: f})
			m, info := openPacked(t, packDir(t, dir, f))
			if want, err := arch.Describe(os.DirFS(filepath.Dir(dir)), name); err != nil ||
				!info.Embeds || info.Ranks || info.Context != want.Context || info.Bytes[f] != want.Bytes[f] {
				t.Errorf("%s: %+v, want %+v, %v", name, info, want, err)
			}
			var again checkpointtest.File
			if err := arch.Pack(&again, m, kernel.Best(), transformer.Stored, func(_, _ int64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			for round, fsys := range []fs.FS{nil, fstest.MapFS{packName: {Data: again.Data}}} {
				if fsys != nil {
					m, _ = openPacked(t, fsys)
				}
				e, err := engine.NewEncoder(m, engine.Config{Format: transformer.Stored})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				for c, g := range readGoldens(t, name) {
					got, _ := vectorsOf(t, e, g.request())
					want, _ := vectorsOf(t, source, g.request())
					if !slices.EqualFunc(got, want, slices.Equal) {
						t.Errorf("%s, %v, round %d, case %d: other vectors", name, f, round, c)
					}
				}
			}
		}
	}
}

// A packed reranker has the scores of its directory in the same format, to the bit.
func TestPackedRankers(t *testing.T) {
	for _, name := range rankerNames(t) {
		goldens := readRankings(t, name)
		req := &llm.RerankRequest{Pairs: pairsOf(goldens), Truncate: true}
		for _, f := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			source := openRanker(t, name, engine.Config{Format: f})
			m, info := openPacked(t, packDir(t, filepath.Join("testdata/rerankers", name), f))
			if !info.Ranks || info.Embeds {
				t.Errorf("%s: %+v", name, info)
			}
			r, err := engine.NewRanker(m, engine.Config{Format: transformer.Stored})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			want, _ := rerank(t, source, req)
			if got, _ := rerank(t, r, req); !slices.Equal(got, want) {
				t.Errorf("%s, %v: %v, want %v", name, f, got, want)
			}
		}
	}
}

// Descriptions of packed encoders that cannot be computed are rejected with the field when the
// model is listed.
func TestPackedEncoderRefuses(t *testing.T) {
	for _, c := range []struct{ dir, old, new, want string }{
		{"encoders/bert", `\"max_tokens\":24`, `\"max_tokens\":99`, "sentence: texts of at most 99 tokens"},
		{"encoders/bert", `\"max_tokens\":24`, `\"max_tokens\":02`, "glossa.model"},
		{"encoders/bert", `\"max_tokens\":24`, `\"max_tokens\": 2`, "sentence: texts of at most 2 tokens"},
		{"encoders/bert", `\"pooling\":[\"mean\"]`, `\"pooling\":[\"meen\"]`, `pooling "meen" is unknown`},
		{"encoders/bert", `\"pooling\":[\"mean\"]`, `\"pooling\":[]        `, "sentence: 0 poolings"},
		{"encoders/bert", `\"before\":[`, `\"before\":[-`, "are not below"},
		{"encoders/bert", `\"sentence\":`, `\"sentance\":`, "sentance"},
		{"encoders/bert-modes", `\"in\":`, `\"in\":1`, "sentence: step"},
		{"encoders/bert-modes", `"step.0.bias"`, `"step.0.bais"`, `"step.0.bais": unknown in this model`},
		{"encoders/bert-modes", `"step.0"`, `"step.7"`, `"step.0": missing`},
		{"rerankers/bert", `\"head\":`, `\"haed\":`, "haed"},
		{"rerankers/bert", `\"out\":1}`, `\"out\":2}`, "ranking: classes: 1 labels for 2 logits"},
		{"classifiers/bert", `\"out\":3}`, `\"out\":-}`, "glossa.model"},
		{"classifiers/bert", `\"out\":3}`, `\"out\":0}`, "ranking: classifier.out"},
		{"classifiers/bert", `\"function\":\"softmax\"`, `\"function\":\"softmix\"`, `ranking: classes: the function "softmix" is unknown`},
		{"classifiers/bert", `\"classes\":`, `\"clashes\":`, "clashes"},
		{"rerankers/bert", `{\"text\":2`, `{\"text\":1`, "ranking: pair"},
		{"rerankers/bert", `"classifier.out"`, `"classifier.aut"`, `"classifier.out": missing`},
		{"rerankers/qwen3", `\"true\":`, `\"true\":9999`, "ranking: tokens 9999"},
	} {
		pack := packDir(t, filepath.Join("testdata", c.dir), transformer.F32).(fstest.MapFS)
		data := pack[packName].Data
		if !bytes.Contains(data, []byte(c.old)) {
			t.Fatalf("%s: there is no %s in %.3000s", c.dir, c.old, data)
		}
		broken := bytes.Replace(data, []byte(c.old), []byte(c.new), 1)
		if grown := len(broken) - len(data); grown > 0 { // the header is padded
			broken = bytes.Replace(broken, []byte("}"+strings.Repeat(" ", grown)), []byte("}"), 1)
		}
		_, err := arch.Describe(fstest.MapFS{packName: {Data: broken}}, packName)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), packName) {
			t.Errorf("%s, %s: %v, want %q and the file", c.dir, c.new, err, c.want)
		}
	}
}
