package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

// A toolKind is a tool of tools.grammar with the types of its parameters a, b and c. The
// last parameter is optional where the grammar has requests without it, and optional is set.
type toolKind struct {
	rule     string
	params   []paramKind
	optional bool
	result   func(d *dice) string
}

// A paramKind draws the values of a parameter. JSON types other than string are written as
// they stand in the request, but for booleans.
type paramKind struct {
	types []string // of JSON; a tool has one of them
	enum  []string
	one   func(d *dice, typ string) string
}

func strs(one func(*dice) string) paramKind {
	return paramKind{types: []string{"string"}, one: func(d *dice, _ string) string { return one(d) }}
}

var (
	numberParam = paramKind{types: []string{"number", "integer"}, one: numeral}
	countParam  = paramKind{types: []string{"integer"}, one: func(d *dice, _ string) string { return strconv.Itoa(2 + d.n(pick(d, []int{8, 98, 500}))) }}
	switchParam = paramKind{types: []string{"boolean"}, one: func(d *dice, _ string) string { return pick(d, []string{"on", "off"}) }}
	levelParam  = paramKind{types: []string{"string"}, enum: []string{"low", "medium", "high"}}
	unitParam   = paramKind{types: []string{"string"}, enum: []string{"celsius", "fahrenheit"}}
)

var toolKinds = []toolKind{
	{"weather", []paramKind{strs(toolPlace), unitParam}, true, toolWeather},
	{"weather", []paramKind{strs(toolPlace)}, true, toolWeather},
	{"add", []paramKind{numberParam, numberParam}, false, toolFigure},
	{"multiply", []paramKind{numberParam, numberParam}, false, toolFigure},
	{"subtract", []paramKind{numberParam, numberParam}, false, toolFigure},
	{"divide", []paramKind{numberParam, numberParam}, false, toolFigure},
	{"currency", []paramKind{numberParam, strs(currencyCode), strs(currencyCode)}, false, toolFigure},
	{"clock", []paramKind{strs(toolPlace)}, false, clockTime},
	{"search", []paramKind{strs(toolTopic)}, false, toolPhrase},
	{"reminder", []paramKind{strs(toolTask), strs(clockTime)}, true, toolState},
	{"email", []paramKind{strs(toolPerson), strs(toolMessage)}, false, toolState},
	{"light", []paramKind{strs(from(toolRooms)), switchParam}, false, toolState},
	{"timer", []paramKind{countParam}, false, toolState},
	{"translate", []paramKind{strs(toolMessage), strs(from(toolLanguages))}, false, toolPhrase},
	{"stock", []paramKind{strs(tickerName)}, false, toolFigure},
	{"music", []paramKind{strs(toolTitle)}, false, toolState},
	{"route", []paramKind{strs(toolPlace), strs(toolPlace)}, false, toolDistance},
	{"event", []paramKind{strs(topicName), strs(from(formDays))}, false, toolState},
	{"order", []paramKind{{types: []string{"string", "integer"}, one: orderNumber}}, false, toolState},
	{"user", []paramKind{strs(toolPerson)}, false, toolPhrase},
	{"hotel", []paramKind{strs(toolPlace), countParam}, true, toolState},
	{"heat", []paramKind{{types: []string{"number", "integer"}, one: numeral}}, false, toolState},
	{"file", []paramKind{strs(fileName)}, false, toolPhrase},
	{"joke", nil, false, toolPhrase},
	{"calculate", []paramKind{strs(expression)}, false, toolFigure},
	{"letter", []paramKind{strs(toolPerson), strs(toolTopic), strs(toolMessage)}, false, toolState},
	{"horoscope", []paramKind{strs(from(toolSigns))}, false, toolPhrase},
	{"random", []paramKind{countParam, countParam}, false, toolFigure},
	{"rate", []paramKind{strs(currencyCode), strs(currencyCode)}, false, toolFigure},
	{"task", []paramKind{strs(toolTask), levelParam}, true, toolState},
	{"odd", []paramKind{strs(toolWord), countParam}, true, toolState},
	{"odd", []paramKind{strs(toolWord)}, true, toolState},
}

// alike are kinds whose requests more than one tool could answer.
var alike = [][]string{{"calculate", "add", "multiply", "subtract", "divide"}, {"letter", "email"}, {"rate", "currency"}}

// oddRule is the kind whose names and descriptions are composed for each chat; it is drawn
// as often as oddShare others.
const (
	oddRule  = "odd"
	oddShare = 4
)

// numeral draws a number of the type of JSON.
func numeral(d *dice, typ string) string {
	text := strconv.Itoa(d.n(pick(d, []int{10, 100, 100, 1000, 100_000})))
	if typ == "number" && d.chance(35) {
		text += "." + strconv.Itoa(1+d.n(9))
		if d.chance(40) {
			text += strconv.Itoa(1 + d.n(9))
		}
	}
	if d.chance(6) && text != "0" {
		text = "-" + text
	}
	return text
}

