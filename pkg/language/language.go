// Package language detects the language of a text and splits it into sentences. It knows
// ISO 639 codes and text, but not models or translation.
//
// Detection uses frequent words, then script and trigrams (abadojack/whatlanggo).
// Sentence boundaries are those of Unicode Standard Annex #29 (clipperhouse/uax29),
// without boundaries at abbreviations, which the annex leaves to the languages.
package language

import (
	"strings"

	"github.com/abadojack/whatlanggo"
)

// long maps languages to the detector's code if that has no two-letter one, or differs
// from the usual one of the group.
var long = map[whatlanggo.Lang]string{
	whatlanggo.Ceb: "ceb", whatlanggo.Ilo: "ilo", whatlanggo.Pes: "fa", whatlanggo.Ydd: "yi",
	whatlanggo.Nno: "no", whatlanggo.Nob: "no",
}

// detectBytes is the length of the part of a text used for detection.
const detectBytes = 16 << 10

// Detect returns the code of the likeliest language of the beginning of text, among the
// given ones, or "" if it is unknown: there are no letters, or the script belongs to none
// of them. Short texts are often mistaken for a related language.
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
	if text = strings.TrimSpace(text); len(text) > detectBytes {
		text = text[:detectBytes]
	}
	if found := byWords(text, wanted); found != "" {
		return found
	}
	found := code(whatlanggo.DetectLangWithOptions(text, whatlanggo.Options{Whitelist: list}))
	if !wanted[found] { // for some scripts the detector knows only one language
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
