package corpus

import (
	"strconv"
	"strings"
)

// formSlot is a value of a form: its text in a sentence and its JSON in the form.
type formSlot struct {
	kind    slotKind
	pattern string               // of the values that one draws
	one     func(d *dice) string // one value, or one item of a list
	least   int                  // minimum items of a list
	values  []string             // that phrases of the grammar express
}

// slotKind is the type of a value and its position.
type slotKind int

const (
	copied      slotKind = iota // a string copied from the sentence
	bare                        // a number copied from the sentence
	listed                      // an array of strings copied from the sentence
	phrased                     // a number or boolean that a phrase expresses
	phrasedWord                 // a string that a phrase expresses
)

var formSlots = map[string]formSlot{
	"name": personSlot, "customer": personSlot, "user": personSlot, "from": personSlot, "to": personSlot,
	"guests":   {kind: listed, pattern: `[A-Z][a-z]+`, one: personName, least: 2},
	"age":      {kind: bare, pattern: `[1-9][0-9]?`, one: between(6, 99)},
	"trade":    {kind: copied, pattern: `[a-z]+`, one: from(formTrades)},
	"town":     placeSlot,
	"married":  {kind: phrased, values: []string{"true", "false"}},
	"children": {kind: phrased, values: []string{"0", "1", "2", "3", "4", "5", "6"}},
	"items":    {kind: listed, pattern: `[a-z]+`, one: from(formGoods), least: 1},
	"total":    {kind: bare, pattern: `[1-9][0-9]*(?:\.[0-9]+)?`, one: price},
	"paid":     {kind: phrased, values: []string{"true", "false"}},
	"street":   {kind: copied, pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, one: streetName},
	"number":   {kind: bare, pattern: `[1-9][0-9]*`, one: between(1, 250)},
	"topic":    {kind: copied, pattern: `[a-z]+ [a-z]+`, one: topicName},
	"day":      {kind: copied, pattern: `[A-Z][a-z]+day`, one: from(formDays)},
	"hour":     {kind: bare, pattern: `[1-9][0-9]?`, one: between(7, 22)},
	"room":     {kind: copied, pattern: `[A-H][1-9][0-9]?`, one: roomName},
	"place":    placeSlot,
	"sky":      {kind: phrasedWord, values: []string{"rain", "snow", "sun", "fog", "cloud", "storm"}},
	"temp":     {kind: bare, pattern: `0|-?[1-9][0-9]?(?:\.5)?`, one: temperature},
	"wind":     {kind: bare, pattern: `[1-9][0-9]?`, one: between(2, 95)},
	"warning":  {kind: phrased, values: []string{"true", "false"}},
	"door":     {kind: bare, pattern: `[1-9][0-9]*`, one: between(1, 400)},
	"code":     {kind: copied, pattern: `[!-~]{5,8}`, one: secretCode},
	"active":   {kind: phrased, values: []string{"true", "false"}},
	"urgent":   {kind: phrased, values: []string{"true", "false"}},
	"text":     {kind: copied, pattern: `[a-z]+(?: [A-Za-z]+)+`, one: request},
}

var (
	personSlot = formSlot{kind: copied, pattern: `[A-Z][a-z]+`, one: personName}
	placeSlot  = formSlot{kind: copied, pattern: `[A-Z][a-z]+(?: [A-Z][a-z]+)?`, one: placeName}
)

// draw returns a value of the slot as text in a sentence and as JSON.
func (s formSlot) draw(d *dice, g *grammar, name string) (text, value string) {
	switch s.kind {
	case copied:
		text = s.one(d)
		return text, quoted(text)
	case listed:
		items := make([]string, s.least+d.n(4-s.least))
		for i := range items {
			for items[i] == "" || strings.Contains(strings.Join(items[:i], " ")+" ", items[i]+" ") {
				items[i] = s.one(d)
			}
		}
		return enumerated(items), list(items)
	case phrased, phrasedWord:
		value = pick(d, s.values)
		text = pick(d, g.rules[name+"."+value])[0].text
		if s.kind == phrasedWord {
			value = quoted(value)
		}
		return text, value
	}
	text = s.one(d)
	return text, text
}