func orderNumber(d *dice, typ string) string {
	if typ == "integer" || d.chance(40) {
		return strconv.Itoa(100 + d.n(99_900))
	}
	return string(rune('A'+d.n(26))) + pick(d, []string{"", "-", "B", "X-"}) + strconv.Itoa(10+d.n(9990))
}

// toolPlace draws a place, a third of them real, some with letters of Latin-1.
func toolPlace(d *dice) string {
	switch d.n(10) {
	case 0, 1, 2:
		return pick(d, toolCities)
	case 3, 4:
		return placeName(d)
	case 5:
		return syllables(d, 1) + ", " + pick(d, toolStates)
	}
	return accented(d, syllables(d, 3))
}

func toolPerson(d *dice) string {
	switch d.n(5) {
	case 0:
		return strings.ToLower(personName(d)) + "@" + strings.ToLower(syllables(d, 2)) + pick(d, []string{".com", ".org", ".net", ".de", ".no"})
	case 1:
		return personName(d) + " " + syllables(d, 2)
	}
	return accented(d, personName(d))
}

// accented replaces a letter of some names by one of Latin-1.
func accented(d *dice, name string) string {
	if !d.chance(12) {
		return name
	}
	at := 1 + d.n(len(name)-1)
	return name[:at] + string([]rune("àáâäåæçèéêëíîïñóôöøúûüÉÖØÅ")[d.n(26)]) + name[at+1:]
}

func toolWord(d *dice) string {
	switch d.n(4) {
	case 0:
		return roomName(d)
	case 1:
		return strings.ToLower(syllables(d, 2))
	case 2:
		return orderNumber(d, "string")
	}
	return syllables(d, 2)
}

// toolTask draws what somebody does, of two to eight words.
func toolTask(d *dice) string {
	text := pick(d, taskVerbs) + " " + toolNoun(d)
	for range d.weighted([]int{45, 35, 20}) {
		text += " " + pick(d, taskPrepositions) + " " + toolNoun(d)
	}
	return text
}

// toolNoun draws a noun with what stands before it, one in four made up.
func toolNoun(d *dice) string {
	text := pick(d, []string{"", "the ", "a ", "my ", "our ", "his ", "her ", "two ", "some "})
	if d.chance(25) {
		text += pick(d, taskAdjectives) + " "
	}
	switch d.n(8) {
	case 0:
		return personName(d)
	case 1, 2:
		return text + strings.ToLower(syllables(d, 2))
	case 3:
		return text + pick(d, formGoods)
	case 4:
		return text + pick(d, topicThings)
	}
	return text + pick(d, taskNouns)
}

// toolMessage draws what somebody writes: a task or a sentence.
func toolMessage(d *dice) string {
	switch d.n(4) {
	case 0:
		return pick(d, []string{"I will ", "we will ", "please ", "you can ", "I cannot ", "do not "}) + toolTask(d)
	case 1:
		return pick(d, []string{"I will be ", "we are ", "it is ", "that is ", "the " + pick(d, taskNouns) + " is "}) + pick(d, taskAdjectives)
	case 2:
		return pick(d, []string{"see you ", "we meet ", "I come ", "dinner is ", "the train leaves "}) + pick(d, []string{"at ", "after ", "before "}) + clockTime(d)
	}
	return toolTask(d)
}

func toolTopic(d *dice) string {
	switch d.n(5) {
	case 0:
		return syllables(d, 3)
	case 1:
		return topicName(d) + " " + strings.ToLower(syllables(d, 2))
	case 2:
		return pick(d, formGoods) + " in " + toolPlace(d)
	case 3:
		return toolNoun(d)
	}
	return pick(d, taskAdjectives) + " " + pick(d, taskNouns)
}

func toolTitle(d *dice) string {
	switch d.n(3) {
	case 0:
		return capitalised(topicName(d))
	case 1:
		return capitalised(pick(d, taskAdjectives)) + " " + capitalised(pick(d, taskNouns))
	}
	return syllables(d, 2) + " " + syllables(d, 2)
}

// expression draws a sum or product of two to four numbers.
func expression(d *dice) string {
	space := pick(d, []string{"", " "})
	text := numeral(d, "integer")
	for range 1 + d.n(3) {
		text += space + pick(d, []string{"+", "-", "*", "/"}) + space + numeral(d, "number")
	}
	if d.chance(15) {
		text = "(" + text + ")" + space + "*" + space + numeral(d, "integer")
	}
	return text
}

func currencyCode(d *dice) string {
	if d.chance(60) {
		return pick(d, toolCurrencies)
	}
	return strings.ToUpper(letters(d, 3))
}

