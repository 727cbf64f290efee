package language

import (
	"maps"
	"slices"
	"strings"
)

// threeLetters has the codes of ISO 639-3, and of 639-2 for groups and other spellings, of
// languages with a code of two letters, and M2M100's code of Northern Sotho. Of the languages of
// a group (Arabic, Persian, Malay) it has the one that the code of two letters usually means.
var threeLetters = func() map[string]string {
	all := map[string]string{"ns": "nso"}
	for pair := range strings.FieldsSeq(`afr:af amh:am ara:ar arb:ar aze:az azj:az bak:ba bel:be ben:bn bos:bs bre:br bul:bg cat:ca ces:cs cze:cs
		cym:cy dan:da deu:de ger:de ell:el gre:el eng:en epo:eo est:et ekk:et eus:eu fao:fo fas:fa pes:fa fin:fi fra:fr fre:fr fry:fy ful:ff fuv:ff
		gla:gd gle:ga glg:gl guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig ind:id isl:is ice:is ita:it jav:jv jpn:ja kan:kn kat:ka
		geo:ka kaz:kk khm:km kin:rw kir:ky kor:ko kur:ku kmr:ku lao:lo lav:lv lvs:lv lin:ln lit:lt ltz:lb lug:lg mal:ml mar:mr mkd:mk mlg:mg plt:mg
		mlt:mt mon:mn khk:mn mri:mi msa:ms zsm:ms mya:my bur:my nep:ne npi:ne nld:nl dut:nl nno:nn nob:no nor:no oci:oc ori:or ory:or orm:om gaz:om
		pan:pa pol:pl por:pt pus:ps pbt:ps que:qu quy:qu ron:ro rum:ro rus:ru sin:si slk:sk slv:sl smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq
		als:sq srp:sr ssw:ss sun:su swa:sw swh:sw swe:sv tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti tsn:tn tso:ts tuk:tk tur:tr uig:ug ukr:uk
		urd:ur uzb:uz uzn:uz vie:vi wol:wo xho:xh yid:yi ydd:yi yor:yo zho:zh chi:zh cmn:zh zul:zu
		aka:ak asm:as aym:ay ayr:ay bam:bm bod:bo tib:bo dzo:dz ewe:ee fij:fj grn:gn kas:ks kau:kr knc:kr kik:ki kon:kg lim:li nya:ny run:rn sag:sg
		san:sa srd:sc twi:tw`) {
		long, short, _ := strings.Cut(pair, ":")
		all[long] = short
	}
	return all
}()

// Code returns the usual code of a language that a model spells in its own way: "eng_Latn",
// "deu" and "cmn_Hans" are en, de and zh. A code of ISO 639 that has no shorter one is returned
// as it is, without a script.
func Code(model string) string {
	name, _, _ := strings.Cut(strings.ToLower(model), "_")
	if short, ok := threeLetters[name]; ok {
		return short
	}
	return name
}

// Codes returns the codes of two letters that [Code] knows, in order.
func Codes() []string {
	all := slices.Compact(slices.Sorted(maps.Values(threeLetters)))
	return slices.DeleteFunc(all, func(code string) bool { return len(code) != 2 })
}
