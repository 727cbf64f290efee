package hub

import (
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	for text, want := range map[string]Reference{
		"acme/tiny":                                        {Repo: "acme/tiny"},
		"gpt2":                                             {Repo: "gpt2"},
		"acme/tiny:Q4_K_M":                                 {Repo: "acme/tiny", Quant: "Q4_K_M"},
		"acme/tiny:latest":                                 {Repo: "acme/tiny"},
		"acme/tiny:LATEST":                                 {Repo: "acme/tiny"},
		"hf.co/acme/tiny:q8_0":                             {Repo: "acme/tiny", Quant: "q8_0"},
		"hf://acme/tiny":                                   {Repo: "acme/tiny"},
		"huggingface.co/acme/tiny":                         {Repo: "acme/tiny"},
		"HuggingFace.co/acme/tiny/":                        {Repo: "acme/tiny"},
		"https://huggingface.co/acme/tiny":                 {Repo: "acme/tiny"},
		"https://hf.co/acme/tiny?x=1#files":                {Repo: "acme/tiny"},
		"https://huggingface.co/a/b/tree/dev":              {Repo: "a/b", Revision: "dev"},
		"https://huggingface.co/a/b/blob/main/b-Q4_0.gguf": {Repo: "a/b", Revision: "main", File: "b-Q4_0.gguf"},
		"https://huggingface.co/a/b/resolve/refs%2Fpr%2F1/x.gguf?d=1":     {Repo: "a/b", Revision: "refs/pr/1", File: "x.gguf"},
		"https://huggingface.co/a/b/tree/main/sub":                        {Repo: "a/b", Revision: "main"},
		"acme/tiny:tiny-00001-of-00002":                                   {Repo: "acme/tiny", Quant: "tiny-00001-of-00002"},
		"hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Llama-3.2.IQ4_XS":     {Repo: "bartowski/Llama-3.2-1B-Instruct-GGUF", Quant: "Llama-3.2.IQ4_XS"},
		"https://huggingface.co/acme/tiny/resolve/main/sub/tiny-F16.gguf": {Repo: "acme/tiny", Revision: "main", File: "sub/tiny-F16.gguf"},
	} {
		if got, err := ParseReference(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                                      "not OWNER/NAME",
		"acme/tiny:":                            "not the name of a quantisation",
		"acme/tiny:a:b":                         "not the name of a quantisation",
		"acme/tiny:../x":                        "not the name of a quantisation",
		"acme/tiny:" + strings.Repeat("q", 101): "not the name of a quantisation",
		"acme/../tiny":                          "not OWNER/NAME",
		"https://example.com/acme/tiny":         "",
		"hf.co/":                                "not OWNER/NAME",
		"https://huggingface.co/a/b/tree/%zz":   "not a URL",
		"/etc/passwd":                           "not OWNER/NAME",
		"..":                                    "not OWNER/NAME",
	} {
		if got, err := ParseReference(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, says)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"acme/tiny:Q4_0", "https://hf.co/a/b/blob/main/x.gguf", "a/b/c", ":", "hf://"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err == nil && (CheckRepo(r.Repo) != nil || strings.ContainsAny(r.Quant, "/:*")) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

func TestVariants(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"quantisations": {
			[]string{"README.md", "m-F16.gguf", "m-Q8_0.gguf", "m-q4_k_m.gguf", "m.Q2_K.gguf", "mmproj-m-f16.gguf", "m.imatrix", "imatrix.gguf"},
			"Q2_K Q4_K_M Q8_0 F16",
		},
		"parts":                       {[]string{"m-Q8_0-00002-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q4_0.gguf"}, "Q4_0 Q8_0"},
		"a missing part":              {[]string{"m-Q8_0-00002-of-00002.gguf", "m-Q4_0.gguf"}, "Q4_0"},
		"two models":                  {[]string{"a-Q8_0.gguf", "b-Q8_0.gguf", "b-Q4_0.gguf"}, "Q4_0 b-Q8_0 a-Q8_0"},
		"no quantisation in the name": {[]string{"model.gguf"}, "model"},
		"other directories":           {[]string{"../m-Q8_0.gguf", "sub/m-Q4_0.gguf", "BF16/m-00002-of-00002.gguf", "BF16/m-00001-of-00002.gguf", "mm/mmproj-F16.gguf"}, "Q4_0 BF16"},
		"names that are taken":        {[]string{"m.gguf", "m-sub.gguf", "sub/m.gguf", "x/n.gguf", "X/n.gguf"}, "m-sub m"},
		"beside safetensors":          {[]string{"model.safetensors", "sub/m-Q8_0.gguf"}, ""},
	} {
		var names []string
		for _, v := range snapshot(test.files...).Variants() {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	v, err := snapshot("m-Q8_0-00002-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf").Variant("q8_0")
	if err != nil || len(v.Files) != 2 || v.Files[0].Path != "m-Q8_0-00001-of-00002.gguf" || v.Size != 3e6 {
		t.Errorf("%+v, %v", v, err)
	}
	s := snapshot("a-Q8_0.gguf", "b-Q8_0.gguf", "b-Q4_0.gguf")
	for name, says := range map[string]string{
		"Q8_0": "several models in Q8_0: name one of b-Q8_0 (2.0 MB), a-Q8_0 (3.0 MB)",
		"Q9":   `no quantisation "Q9": use one of Q4_0 (1.0 MB), b-Q8_0 (2.0 MB), a-Q8_0 (3.0 MB)`,
	} {
		if _, err := s.Variant(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
	for _, name := range []string{"a-q8_0", "a-Q8_0.gguf"} {
		if v, err := s.Variant(name); err != nil || v.Files[0].Path != "a-Q8_0.gguf" {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if _, err := snapshot("model.safetensors").Variant("Q8_0"); err == nil || !strings.Contains(err.Error(), "only safetensors") {
		t.Error(err)
	}
	if _, err := snapshot("model.bin").Variant("Q8_0"); err == nil || !strings.Contains(err.Error(), "pickled") {
		t.Error(err)
	}
}
