package hub

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What the engine reads of a model's directory.
var (
	described = regexp.MustCompile(`^(config|generation_config|tokenizer[^/]*|vocab)\.json$|^merges\.txt$|^[^/]+\.model$`)
	weights   = regexp.MustCompile(`^model(-\d{5}-of-\d{5})?\.safetensors$|^model\.safetensors\.index\.json$`)
	// Names with other parts, as model.fp16.safetensors, and other directories: only
	// when they are asked for.
	readable = regexp.MustCompile(`^(config|generation_config|tokenizer[^/]*|vocab)\.json$|^merges\.txt$|\.(model|safetensors|gguf)$|\.safetensors\.index\.json$`)
	// Python objects, which run code when they are read.
	pickled = regexp.MustCompile(`\.(bin|pt|pth|ckpt|pkl|pickle)$`)
)

// singleFile is the model in one file.
const singleFile = "model.safetensors"

// Choose returns the files of s that the engine reads: those of the root that
// describe the model, and its safetensors. Patterns of include replace that choice
// by all files of the kinds that the engine reads that match one of them, in any
// directory; those of exclude take away from either. Patterns are those of
// [path.Match]; one without a slash matches the last element. The names are checked
// as [CheckPath] does. A choice of nothing, and without include one of no weights, is
// an error that says what there is.
func (s *Snapshot) Choose(include, exclude []string) ([]File, error) {
	for _, pattern := range slices.Concat(include, exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("hub: the pattern %q is malformed", pattern)
		}
	}
	single := len(include) == 0 && slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == singleFile })
	var files []File
	for _, f := range s.Files {
		chosen := described.MatchString(f.Path) || weights.MatchString(f.Path) && (!single || f.Path == singleFile)
		if len(include) > 0 {
			chosen = readable.MatchString(path.Base(f.Path)) && matchAny(include, f.Path)
		}
		if chosen && !matchAny(exclude, f.Path) {
			files = append(files, f)
		}
	}
	if err := checkPaths(files); err != nil {
		return nil, fmt.Errorf("hub: %s: %w", s.Repo, err)
	}
	if len(include) > 0 && len(files) > 0 || slices.ContainsFunc(files, func(f File) bool { return weights.MatchString(f.Path) }) {
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

// maxNamed is how many files an error names.
const maxNamed = 12

// noWeights says why nothing is chosen, and what could be.
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
		return fmt.Errorf("nothing that the engine reads matches %q; its weights are %s", include, names(other))
	case len(other) > 0:
		return fmt.Errorf("no %s is chosen: say which of its weights to take by a pattern to include: %s", singleFile, names(other))
	case len(python) > 0:
		return fmt.Errorf("its weights are pickled Python objects (%s), which can run code when they are read and are refused:"+
			" look for a conversion to safetensors, or make one with save_pretrained", names(python))
	}
	return errors.New("it holds no weights that the engine reads: safetensors or GGUF")
}

// names lists files with their sizes.
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
