package textsynth

import (
	"slices"
	"strings"
)

// auto asks for the source language to be detected.
const auto = "auto"

// languages lists the codes of TextSynth's documentation §1.4, sorted. Models map them to their own names.
const languages = "af am ar ast az ba be bg bn bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy" +
	" id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no nso oc or pa pl ps pt ro ru" +
	" sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"

// Languages returns the codes of the languages that texts are translated from and to.
func Languages() []string { return strings.Fields(languages) }

// knownLanguage reports whether code is one of [Languages].
func knownLanguage(code string) bool {
	_, ok := slices.BinarySearch(Languages(), code)
	return ok
}
