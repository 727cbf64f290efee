package hub

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snapshot is a commit of files with the given names.
func snapshot(names ...string) *Snapshot {
	s := &Snapshot{Repo: "acme/tiny", Revision: "main", Commit: strings.Repeat("c", 40)}
	for i, name := range names {
		s.Files = append(s.Files, File{Path: name, Size: int64(1e6 * (len(names) - i)), Blob: strings.Repeat("b", 40)})
	}
	return s
}

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		files, include, exclude, want []string
		says                          string
	}{
		"a model": {
			files: []string{
				".gitattributes", "README.md", "config.json", "generation_config.json", "hf_quant_config.json", "tokenizer.json", "tokenizer_config.json",
				"vocab.json", "merges.txt", "sentencepiece.bpe.model", "model.safetensors", "model.fp16.safetensors", "consolidated.safetensors",
				"special_tokens_map.json", "pytorch_model.bin", "original/tokenizer.model", "onnx/config.json", "flax_model.msgpack",
				"chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja", "additional_chat_templates/rag.jinja", "x.jinja",
			},
			want: []string{
				"config.json", "generation_config.json", "hf_quant_config.json", "tokenizer.json", "tokenizer_config.json",
				"vocab.json", "merges.txt", "sentencepiece.bpe.model", "model.safetensors",
				"special_tokens_map.json", "chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja",
			},
		},
		"a translator": {
			files: []string{"config.json", "vocab.json", "source.spm", "target.spm", "tokenizer_config.json", "model.safetensors", "pytorch_model.bin"},
			want:  []string{"config.json", "vocab.json", "source.spm", "tokenizer_config.json", "model.safetensors"},
		},
		"shards": {
			files: []string{"config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "q.gguf"},
			want:  []string{"config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"},
		},
		"one file rather than shards": {
			files: []string{"config.json", "model.safetensors.index.json", "model-00001-of-00001.safetensors", "model.safetensors"},
			want:  []string{"config.json", "model.safetensors"},
		},
		"exclude": {
			files:   []string{"config.json", "tokenizer.json", "tokenizer.model", "model.safetensors"},
			exclude: []string{"*.model", "gen*"},
			want:    []string{"config.json", "tokenizer.json", "model.safetensors"},
		},
		"include": {
			files:   []string{"config.json", "a-Q4_K_M.gguf", "a-Q8_0.gguf", "sub/b-Q4_K_M.gguf", "a-Q4_K_M.gguf.sha", "model.safetensors"},
			include: []string{"*Q4_K_M.gguf*"},
			want:    []string{"a-Q4_K_M.gguf", "b-Q4_K_M.gguf"},
		},
		"include by path": {
			files:   []string{"a.gguf", "sub/a.gguf", "sub/sub/a.gguf", "sub/b.gguf"},
			include: []string{"sub/*.gguf"}, exclude: []string{"sub/b*"},
			want: []string{"a-sub.gguf"},
		},
		"subdirectories that name quantisations": {
			files:   []string{"Q8_0/m-00001-of-00002.gguf", "Q8_0/m-00002-of-00002.gguf", "x/BF16/m.gguf", "F16/n.gguf", "other/n-Q2_K.gguf"},
			include: []string{"*.gguf"},
			want:    []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf", "m-x-BF16.gguf", "n-F16.gguf", "n-Q2_K.gguf"},
		},
		"subdirectories whose names are taken": {
			files:   []string{"a.gguf", "sub/a.gguf", "A-SUB.gguf", "x/y/b.gguf", "x-y/b.gguf", "z/b.gguf"},
			include: []string{"*.gguf"},
			want:    []string{"a.gguf", "sub/a.gguf", "A-SUB.gguf", "x/y/b.gguf", "x-y/b.gguf", "b-z.gguf"},
		},
		"include another precision": {
			files:   []string{"config.json", "model.safetensors", "model.fp16.safetensors", "README.md", "x.py"},
			include: []string{"*.json", "model.fp16*", "*.md", "*.py"},
			want:    []string{"config.json", "model.fp16.safetensors"},
		},
		"GGUF alone": {
			files: []string{"README.md", "tiny-Q8.gguf", "tiny-Q4.gguf"},
			says:  `several weight files: name one to include: "tiny-Q4.gguf" (1.0 MB), "tiny-Q8.gguf" (2.0 MB)`,
		},
		"PyTorch alone": {
			files: []string{"config.json", "pytorch_model.bin", "tokenizer.json"},
			says:  `pickled Python objects ("pytorch_model.bin" (2.0 MB)), which can run code`,
		},
		"PyTorch is asked for": {files: []string{"config.json", "pytorch_model.bin"}, include: []string{"*.bin"}, says: "pickled Python objects"},
		"nothing matches":      {files: []string{"model.safetensors"}, include: []string{"*.gguf"}, says: `no supported file matches ["*.gguf"]; its weight files are "model.safetensors"`},
		"no weights":           {files: []string{"config.json", "README.md"}, says: "no weights in a supported format"},
		"empty":                {says: "no weights in a supported format"},
		"malformed":            {files: []string{"model.safetensors"}, include: []string{"[a"}, says: `the pattern "[a" is malformed`},
		"backslash":            {files: []string{"model.safetensors", `..\..\evil.model`}, says: `"..\\..\\evil.model" is rejected`},
		"parent":               {files: []string{"../evil.gguf"}, include: []string{"*.gguf"}, says: `"../evil.gguf" is rejected`},
		"absolute":             {files: []string{"/etc/evil.gguf"}, include: []string{"*.gguf"}, says: `"/etc/evil.gguf" is rejected`},
		"hostile and not taken": {
			files: []string{"model.safetensors", "../../x", "/etc/passwd", "aux.md"},
			want:  []string{"model.safetensors"},
		},
		"twice":              {files: []string{"model.safetensors", "model.safetensors"}, says: "the same on some systems"},
		"differ in case":     {files: []string{"model.safetensors", "a.model", "A.model"}, says: `"a.model" and "A.model" are rejected`},
		"file and directory": {files: []string{"a.gguf/b.gguf", "A.gguf"}, include: []string{"*"}, says: "one would be a directory of the other"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := snapshot(test.files...).Choose(test.include, test.exclude)
			if test.says != "" {
				expectError(t, err, test.says)
				return
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Path)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestManyChoicesAreCut(t *testing.T) {
	var list []string
	for range 40 {
		list = append(list, strings.Repeat("x", len(list)+1)+".gguf")
	}
	_, err := snapshot(list...).Choose(nil, nil)
	expectError(t, err, ", 28 more")
}

func TestCheckPath(t *testing.T) {
	good := []string{"config.json", "a/b.gguf", "a b.model", "console.json", "com10.json", "a.b.c", "x+y=z@1,2(3)[4]{5}~'!&;$%^.gguf"}
	bad := []string{
		"", "/", "/etc/passwd", "a//b", "a/", "..", "../a", "a/../b", "a/..", ".", "./a", "a/./b", ".hidden", ".pull/manifest.json",
		`a\b`, `C:\a`, "C:a", "a:b", "//host/share", "a\x00b", "a\nb", "a\x1b[31m", "a\x7f", "a?", "a*", `a"b`, "a<b", "a>b", "a|b",
		"con", "CON", "nul.json", "Aux.model", "com1", "LPT9.txt", "x/prn.gguf", "conin$", "con .json", "a.", "a ", " a", "a./b",
		"é.json", "e\u0301.json", "a\u202eb", "a\xff", strings.Repeat("a", 201), strings.Repeat("a/", 300) + "a",
	}
	for _, name := range slices.Concat(good, bad) {
		if err := CheckPath(name); (err == nil) != slices.Contains(good, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzCheckPath(f *testing.F) {
	f.Add("a/b.json")
	f.Add(`..\a`)
	f.Fuzz(func(t *testing.T, name string) {
		if err := CheckPath(name); err != nil {
			if len(err.Error()) > 5*maxPath {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		local, err := filepath.Localize(name)
		if err != nil || !filepath.IsLocal(local) || strings.HasPrefix(name, ".") || strings.Contains(name, "..") && strings.Contains(name, "/../") {
			t.Errorf("%q: %q, %v", name, local, err)
		}
	})
}

// Table of directories that already have files.
func TestPrepare(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, h *testHub, dir string) // between two pulls
		says   string
		fetch  int // files that are fetched again
	}{
		"nothing": {func(*testing.T, *testHub, string) {}, "", 0},
		"a file is gone": {func(t *testing.T, _ *testHub, dir string) {
			remove(t, dir, "config.json")
		}, "", 1},
		"a file was changed": {func(t *testing.T, _ *testHub, dir string) {
			damage(t, filepath.Join(dir, "model-00001-of-00002.safetensors"))
		}, "", 1},
		"a file was cut": {func(t *testing.T, _ *testHub, dir string) {
			if err := os.Truncate(filepath.Join(dir, "tokenizer.json"), 7); err != nil {
				t.Fatal(err)
			}
		}, "", 1},
		"a file was written again": {func(t *testing.T, _ *testHub, dir string) {
			write(t, filepath.Join(dir, "config.json"), string(tinyTree()["config.json"].data))
		}, "", 0},
		"the manifest is gone":  {func(t *testing.T, _ *testHub, dir string) { remove(t, dir, manifestFile) }, "", 0},
		"the manifest is empty": {func(t *testing.T, _ *testHub, dir string) { write(t, filepath.Join(dir, manifestFile), "") }, "", 0},
		"the manifest is damaged": {func(t *testing.T, _ *testHub, dir string) {
			write(t, filepath.Join(dir, manifestFile), "{")
		}, "manifest.json: unexpected end of JSON input: remove it", 0},
		"somebody else's file": {func(t *testing.T, _ *testHub, dir string) {
			remove(t, dir, manifestFile)
			write(t, filepath.Join(dir, "config.json"), "{}")
		}, "config.json: a different file with this name exists", 0},
		"a directory in the way": {func(t *testing.T, _ *testHub, dir string) {
			remove(t, dir, "config.json")
			if err := os.Mkdir(filepath.Join(dir, "config.json"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file", 0},
		"another model": {func(t *testing.T, _ *testHub, dir string) {
			write(t, filepath.Join(dir, manifestFile), `{"repo":"other/tiny"}`)
		}, "it holds other/tiny", 0},
		"files that the new commit has not": {func(_ *testing.T, h *testHub, _ string) {
			next := tinyTree()
			delete(next, "tokenizer.model")
			h.push("main", next)
		}, `"tokenizer.model" is from commit`, 0},
		"a commit of the same files": {func(_ *testing.T, h *testHub, _ string) {
			next := tinyTree()
			next["README.md"] = content{data: []byte("# new\n")}
			h.push("main", next)
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t, tinyTree()), t.TempDir()
			if _, err := pull(t.Context(), h.client(), dir); err != nil {
				t.Fatal(err)
			}
			h.requests()
			test.change(t, h, dir)
			_, err := pull(t.Context(), h.client(), dir)
			if test.says != "" {
				expectError(t, err, test.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expectTree(t, dir, tinyTree())
			fetched := 0
			for _, r := range h.requests() {
				if strings.Contains(r.URL.Path, "/resolve/") {
					fetched++
				}
			}
			if fetched != test.fetch {
				t.Errorf("%d files are fetched, not %d", fetched, test.fetch)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Another pull of the same commit adds files to the directory.
func TestPullMore(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	if _, err := pull(t.Context(), h.client(), dir); err != nil {
		t.Fatal(err)
	}
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose([]string{"*.gguf", "onnx/*"}, nil)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	d, err := h.client().Prepare(t.Context(), s, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Missing != 910 || d.Total != 910 || d.Files != 2 {
		t.Errorf("%+v", d)
	}
	if err := d.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tiny-Q4.gguf", "onnx/model.safetensors", "config.json", "tokenizer.model"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != string(tinyTree()[name].data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiskIsFull(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	c := h.client()
	c.free = func(string) (int64, error) { return 1000, nil }
	_, err := pull(t.Context(), c, dir)
	expectError(t, err, "bytes, but the disk has only 1000 free")
	expectNothing(t, dir)
	c.free = func(string) (int64, error) { return 0, os.ErrInvalid }
	if _, err := pull(t.Context(), c, dir); err != nil {
		t.Error(err)
	}
	if free, err := freeSpace(dir); err != nil || free <= 0 {
		t.Errorf("%d, %v", free, err)
	}
}

// Links in the directory cannot lead outside of it.
func TestLinksOutOfTheDirectory(t *testing.T) {
	h, dir, outside := newHub(t, tree{
		"config.json": {data: []byte("{}")}, "model.safetensors": {data: random(100, 1), lfs: true}, "sub/x.safetensors": {data: random(10, 2), lfs: true},
	}), t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose([]string{"x.safetensors"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.client().Prepare(t.Context(), s, files, dir)
	if err == nil {
		err = d.Run(t.Context(), nil)
		d.Close()
	}
	expectError(t, err, "sub")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestReportsAndEmptyFiles(t *testing.T) {
	h, dir := newHub(t, tree{"config.json": {}, "model.safetensors": {data: random(100, 1), lfs: true}, "vocab.json": {lfs: true}}), t.TempDir()
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.client().Prepare(t.Context(), s, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var last Progress
	if err := d.Run(t.Context(), func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if (last != Progress{Bytes: 100, Total: 100, Files: 3, AllFiles: 3}) {
		t.Errorf("%+v", last)
	}
	if info, err := os.Stat(filepath.Join(dir, "vocab.json")); err != nil || info.Size() != 0 {
		t.Error(info, err)
	}
}

// Readers recognise a model by its config.json, which therefore comes last.
func TestConfigComesLast(t *testing.T) {
	h, dir := newHub(t, tinyTree()), t.TempDir()
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.client().Prepare(t.Context(), s, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	obstacle := filepath.Join(dir, "tokenizer.model")
	if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	expectError(t, d.Run(t.Context(), nil), "tokenizer.model")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		t.Error("config.json is there before the rest")
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	h.requests()
	if _, err := pull(t.Context(), h.client(), dir); err != nil {
		t.Fatal(err)
	}
	expectTree(t, dir, tinyTree())
	for _, r := range h.requests() {
		if strings.Contains(r.URL.Path, "/resolve/") {
			t.Errorf("%s is fetched again", r.URL.Path)
		}
	}
}

// GGUF files of subdirectories lie in the root, and a second pull finds them there.
func TestSubdirectories(t *testing.T) {
	weights := func(seed uint64) content { return content{data: random(100, seed), lfs: true} }
	h, dir := newHub(t, tree{"BF16/m-00001-of-00002.gguf": weights(1), "BF16/m-00002-of-00002.gguf": weights(2), "m-Q8_0.gguf": weights(3)}), t.TempDir()
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Variant("bf16")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []int64{200, 0} {
		d, err := h.client().Prepare(t.Context(), s, v.Files, dir)
		if err != nil {
			t.Fatal(err)
		}
		if d.Missing != missing {
			t.Errorf("%d bytes are missing, want %d", d.Missing, missing)
		}
		if err := d.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	for i, name := range []string{"m-BF16-00001-of-00002.gguf", "m-BF16-00002-of-00002.gguf"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, weights(uint64(i+1)).data) {
			t.Errorf("%s has %d bytes, %v", name, len(b), err)
		}
	}
	q8, err := s.Variant("Q8_0")
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.client().Prepare(t.Context(), s, q8.Files, dir) // the others are of the same commit
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// An embedder comes with the files that say how texts become embeddings.
func TestChooseEmbedder(t *testing.T) {
	want := []string{
		"config.json", "model.safetensors", "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json", "artifact.metadata",
		"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "sparse_linear.pt", "colbert_linear.pt",
	}
	others := []string{
		"2_Dense/pytorch_model.bin", "onnx/model.onnx", "onnx/config.json", "openvino/model.xml", "x.pt", "1_Pooling/deep/config.json", "data_config.json", "train_script.py",
	}
	files, err := snapshot(slices.Concat(want, others)...).Choose(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An adapter is chosen where there is no whole model.
func TestChooseAdapter(t *testing.T) {
	adapter := []string{"adapter_config.json", "adapter_model.safetensors", "tokenizer.json", "chat_template.jinja"}
	model := []string{"config.json", "model.safetensors"}
	others := []string{"README.md", "adapter_model.bin", "training_args.bin"}
	for _, test := range []struct{ files, want []string }{
		{slices.Concat(adapter, others), adapter},
		{slices.Concat(adapter, model), slices.Concat(adapter[2:], model)},
	} {
		files, err := snapshot(test.files...).Choose(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if _, err := snapshot("adapter_config.json", "adapter_model.bin").Choose(nil, nil); err == nil || !strings.Contains(err.Error(), "pickled Python objects") {
		t.Errorf("a pickled adapter: %v", err)
	}
}
