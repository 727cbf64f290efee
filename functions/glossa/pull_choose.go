package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"glossa/pkg/catalog"
	"glossa/pkg/fit"
	"glossa/pkg/hub"
)

// choose returns the files to download, and the name of their quantisation, "" of safetensors:
// those that the user names, else of GGUF files the quantisation that fits, else safetensors.
func (p *pullOptions) choose(s *hub.Snapshot, out io.Writer) (quant string, files []hub.File, err error) {
	switch {
	case p.File != "" && len(p.include) == 0 && len(p.exclude) == 0:
		return p.file(s)
	case p.File != "":
		p.include = append(p.include, p.File)
		fallthrough
	case len(p.include) > 0 || len(p.exclude) > 0:
		files, err = s.Choose(p.include, p.exclude)
	case p.Quant != "":
		return p.named(s)
	default:
		return p.fitting(s, out)
	}
	if unchosen, ok := errors.AsType[*hub.UnchosenError](err); ok {
		return "", nil, fmt.Errorf("%s: %s", p.Repo, unchosen.Sentence(fmt.Sprintf("rerun with --include '%s'", unchosen.Files[0].Path)))
	}
	return "", files, err
}

// file returns the file that the user names by its URL, with the other parts of a split model.
func (p *pullOptions) file(s *hub.Snapshot) (quant string, files []hub.File, err error) {
	for _, v := range s.Variants() {
		if slices.ContainsFunc(v.Files, func(f hub.File) bool { return cmp.Or(f.Source, f.Path) == p.File }) {
			return p.variant(v)
		}
	}
	files, err = s.Choose([]string{p.File}, nil)
	return "", files, err
}

// named returns the files of the quantisation that the user names.
func (p *pullOptions) named(s *hub.Snapshot) (quant string, files []hub.File, err error) {
	v, err := s.Variant(p.Quant)
	format := err != nil && len(s.Variants()) == 0 && s.HasSafetensors() && isFormat(p.Quant)
	switch {
	case err == nil:
		return p.variant(v)
	case format && p.running:
		return p.safetensors(s)
	case format:
		return "", nil, fmt.Errorf("%s has only safetensors, which are quantised in memory: pull it without %q, then glossa run %s:%s", p.Repo, ":"+p.Quant, p.Repo, p.Quant)
	}
	return "", nil, err
}

// variant returns the files of a quantisation, and an error if it cannot run on this machine.
func (p *pullOptions) variant(v hub.Variant) (quant string, files []hub.File, err error) {
	if p.tooLarge(leastShare(v.Name) * float64(v.Size)) {
		return "", nil, fmt.Errorf("%s:%s has %s, and weights may take %s of this machine's memory: glossa run %s chooses a quantisation that fits",
			p.Repo, v.Name, fit.Bytes(v.Size), fit.Bytes(p.room), p.Repo)
	}
	return v.Name, v.Files, nil
}

// Bits of a weight in q4_0, the smallest format in memory, and in the largest of safetensors.
const (
	smallestBits = 4.5
	largestBits  = 32
)

// leastShare returns the part of its file's size that a model takes at least in memory: the
// weights of some files can be loaded in a smaller format.
func leastShare(quant string) float64 {
	switch hub.QuantOf(quant) {
	case "F32", "":
		return smallestBits / largestBits
	case "F16", "BF16":
		return smallestBits / 16
	case "Q8_0":
		return smallestBits / 8.5
	}
	return 1
}

// quantised matches the names of repositories whose safetensors have weights of 4 or 8 bits.
var quantised = regexp.MustCompile(`(?i)[-_.](fp8|w8a8|w8a16|w4a16|int[48]|[48]bits?|awq|gptq)([-_.]|$)`)

// leastOfSafetensors returns the part of its files' size that a model takes at least in memory. In
// quantised ones it is that of the embedding, in 16 bits, and of weights in 8.
func leastOfSafetensors(repo string) float64 {
	if quantised.MatchString(repo) {
		return 0.5
	}
	return smallestBits / largestBits
}

// tooLarge reports whether glossa run cannot load so many bytes of weights. glossa pull may
// download them for another machine.
func (p *pullOptions) tooLarge(bytes float64) bool {
	return p.running && p.room > 0 && bytes > float64(p.room)
}

