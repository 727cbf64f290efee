package hub

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Variant is one of the GGUF models of a repository: a file, or the parts of one.
type Variant struct {
	Name  string // of its quantisation, such as Q4_K_M, or of its file if others have the same
	Files []File // in the order of their parts
	Size  int64  // of all of them, bytes
}

var (
	// A quantisation at the end of a file's name, as llama.cpp's tools write it.
	ggufQuant = regexp.MustCompile(`(?i)[-._]((?:I?Q|TQ)[1-8]_[A-Z0-9_]+|BF16|F16|F32|MXFP4(?:_MOE)?)$`)
	ggufPart  = regexp.MustCompile(`-(\d{5})-of-(\d{5})$`)
	// The projectors of images and the statistics of quantisation are not models.
	notModel = regexp.MustCompile(`(?i)^mmproj|[-._]mmproj|imatrix|^mtp-`)
)

// QuantOf returns the quantisation at the end of the name of a GGUF file without its suffix, in
// upper case, or of a name that is one; "" if there is none.
func QuantOf(name string) string {
	found := ggufQuant.FindStringSubmatch("-" + ggufPart.ReplaceAllString(name, ""))
	if found == nil {
		return ""
	}
	return strings.ToUpper(found[1])
}

// Variants returns the GGUF models of s, the smallest first: those in its root, and if it has
// no safetensors, those in subdirectories too. It leaves out split models of which a part is
// missing.
func (s *Snapshot) Variants() []Variant {
	byStem := map[string]*Variant{}
	parts := map[string]string{} // the number of parts, by stem
	var list []*Variant
	onlyRoot := s.HasSafetensors()
	for _, f := range s.flatten(s.Files) {
		stem, part, ok := cutGGUF(f.Path)
		if !ok || strings.Contains(f.Path, "/") || f.Source != "" && onlyRoot || CheckPath(f.Path) != nil || notModel.MatchString(f.Path) {
			continue
		}
		if number := ggufPart.FindStringSubmatch(part); number != nil {
			parts[stem] = number[2]
		}
		v := byStem[stem]
		if v == nil {
			v = &Variant{Name: stem}
			byStem[stem] = v
			list = append(list, v)
		}
		v.Files, v.Size = append(v.Files, f), v.Size+f.Size
	}
	list = slices.DeleteFunc(list, func(v *Variant) bool {
		all, split := parts[v.Name]
		return split && fmt.Sprintf("%05d", len(v.Files)) != all
	})
	return named(list)
}

// named names variants by their quantisations where these differ, and sorts them.
func named(list []*Variant) []Variant {
	count := map[string]int{}
	quants := make([]string, len(list))
	for i, v := range list {
		quants[i] = QuantOf(v.Name)
		count[quants[i]]++
	}
	out := make([]Variant, len(list))
	for i, v := range list {
		slices.SortFunc(v.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		if quants[i] != "" && count[quants[i]] == 1 {
			v.Name = quants[i]
		}
		out[i] = *v
	}
	slices.SortFunc(out, func(a, b Variant) int { return cmp.Or(cmp.Compare(a.Size, b.Size), strings.Compare(a.Name, b.Name)) })
	return out
}

// HasSafetensors reports whether s has weights that [Snapshot.Choose] chooses by default.
func (s *Snapshot) HasSafetensors() bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return weights.MatchString(f.Path) && strings.HasSuffix(f.Path, ".safetensors") })
}

// Variant returns the one that a person names by its quantisation or by its file, in any case.
// The error lists the names with their sizes.
func (s *Snapshot) Variant(name string) (Variant, error) {
	list := s.Variants()
	var found []Variant
	for _, v := range list {
		first := path.Base(v.Files[0].Path)
		if strings.EqualFold(v.Name, name) || strings.EqualFold(first, name) || strings.EqualFold(strings.TrimSuffix(first, ".gguf"), name) {
			return v, nil
		}
		if strings.EqualFold(QuantOf(v.Name), name) {
			found = append(found, v)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Variant{}, fmt.Errorf("hub: %s has several models in %s: name one of %s", s.Repo, name, sizes(found))
	case len(list) > 0:
		return Variant{}, fmt.Errorf("hub: %s has no quantisation %q: use one of %s", s.Repo, name, sizes(list))
	case s.HasSafetensors():
		return Variant{}, fmt.Errorf("hub: %s has no GGUF files to choose %q from, only safetensors: leave out the quantisation", s.Repo, name)
	}
	return Variant{}, fmt.Errorf("hub: %s: %w", s.Repo, s.noWeights(nil))
}

// sizes formats variants with their sizes.
func sizes(list []Variant) string {
	var texts []string
	for _, v := range list[:min(len(list), 2*maxNamed)] {
		texts = append(texts, fmt.Sprintf("%s (%.1f MB)", v.Name, float64(v.Size)/1e6))
	}
	if more := len(list) - 2*maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}
