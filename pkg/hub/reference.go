package hub

import (
	"fmt"
	"net/url"
	"strings"
)

// A Reference names a model of the hub, as a person writes it.
type Reference struct {
	Repo     string // OWNER/NAME, or NAME of an old model
	Quant    string // the quantisation, as written; "": none
	Revision string // of a URL; "": none
	File     string // of a URL; "": none
}

// latest is the tag of those who are used to containers and other programs. It means nothing here.
const latest = "latest"

// ParseReference parses OWNER/NAME, optionally with :QUANT, after hf.co/, hf:// or
// huggingface.co/ or within the URL of a page of the hub. The quantisation "latest" means none.
// It returns an error unless [CheckRepo] accepts the repository.
func ParseReference(text string) (Reference, error) {
	rest, page := trimHost(text)
	var r Reference
	if page {
		rest, _, _ = strings.Cut(rest, "?")
		rest, _, _ = strings.Cut(rest, "#")
		rest = strings.Trim(rest, "/")
		parts := strings.SplitN(rest, "/", 5)
		if len(parts) > 3 && (parts[2] == "tree" || parts[2] == "blob" || parts[2] == "resolve") {
			revision, err := url.PathUnescape(parts[3])
			if err != nil {
				return r, fmt.Errorf("%.200q is not a URL: %w", text, err)
			}
			r.Revision, rest = revision, parts[0]+"/"+parts[1]
			if len(parts) == 5 && parts[2] != "tree" {
				r.File = parts[4]
			}
		}
	}
	repo, quant, tagged := strings.Cut(rest, ":")
	if tagged && !validQuant(quant) {
		return r, fmt.Errorf("%.200q: %.100q is not the name of a quantisation, such as Q4_K_M", text, quant)
	}
	if !strings.EqualFold(quant, latest) {
		r.Quant = quant
	}
	r.Repo = repo
	return r, CheckRepo(repo)
}

// trimHost removes the scheme and the host of the hub, and reports whether there was one.
func trimHost(text string) (rest string, ok bool) {
	rest = text
	for _, scheme := range []string{"https://", "http://"} {
		rest = strings.TrimPrefix(rest, scheme)
	}
	if path, ok := strings.CutPrefix(rest, "hf://"); ok {
		return path, true
	}
	for _, host := range []string{"huggingface.co/", "www.huggingface.co/", "hf.co/"} {
		if len(rest) > len(host) && strings.EqualFold(rest[:len(host)], host) {
			return rest[len(host):], true
		}
	}
	return text, false
}

// validQuant reports whether a text can be the name of a quantisation or of a GGUF file.
func validQuant(text string) bool {
	for _, r := range text {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("_-.", r) {
			return false
		}
	}
	return text != "" && len(text) <= 100
}
