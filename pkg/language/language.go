// Package language tells which language a text is in and cuts it into sentences. It
// knows ISO 639 codes and text; it refuses to know models and translation.
//
// Detection is by frequent words, then by script and trigrams (abadojack/whatlanggo),
// sentence boundaries
// are those of Unicode Standard Annex #29 (clipperhouse/uax29), kept together at
// abbreviations, which the annex leaves to the languages.
package language

import (
	"strings"

	"github.com/abadojack/whatlanggo"
)

// long holds the codes of languages for which the detector has no two-letter one, or
// another than the usual one of the group.
var long = map[whatlanggo.Lang]string{
	whatlanggo.Ceb: "ceb", whatlanggo.Ilo: "ilo", whatlanggo.Pes: "fa", whatlanggo.Ydd: "yi",
	whatlanggo.Nno: "no", whatlanggo.Nob: "no",
}

// enough of a text tells its language, bytes.
const enough = 16 << 10

// Detect returns the code of the language that the beginning of text is likeliest in,
// among those given, or "" if it cannot tell: there are no letters, or the script is
// none of theirs. Short texts are often taken for a neighbouring language.
func Detect(text string, among []string) string {
	wanted, list := map[string]bool{}, map[whatlanggo.Lang]bool{}
	for _, code := range among {
		wanted[code] = true
	}
	for lang := range whatlanggo.Langs {
		if wanted[code(lang)] {
			list[lang] = true
		}
	}
	// An empty list would mean all languages.
	if len(list) == 0 {
		return ""
	}
	if text = strings.TrimSpace(text); len(text) > enough {
		text = text[:enough]
	}
	if found := byWords(text, wanted); found != "" {
		return found
	}
	found := code(whatlanggo.DetectLangWithOptions(text, whatlanggo.Options{Whitelist: list}))
	if !wanted[found] { // of some scripts the detector knows one language only
		return ""
	}
	return found
}

func code(lang whatlanggo.Lang) string {
	if c, ok := long[lang]; ok {
		return c
	}
	return lang.Iso6391()
}
