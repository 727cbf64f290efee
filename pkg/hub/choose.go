package hub

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// File names that the engine reads in a model's directory.
var (
	described = regexp.MustCompile(`^(config|generation_config|hf_quant_config|tokenizer[^/]*|special_tokens_map|chat_template|vocab|(pre)?processor_config)\.json$|^merges\.txt$|^[^/]+\.model$|^source\.spm$` +
		`|^(chat_template|additional_chat_templates/tool_use)\.jinja$`)
	// Of sentence-transformers, ColBERT and BGE-M3: how texts become embeddings.
	embedding = regexp.MustCompile(`^(modules|config_sentence_transformers|sentence_[^/]+_config)\.json$|^artifact\.metadata$|^(sparse|colbert)_linear\.(safetensors|pt)$` +
		`|^\d+_[A-Za-z]+/(([^/]*config|tokenizer[^/]*|special_tokens_map|vocab)\.json|merges\.txt|[^/]+\.model|model\.safetensors)$`)
	weights = regexp.MustCompile(`^model(-\d{5}-of-\d{5})?\.safetensors$|^model\.safetensors\.index\.json$`)
	// Names with other parts, such as model.fp16.safetensors, and other directories are
	// chosen on request only.
	readable = regexp.MustCompile(`^(config|generation_config|hf_quant_config|tokenizer[^/]*|special_tokens_map|chat_template|vocab|(pre)?processor_config|modules|config_sentence_transformers|sentence_[^/]+_config)\.json$|^merges\.txt$|^source\.spm$|\.(model|safetensors|gguf|jinja)$|\.safetensors\.index\.json$`)
	// Python pickles, which run code when Python loads them. The engine reads those of heads as
	// tables of tensors.
	pickled = regexp.MustCompile(`\.(bin|pt|pth|ckpt|pkl|pickle)$`)
)

const singleFile = "model.safetensors" // of a model in one file

// Choose returns the files of s that the engine reads: by default, those in the root
// that describe the model, its safetensors or those of an adapter, and the modules of
// sentence-transformers. With include, it returns instead all
// files of a readable kind that match one of its patterns, in any directory. Files
// that match exclude are removed from either. Patterns are those of [path.Match]; one
// without a slash matches the last element. Names must pass [CheckPath]. An empty
// choice, or without include one without weights, is an error that lists the available
// files. GGUF files of subdirectories get names in the root, where the engine looks for them.
func (s *Snapshot) Choose(include, exclude []string) ([]File, error) {
	for _, pattern := range slices.Concat(include, exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("hub: the pattern %q is malformed", pattern)
		}
	}
	single := len(include) == 0 && slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == singleFile })
	adapts := !slices.ContainsFunc(s.Files, func(f File) bool { return weights.MatchString(f.Path) })
	var files []File
	for _, f := range s.Files {
		chosen := described.MatchString(f.Path) || embedding.MatchString(f.Path) || weights.MatchString(f.Path) && (!single || f.Path == singleFile) ||
			adapts && checkpoint.IsAdapter(f.Path)
		if len(include) > 0 {
			name := path.Base(f.Path)
			chosen = (readable.MatchString(name) || name == checkpoint.AdapterConfig) && matchAny(include, f.Path)
		}
		if chosen && !matchAny(exclude, f.Path) {
			files = append(files, f)
		}
	}
	if err := checkPaths(files); err != nil {
		return nil, fmt.Errorf("hub: %s: %w", s.Repo, err)
	}
	files = s.flatten(files)
	if len(include) > 0 && len(files) > 0 || slices.ContainsFunc(files, func(f File) bool { return weights.MatchString(f.Path) || f.Path == checkpoint.AdapterWeights }) {
		return files, nil
	}
	return nil, fmt.Errorf("hub: %s: %w", s.Repo, s.noWeights(include))
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		subject := name
		if !strings.Contains(pattern, "/") {
			subject = path.Base(name)
		}
		ok, err := path.Match(pattern, subject)
		return ok && err == nil
	})
}

// An UnchosenError is the error of a repository without model.safetensors, from whose weights a
// pattern to include must choose.
type UnchosenError struct{ Files []File } // smallest first

// Error lists the weights.
func (e *UnchosenError) Error() string { return e.Sentence("name one to include") }

// Sentence returns the error with a sentence on what to do.
func (e *UnchosenError) Sentence(todo string) string {
	fault := "several weight files"
	if len(e.Files) == 1 {
		fault = "no " + singleFile
	}
	return fmt.Sprintf("%s: %s: %s", fault, todo, names(e.Files))
}

// maxNamed is the number of files that an error lists.
const maxNamed = 12

// noWeights explains why nothing is chosen, and lists what could be.
func (s *Snapshot) noWeights(include []string) error {
	var other, python []File
	for _, f := range s.Files {
		switch {
		case strings.HasSuffix(f.Path, ".safetensors"), strings.HasSuffix(f.Path, ".gguf"):
			other = append(other, f)
		case pickled.MatchString(f.Path):
			python = append(python, f)
		}
	}
	slices.SortFunc(other, func(a, b File) int { return cmp.Compare(a.Size, b.Size) })
	switch {
	case len(other) > 0 && len(include) > 0:
		return fmt.Errorf("no supported file matches %q; its weight files are %s", include, names(other))
	case len(other) > 0:
		return &UnchosenError{other}
	case len(python) > 0:
		return fmt.Errorf("its weights are pickled Python objects (%s), which can run code when they are loaded, and are not supported:"+
			" look for a conversion to safetensors, or make one with save_pretrained", names(python))
	}
	return errors.New("it has no weights in a supported format: safetensors or GGUF")
}

// names formats files with their sizes.
func names(files []File) string {
	var list []string
	for _, f := range files[:min(len(files), maxNamed)] {
		list = append(list, fmt.Sprintf("%.200q (%.1f MB)", f.Path, float64(f.Size)/1e6))
	}
	if more := len(files) - maxNamed; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
