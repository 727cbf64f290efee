package language

import (
	"strings"
	"unicode"
)

// Trigrams need about a hundred letters to distinguish languages of one script. Common
// words distinguish the larger languages after five or six words.

// minCommon is the number of common words needed as evidence.
const minCommon = 2

// byWords returns the language, among the wanted ones, with the most common words in
// text; "" if there are too few, or equally many of another language.
func byWords(text string, wanted map[string]bool) string {
	hits := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for code, list := range common {
			if _, ok := list[word]; ok && wanted[code] {
				hits[code]++
			}
		}
	}
	best, most, second := "", 0, 0
	for code, n := range hits {
		switch {
		case n > most:
			best, most, second = code, n, most
		case n > second:
			second = n
		}
	}
	if most < minCommon || most == second {
		return ""
	}
	return best
}

// common holds frequent words of languages in Latin script: articles, pronouns,
// prepositions, forms of be and have.
var common = map[string]map[string]struct{}{
	"cs": words("a je se na to že v s z do si by ale jsem jako jsou které který pro tak o po není byl jeho co už ve už mě mi"),
	"da": words("og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun nu over da fra du ud sin dem os op hvad"),
	"de": words("der die das und ist in den von zu mit sich auf für nicht es ein eine ich sie er wir dem des im als auch an war aus bei hat nach wie du einen sind mein unter über"),
	"en": words("the of and to in is it you that he was for on are with as his they at be this have from or had by not but what all were we when your can there an which she do how their if will my a i under has"),
	"es": words("el la de que y en un una los se del las por con no para su es al lo como más pero sus le ya o este sí porque esta son muy está mi yo me hay tiene"),
	"fi": words("ja on ei se että hän oli olen mutta niin kun kuin myös ovat minä sinä mitä tämä joka vain ole siitä sen nyt jos sitä minun"),
	"fr": words("le la les de des et un une est en que qui dans pour pas sur au aux du ce il elle je nous vous ne se plus avec son sa ses mon ma sont par mais où y sous à l d"),
	"hu": words("a az és hogy nem is egy ez van meg de csak mint volt már el azt mi én ki még ha te ezt vagy be lehet kell"),
	"id": words("yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena tersebut bisa ada mereka lebih kita kami sudah adalah oleh"),
	"it": words("di che è e la il un a per in una mi non sono ho con si ma ti lo ha le cosa i da del al della come ci se più questo anche sul nel gli"),
	"nl": words("de het een en van ik te dat die in is niet zijn je op met voor er maar ook aan als wij we hij zij dit was bij uit om naar heeft nog onder mijn"),
	"no": words("og i jeg det at en et den til er som på de med han av for ikke der var meg seg men har om vi min hadde hun nå over fra du ut sin dem oss opp hva ei"),
	"pl": words("i w na z że się nie to do jest o jak po co ale tak za od jego już tylko przez dla czy był ma są ja mnie ten ta"),
	"pt": words("de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou eu muito está meu minha"),
	"ro": words("și în de la a nu cu pe este că un o din care mai pentru sunt se am ce ca au să fi al dar era sau lui el ea eu"),
	"sv": words("och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan hon då nu min du mig under där ut vad"),
	"tr": words("bir ve bu da de için çok ne o ben mi ama daha var gibi kadar değil olarak sonra en ki şey her sen biz olan ile benim"),
}
