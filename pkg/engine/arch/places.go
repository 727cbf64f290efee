package arch

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// A Place is a model in a directory of models.
type Place struct {
	Name string // "gpt2", or "llama:Q4_K_M" of one of several files in a directory
	Path string // what [Open] and [Describe] open
}

// Places returns the models in an entry of a directory of models: a directory, a packed
// model or a GGUF file. There are none in an entry without weights. Weights that cannot be
// opened are an error that says why.
func Places(fsys fs.FS, entry string) ([]Place, error) {
	info, err := fs.Stat(fsys, entry)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return placesOfFile(fsys, entry)
	}
	is, err := Detect(fsys, entry)
	if is {
		return []Place{{entry, entry}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, list := range []func(fs.FS, string) ([]string, error){packFiles, ggufFiles} {
		if files, err := list(fsys, entry); err != nil || len(files) > 1 {
			return placesOfFiles(entry, files), err
		}
	}
	return nil, orphans(fsys, entry)
}

// Files returns the names of the files that the models of an entry are read from, and perhaps
// of others: the entry itself or the files and directories in it, those in the directories of
// the modules of sentence-transformers, templates for tools, and those of an adapter's base. It lists directories and
// reads no file, so that a change can be noticed at little cost.
func Files(fsys fs.FS, entry string) ([]string, error) {
	names := []string{entry}
	entries, err := fs.ReadDir(fsys, entry)
	if err != nil {
		return names, nil // a file, or Places returns the error
	}
	modules := false
	for _, e := range entries {
		names = append(names, path.Join(entry, e.Name()))
		modules = modules || e.Name() == modulesFile
	}
	if name := path.Join(entry, toolsTemplateFile); exists(fsys, name) {
		names = append(names, name)
	}
	if exists(fsys, path.Join(entry, checkpoint.AdapterConfig)) {
		if base, _, err := findBase(fsys, entry); err == nil { // otherwise Describe returns the error
			more, err := Files(fsys, base)
			return append(names, more...), err
		}
	}
	if !modules {
		return names, nil
	}
	// modules.json may name directories in directories.
	err = fs.WalkDir(fsys, entry, func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Dir(name) != entry && exists(fsys, name) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// placesOfFile returns the model of a file beside the directories.
func placesOfFile(fsys fs.FS, name string) ([]Place, error) {
	if stem, ok := strings.CutSuffix(name, ".gguf"); ok {
		if part := splitName.FindStringSubmatch(name); part != nil && part[1] != "00001" {
			return nil, nil
		}
		return []Place{{strings.TrimSuffix(splitName.ReplaceAllString(name, ".gguf"), ".gguf"), stem + ".gguf"}}, nil
	}
	stem, ok := strings.CutSuffix(name, checkpoint.PackSuffix)
	if !ok {
		return nil, nil
	}
	packed, err := checkpoint.IsPack(fsys, name)
	if err != nil || packed {
		return []Place{{stem, name}}, err
	}
	return nil, fmt.Errorf("%s is not a packed model: put it into a directory with its config.json, or pack it", name)
}

// quantName matches the name of a quantisation at the end of a file's name.
var quantName = regexp.MustCompile(`(?i)[-._]((?:I?Q[1-8]_[A-Z0-9_]+)|BF16|F16|F32|MXFP4(?:_MOE)?)$`)

// placesOfFiles names the files of a directory by their quantisations, or by their own names
// if these are not different.
func placesOfFiles(dir string, files []string) []Place {
	stems, quants := make([]string, len(files)), make([]string, len(files))
	for i, name := range files {
		stems[i] = strings.TrimSuffix(splitName.ReplaceAllString(name, ".gguf"), path.Ext(name))
		quants[i] = stems[i]
		if found := quantName.FindStringSubmatch(stems[i]); found != nil {
			quants[i] = found[1]
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(quants))); len(distinct) < len(quants) {
		quants = stems
	}
	places := make([]Place, len(files))
	for i, name := range files {
		places[i] = Place{dir + ":" + quants[i], path.Join(dir, name)}
	}
	return places
}

// orphans returns an error if a directory has weights, but not what is needed to read them.
func orphans(fsys fs.FS, dir string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == checkpoint.AdapterConfig, strings.HasPrefix(name, "adapter_model."):
			return fmt.Errorf("%s/%s: an adapter needs %s and %s", dir, name, checkpoint.AdapterConfig, checkpoint.AdapterWeights)
		case name == "consolidated.safetensors":
			return fmt.Errorf("%s/%s: this layout is not supported: use the repository's %s and %s", dir, name, weightsFile, configFile)
		case strings.HasSuffix(name, ".safetensors") && !exists(fsys, path.Join(dir, configFile)):
			return fmt.Errorf("%s: it has %s, but no %s", dir, name, configFile)
		case strings.HasSuffix(name, ".safetensors"):
			return fmt.Errorf("%s/%s has no model_type", dir, configFile)
		case strings.HasPrefix(name, "pytorch_model") && strings.HasSuffix(name, ".bin"), strings.HasSuffix(name, ".pth"):
			return fmt.Errorf("%s/%s is not supported: the weights must be safetensors or GGUF", dir, name)
		}
	}
	return nil
}
