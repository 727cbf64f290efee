package arch

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/language"
	"glossa/pkg/tokenizer"
)

// A speaker is a tokenizer with a token for each of some languages.
type speaker interface {
	Languages() []string
	Language(code string) (id int, ok bool)
}

// setLanguages gives a translator of a type the languages that its tokenizer has tokens for.
// Marian's may have none: source and target are what its files name.
func (t *Translation) setLanguages(kind string, tok tokenizer.Tokenizer, source, target string) {
	tokens := map[string]int{}
	switch tok := tok.(type) {
	case speaker:
		for _, name := range tok.Languages() {
			tokens[name], _ = tok.Language(name)
		}
	case tokenizer.Specials:
		for name, id := range tok.SpecialTokens() {
			if scriptOrCountry.MatchString(name) {
				tokens[name] = id
			}
		}
	}
	list := codesOf(tokens)
	if kind == marianType && tok != nil {
		t.setPair(list, source, target)
		return
	}
	for _, l := range list {
		t.Sources = append(t.Sources, Language{Code: l.code, Source: l.id})
		t.Targets = append(t.Targets, Language{Code: l.code, Target: l.id})
	}
}

// scriptOrCountry matches the codes of NLLB's languages, ISO 639-3 and the script of ISO 15924, and
// those of mBART's, ISO 639-1 and a country or XX.
var scriptOrCountry = regexp.MustCompile(`^([a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2})$`)

// A coded token is that of a language.
type coded struct {
	code string
	id   int
}

// codesOf returns the codes of the tokens of languages, by their ids. Of several languages with
// the same code the first has it, the others keep their names.
func codesOf(tokens map[string]int) (list []coded) {
	names := slices.SortedFunc(maps.Keys(tokens), func(a, b string) int { return cmp.Compare(tokens[a], tokens[b]) })
	taken := map[string]bool{}
	for _, name := range names {
		code := language.Code(name)
		if taken[code] {
			code = name
		}
		taken[code] = true
		list = append(list, coded{code, tokens[name]})
	}
	return list
}

// setPair gives a Marian model the language of its sources, and those of its targets: a source
// begins with the token of its target if there are several. The name of a source may be that of a
// group, such as roa, whose languages the files do not list: then it may be any.
func (t *Translation) setPair(targets []coded, source, target string) {
	code, known := language.Code(source), language.Codes()
	if slices.Contains(known, code) {
		known = []string{code}
	} else if code != "" {
		known = append(known, code)
	}
	for _, code := range known {
		t.Sources = append(t.Sources, Language{Code: code})
	}
	for _, l := range targets {
		t.Targets = append(t.Targets, Language{Code: l.code, Source: l.id})
	}
	if len(targets) == 0 && target != "" {
		t.Targets = []Language{{Code: language.Code(target)}}
	}
}

// checkLanguages rejects codes and tokens that cannot be.
func (t *Translation) checkLanguages(s *transformer.Spec) bool {
	const most = 4096
	return len(t.Sources) <= most && len(t.Targets) <= most && !slices.ContainsFunc(slices.Concat(t.Sources, t.Targets), func(l Language) bool {
		return l.Code == "" || min(l.Source, l.Target) < 0 || max(l.Source, l.Target) >= s.Vocab
	})
}
