package hub

import (
	"maps"
	"path"
	"strings"
)

// flatten gives GGUF files of subdirectories their names in the root, which is where the
// engine looks for them.
func (s *Snapshot) flatten(files []File) []File {
	names := s.rootNames()
	out := make([]File, len(files))
	for i, f := range files {
		if name, ok := names[f.Path]; ok {
			f.Source, f.Path = f.Path, name
		}
		out[i] = f
	}
	return out
}

// rootNames returns the names in the root of GGUF files of subdirectories, by their paths: their
// own, or with the subdirectory's if another model has the same, or if only the subdirectory
// names the quantisation. They depend on the whole repository, so that later pulls find the same
// names. It leaves out files whose names are unacceptable in the root, or taken there.
func (s *Snapshot) rootNames() map[string]string {
	dirs := map[string]map[string]bool{} // of files that have the same name without their part
	for _, f := range s.Files {
		if stem, _, ok := cutGGUF(f.Path); ok && CheckPath(f.Path) == nil {
			name := strings.ToLower(path.Base(stem))
			if dirs[name] == nil {
				dirs[name] = map[string]bool{}
			}
			dirs[name][path.Dir(f.Path)] = true
		}
	}
	names, taken := map[string]string{}, map[string]int{}
	for _, f := range s.Files {
		name := f.Path
		if stem, part, ok := cutGGUF(f.Path); ok && strings.Contains(f.Path, "/") && CheckPath(f.Path) == nil {
			name = path.Base(stem)
			dir := path.Dir(f.Path)
			if len(dirs[strings.ToLower(name)]) > 1 || QuantOf(name) == "" && QuantOf(path.Base(dir)) != "" {
				name += "-" + strings.ReplaceAll(dir, "/", "-")
			}
			name += part + ".gguf"
			names[f.Path] = name
		}
		taken[strings.ToLower(name)]++
	}
	maps.DeleteFunc(names, func(_, name string) bool { return taken[strings.ToLower(name)] > 1 || CheckPath(name) != nil })
	return names
}

// cutGGUF cuts the path of a GGUF file before the number of its part, such as
// -00001-of-00002, which may be empty.
func cutGGUF(file string) (stem, part string, ok bool) {
	stem, ok = strings.CutSuffix(file, ".gguf")
	part = ggufPart.FindString(stem)
	return strings.TrimSuffix(stem, part), part, ok
}

// source returns the path of a file in the repository.
func (f *File) source() string {
	if f.Source != "" {
		return f.Source
	}
	return f.Path
}