// enumerated joins items as in a sentence: "a", "a and b", "a, b and c".
func enumerated(items []string) string {
	last := len(items) - 1
	if last == 0 {
		return items[0]
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// between draws an integer from least to most.
func between(least, most int) func(*dice) string {
	return func(d *dice) string { return strconv.Itoa(least + d.n(most-least+1)) }
}

// from draws a word of a list.
func from(words []string) func(*dice) string {
	return func(d *dice) string { return pick(d, words) }
}

// price draws a price from 1 to 99.95, as a JSON number.
func price(d *dice) string {
	return strconv.Itoa(1+d.n(99)) + pick(d, []string{"", "", ".5", ".25", ".75", ".2", ".05", ".95"})
}

// temperature draws a temperature from -19.5 to 35.5, in halves.
func temperature(d *dice) string {
	n := d.n(36)
	sign := ""
	if n > 0 && n < 20 && d.chance(40) {
		sign = "-"
	}
	if n > 0 && d.chance(40) {
		return sign + strconv.Itoa(n) + ".5"
	}
	return sign + strconv.Itoa(n)
}

// roomName draws a name such as B14.
func roomName(d *dice) string { return string(rune('A'+d.n(8))) + strconv.Itoa(1+d.n(29)) }

// topicName draws a topic such as "new bridge".
func topicName(d *dice) string { return pick(d, topicWords) + " " + pick(d, topicThings) }

// request draws a request such as "bring the old lamps and no salt to Lower Lake for
// Hilda".
func request(d *dice) string {
	text := pick(d, requestVerbs)
	for i := 0; i == 0 || i < 2 && d.chance(50); i++ {
		if i > 0 {
			text += " and"
		}
		text += " " + pick(d, requestWhose) + " " + pick(d, topicWords) + " " + pick(d, formGoods)
	}
	if d.chance(50) {
		text += " " + pick(d, []string{"to", "near", "from"}) + " " + placeName(d)
	}
	if d.chance(50) {
		text += " " + pick(d, []string{"for", "with", "before"}) + " " + personName(d)
	}
	return text
}

// secretCode draws five to eight printable characters, half of them from all kinds,
// without spaces.
func secretCode(d *dice) string {
	const plain = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789"
	code := make([]byte, 5+d.n(4))
	for i := range code {
		if d.chance(50) {
			code[i] = byte('!' + d.n('~'-'!'+1))
		} else {
			code[i] = plain[d.n(len(plain))]
		}
	}
	return string(code)
}

// Names are composed of syllables, so that the model must copy instead of memorise them;
// some are real.
var (
	onsets = strings.Fields(`b br qu c ch d dr f fl g gr h j k kl l m n p pr r s sh st t th tr v w y z b d g h l m n r s t v`)
	vowels = strings.Fields(`a a a e e e i i i o o o u u y ai ea ie ou ei oa`)
	codas  = strings.Fields(`l n r s m d t k ck lt nd rn ll ss x th p g b f`)
)

// syllables composes a name of one to three syllables.
func syllables(d *dice, most int) string {
	var b strings.Builder
	for i, n := 0, 1+d.n(most); i <= n; i++ {
		if i > 0 || d.chance(80) {
			b.WriteString(pick(d, onsets))
		}
		b.WriteString(pick(d, vowels))
		if i == n && d.chance(60) || d.chance(20) {
			b.WriteString(pick(d, codas))
		}
	}
	return capitalised(b.String())
}

func personName(d *dice) string {
	if d.chance(30) {
		return pick(d, formPeople)
	}
	return syllables(d, 2)
}

func placeName(d *dice) string {
	if d.chance(50) {
		return pick(d, placeWords) + " " + pick(d, placeThings)
	}
	return syllables(d, 1) + pick(d, placeEnds)
}

func streetName(d *dice) string {
	if d.chance(50) {
		return pick(d, placeThings) + " " + pick(d, streetKinds)
	}
	return syllables(d, 1) + " " + pick(d, streetKinds)
}

var (
	formDays   = strings.Fields(`Monday Tuesday Wednesday Thursday Friday Saturday Sunday`)
	formPeople = strings.Fields(`Ada Anna Ben Bertha Carl Clara David Dora Edith Emil Frank Frida George Greta Hilda Hugo Ida Ivan
		James Jane Karl Kate Lena Louis Maria Martin Nell Noah Olga Oscar Paul Petra Ruth Robert Sara Simon Tom Thea Vera Victor Will Wanda`)
	formTrades = strings.Fields(`weaver baker miller smith cook tailor painter fisher hunter carpenter farmer teacher doctor nurse
		sailor singer dancer writer printer potter mason glazier cooper tinker barber butcher brewer gardener driver pilot porter
		judge lawyer clerk soldier shepherd piper fiddler locksmith watchmaker llama`)
	formGoods = strings.Fields(`bread honey salt cheese butter milk apples pears plums nuts beans peas rice tea coffee sugar flour eggs
		fish ham soap candles rope nails paper ink pens books boots gloves hats socks wool silk linen buttons lamps oil coal wood
		seeds tools pots pans knives spoons cups plates bowls baskets chairs tables brooms bells keys clocks maps kites drums`)
	requestVerbs = strings.Fields(`bring send sell hide keep mend find take leave paint wash count show give lend burn`)
	requestWhose = strings.Fields(`the my your our no some both two all her his their`)
	topicWords   = strings.Fields(`new old lost stone summer winter spring autumn harbour school market village garden river late next first small great broken`)
	topicThings  = strings.Fields(`bridge roof harvest budget feast choir library railway well mill road wall tower fair play garden ferry clock fence oven`)
	placeWords   = strings.Fields(`Lower Upper North South East West Old New Great Little Green White Black Red Long High Stone Kings Far Cold`)
	placeThings  = strings.Fields(`Sands Hill Bridge Mill Bay Harbour Wood Field Brook Marsh Cross Ford Lake Haven Market Rock Moor Gate Green Pond`)
	placeEnds    = strings.Fields(`ford ton ham wick by stead bury mouth dale well`)
	streetKinds  = strings.Fields(`Street Lane Road Row Way Square Hill Yard`)
)