func tickerName(d *dice) string {
	switch d.n(3) {
	case 0:
		return syllables(d, 2)
	case 1:
		return pick(d, toolShares)
	}
	return strings.ToUpper(letters(d, 2+d.n(3)))
}

func letters(d *dice, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + d.n(26))
	}
	return string(b)
}

func fileName(d *dice) string {
	name := strings.ToLower(syllables(d, 2)) + pick(d, []string{".txt", ".md", ".go", ".json", ".csv"})
	if d.chance(40) {
		name = pick(d, []string{"/tmp/", "docs/", "src/", "./"}) + name
	}
	return name
}

func clockTime(d *dice) string {
	switch d.n(3) {
	case 0:
		return strconv.Itoa(1+d.n(12)) + pick(d, []string{" am", " pm", "am", "pm"})
	case 1:
		return pick(d, []string{"noon", "midnight", "six", "nine"})
	}
	return fmt.Sprintf("%d:%02d", d.n(24), d.n(60))
}

func toolWeather(d *dice) string {
	return pick(d, []string{"", "", pick(d, toolSkies) + ", "}) + temperature(d) + pick(d, []string{" degrees", "°C", " C", "°F"})
}

func toolFigure(d *dice) string { return numeral(d, "number") }
func toolDistance(d *dice) string {
	return strconv.Itoa(2+d.n(900)) + pick(d, []string{" km", " miles"})
}
func toolState(d *dice) string { return pick(d, toolStatesOf) }

func toolPhrase(d *dice) string {
	text := syllables(d, 2)
	for range d.n(4) {
		text += " " + strings.ToLower(pick(d, []string{syllables(d, 2), pick(d, formGoods), pick(d, topicThings)}))
	}
	return text
}

var (
	taskVerbs = strings.Fields(`call buy pay visit finish write read cook clean send bring fetch find repair water feed wash
		book order return cancel check print sign plan start stop watch learn sell paint build carry collect deliver
		prepare review update walk meet ask invite thank pick pack open close move mail test taste hang fold cut`)
	taskNouns = strings.Fields(`mother father mom dad doctor dentist boss friend neighbour team teacher meeting report milk bread
		dog cat car bike homework rent bill bank flight train coffee tea lunch dinner party birthday gift book letter
		phone laptop printer key door window kitchen garden house office school station hotel ticket passport photo
		song film game list plan budget contract invoice presentation slides project paper exam course recipe cake soup
		pizza salad apple plant flower tree lawn roof lamp chair table sofa bed shirt shoes coat umbrella bag box parcel
		package medicine vitamins gym run walk yoga piano guitar violin class garage tyres engine oil tank boat tent map
		weather news server database backup website password email calendar alarm heating battery charger camera`)
	taskAdjectives = strings.Fields(`old new late early red blue green big small long short hot cold warm ready busy free happy sad
		good great bad nice cheap dear loud quiet weekly monthly daily final first second next last important urgent
		open closed broken clean dirty full empty heavy light dark bright sick well tired`)
	taskPrepositions = strings.Fields(`for with from to in at on about after before under near and behind without`)
	toolRooms        = strings.Fields(`kitchen hall bedroom office garage bathroom attic cellar garden studio library workshop
		nursery pantry lobby corridor balcony stable`)
	toolLanguages = strings.Fields(`French German Spanish Italian Norwegian Danish Swedish Dutch Polish Czech Greek Turkish
		Japanese Korean Chinese Arabic Hindi Finnish Irish Welsh Latin Portuguese`)
	toolCurrencies = strings.Fields(`USD EUR GBP JPY CHF NOK SEK DKK CAD AUD PLN CZK INR CNY BRL MXN dollars euros pounds yen`)
	toolShares     = strings.Fields(`AAPL MSFT GOOG AMZN NVDA TSLA IBM Apple Google Amazon Microsoft`)
	toolSigns      = strings.Fields(`Aries Taurus Gemini Cancer Leo Virgo Libra Scorpio Sagittarius Capricorn Aquarius Pisces`)
	toolSkies      = strings.Fields(`sunny cloudy rain snow fog windy clear`)
	toolStates     = strings.Fields(`CA NY TX WA France Germany Norway Italy`)
	toolStatesOf   = strings.Fields(`ok done sent set planned booked shipped open late ready saved full 42 true`)
	toolCities     = strings.Split(`Oslo,Paris,London,Berlin,Rome,Madrid,Tokyo,Bern,Vienna,Prague,Boston,Chicago,San Francisco,`+
		`New York,Los Angeles,Lisbon,Dublin,Munich,Zürich,Köln,Málaga,Malmö,Tromsø,Seoul,Delhi,Cairo,Lima,Quito,Nairobi,Sydney`, ",")
)