// safetensors returns the files of a model in safetensors. It returns an error if not even the
// smallest format of their weights fits into memory.
func (p *pullOptions) safetensors(s *hub.Snapshot) (quant string, files []hub.File, err error) {
	files, err = s.Choose(nil, nil)
	var size int64
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".safetensors") {
			size += f.Size
		}
	}
	if err == nil && p.tooLarge(leastOfSafetensors(p.Repo)*float64(size)) {
		return "", nil, fmt.Errorf("%s has %s of weights: they fit in no format into the %s that weights may take of this machine's memory",
			p.Repo, fit.Bytes(size), fit.Bytes(p.room))
	}
	return "", files, err
}

// isFormat reports whether a name is that of a format of weights in memory.
func isFormat(name string) bool { return slices.Contains(catalog.Quants(), strings.ToLower(name)) }

// fitting chooses by the memory of this machine, and prints why.
func (p *pullOptions) fitting(s *hub.Snapshot, out io.Writer) (quant string, files []hub.File, err error) {
	variants := s.Variants()
	candidates := make([]fit.Candidate, len(variants))
	known := false
	for i, v := range variants {
		candidates[i] = fit.Candidate{Name: quantOf(v), Size: v.Size}
		known = known || fit.Known(candidates[i].Name)
	}
	switch {
	case !known && len(variants) == 1 && !s.HasSafetensors():
		return variants[0].Name, variants[0].Files, nil
	case !known:
		quant, files, err = p.safetensors(s)
		if unchosen, ok := errors.AsType[*hub.UnchosenError](err); ok {
			todo := fmt.Sprintf("name one, such as %s:%s", p.Repo, strings.TrimSuffix(unchosen.Files[0].Path, ".gguf"))
			return "", nil, fmt.Errorf("%s: %s", p.Repo, unchosen.Sentence(todo))
		}
		return quant, files, err
	}
	choice, err := fit.Choose(candidates, p.room)
	chosen := choice.Index
	if large, ok := errors.AsType[*fit.TooLargeError](err); ok {
		chosen = slices.IndexFunc(candidates, func(c fit.Candidate) bool { // the smallest comes first
			return fit.Known(c.Name) && leastShare(c.Name)*float64(c.Size) <= float64(large.Room)
		})
		if chosen >= 0 {
			choice.Reason, err = "fits if its weights are loaded in a smaller format", nil
		}
	} else if err != nil {
		chosen = -1
	}
	if err == nil && len(variants) == 1 {
		return variants[0].Name, variants[0].Files, nil
	}
	if failed := printVariants(out, p.Repo, variants, chosen, p.room); failed != nil {
		return "", nil, failed
	}
	if large, ok := errors.AsType[*fit.TooLargeError](err); ok {
		i := slices.Index(candidates, fit.Candidate{Name: large.Name, Size: large.Need})
		return "", nil, fmt.Errorf("%s: %w; glossa pull %s:%s downloads it anyway", p.Repo, err, p.Repo, variants[i].Name)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", p.Repo, err)
	}
	v := variants[chosen]
	_, err = fmt.Fprintf(out, "%s is chosen: it %s; %s:QUANT chooses another\n", v.Name, choice.Reason, p.Repo)
	return v.Name, v.Files, err
}

// quantOf returns the quantisation of a variant that may have the name of its file.
func quantOf(v hub.Variant) string {
	if quant := hub.QuantOf(v.Name); quant != "" {
		return quant
	}
	return v.Name
}

// printVariants prints the quantisations of a repository with their sizes, and marks one.
func printVariants(out io.Writer, repo string, list []hub.Variant, chosen int, room int64) error {
	fmt.Fprintf(out, "%s has %d quantisations", repo, len(list))
	if room > 0 {
		fmt.Fprintf(out, "; weights may take %s of this machine's memory", fit.Bytes(room))
	}
	fmt.Fprintln(out, ":")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, v := range list { // errors come with Flush
		mark, about := " ", ""
		if i == chosen {
			mark = "*"
		}
		switch {
		case room > 0 && leastShare(v.Name)*float64(v.Size) > float64(room):
			about = "\tdoes not fit"
		case room > 0 && v.Size > room:
			about = "\tfits in a smaller format"
		case !fit.Known(quantOf(v)):
			about = "\tnot chosen by itself"
		}
		fmt.Fprintf(t, "%s %s\t%s%s\n", mark, v.Name, fit.Bytes(v.Size), about)
	}
	return t.Flush()
}
