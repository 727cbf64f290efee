package automaton

import (
	"fmt"
	"sync"
)

// Format returns the automaton of the JSON strings in canonical form that have a format
// of JSON Schema. It returns the same one for each call with a name, and false if the
// format is only an annotation.
func Format(name string) (*DFA, bool) {
	f, ok := formats[name]
	if !ok {
		return nil, false
	}
	return f(), true
}

var formats = map[string]func() *DFA{
	"date":      format(date),
	"time":      format(clock),
	"date-time": format(date + `[Tt]` + clock),
	"uuid":      format(uuid),
	"ipv4":      format(ipv4),
	"ipv6":      format(ipv6),
	"email":     addresses,
	"uri":       format(uri),
	"hostname":  format(`(?:` + host + `(?:\.` + host + `)*)`),
	"duration":  format(duration),

	"uri-reference":         format(`(?:` + uri + `|` + relative + `)`),
	"uri-template":          format(template6570),
	"json-pointer":          format(pointer),
	"relative-json-pointer": format(`(?:0|[1-9]\d*)(?:#|` + pointer + `)`),
}

// Format is the function [Format], whose durations and times of day end if l is [Generating]: they
// have no more digits in a row than l.Integer.
func (l Limits) Format(name string) (*DFA, bool) {
	if f, ok := generatedFormats[name]; ok && l == Generating() {
		return f(), true
	}
	return Format(name)
}

var generatedFormats = map[string]func() *DFA{"duration": shortRuns("duration"), "time": shortRuns("time"), "date-time": shortRuns("date-time")}

func shortRuns(format string) func() *DFA {
	return sync.OnceValue(func() *DFA {
		runs := must(Pattern(fmt.Sprintf(`^(?:\d{0,%d}\D)*$`, Generating().Integer)))
		return must(Intersect(formats[format](), runs))
	})
}

// LooseFormat returns the automaton of the strings that may have a format: any validator
// rejects all others. It equals that of [Format] except for hostname, where Format excludes
// the labels that RFC 5891 reserves, and for email, where Format excludes quoted pairs, as
// validators do.
func LooseFormat(name string) (*DFA, bool) {
	switch name {
	case "hostname":
		return looseHosts(), true
	case "email":
		return looseAddresses(), true
	}
	return Format(name)
}

var looseHosts = format(`(?:` + label + `(?:\.` + label + `)*\.?)`)

func format(pattern string) func() *DFA {
	return sync.OnceValue(func() *DFA { return must(Pattern("^" + pattern + "$")) })
}

// addresses are the email addresses whose local part has at most the length of RFC 5321,
// section 4.5.3.1.1. Only a quoted local part may contain an @.
var addresses = sync.OnceValue(func() *DFA {
	return must(Intersect(must(Pattern("^"+email+"$")), must(Pattern(`^[^\\]{1,64}@[^@"]*$`))))
})

var looseAddresses = sync.OnceValue(func() *DFA {
	return must(Intersect(must(Pattern("^"+email+"$")), must(Pattern(`^.{1,64}@[^@"]*$`))))
})

// Longest returns the most characters of a text of a format, or -1 if there is no bound:
// an email has 254 (RFC 5321, section 4.5.3.1.3, less its brackets), a hostname 253
// (RFC 1035, section 2.3.4, as text).
func Longest(format string) int {
	switch format {
	case "email":
		return 254
	case "hostname":
		return 253
	}
	return -1
}

// RFC 3339, section 5.6, with the lengths of months and leap years of its appendix C. A
// leap second ends a day of UTC. The text alone shows this only if the local time is UTC,
// so other leap seconds are excluded.
const (
	date = `(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))` +
		`|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)`
	clock = `(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)` +
		`|23:59:60(?:\.\d+)?(?:[Zz]|[+-]00:00))`
)

// RFC 9562, section 4, of any version.
const uuid = xdigit + `{8}(?:-` + xdigit + `{4}){3}-` + xdigit + `{12}`

// RFC 3986, section 3.2.2 (of RFC 4291, section 2.2) and, for uri, appendix A.
const (
	xdigit = `[0-9A-Fa-f]`
	octet  = `(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	ipv4   = `(?:` + octet + `(?:\.` + octet + `){3})`
	h16    = `(?:` + xdigit + `{1,4})`
	colons = `(?:` + h16 + `:)`
	last32 = `(?:` + colons + h16 + `|` + ipv4 + `)`
	ipv6   = `(?:` + colons + `{6}` + last32 +
		`|::` + colons + `{5}` + last32 +
		`|` + h16 + `?::` + colons + `{4}` + last32 +
		`|(?:` + colons + `{0,1}` + h16 + `)?::` + colons + `{3}` + last32 +
		`|(?:` + colons + `{0,2}` + h16 + `)?::` + colons + `{2}` + last32 +
		`|(?:` + colons + `{0,3}` + h16 + `)?::` + colons + last32 +
		`|(?:` + colons + `{0,4}` + h16 + `)?::` + last32 +
		`|(?:` + colons + `{0,5}` + h16 + `)?::` + h16 +
		`|(?:` + colons + `{0,6}` + h16 + `)?::)`

	plain     = `A-Za-z0-9._~!$&'()*+,;=\-` // unreserved and sub-delims
	percent   = `|%` + xdigit + `{2})`
	name      = `(?:[` + plain + `]` + percent + `*`
	pchar     = `(?:[` + plain + `:@]` + percent
	query     = `(?:[` + plain + `:@/?]` + percent + `*`
	authority = `(?:(?:[` + plain + `:]` + percent + `*@)?(?:\[(?:` + ipv6 + `|[Vv]` + xdigit + `+\.[` + plain + `:]+)\]|` + name + `)(?::\d*)?`
	segments  = `(?:/` + pchar + `*)*`
	uri       = `[A-Za-z][A-Za-z0-9+.\-]*:(?://` + authority + segments + `|/(?:` + pchar + `+` + segments + `)?|` +
		pchar + `+` + segments + `|)` + after
	after    = `(?:\?` + query + `)?(?:#` + query + `)?`
	relative = `(?://` + authority + segments + `|/(?:` + pchar + `+` + segments + `)?|` +
		`(?:[` + plain + `@]` + percent + `+` + segments + `|)` + after
)

// RFC 1123, section 2.1, of labels whose third and fourth character are not both hyphens
// (RFC 5890, section 2.3.1).
const host = `(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]{0,1}[A-Za-z0-9]` +
	`|[A-Za-z0-9][A-Za-z0-9\-](?:[A-Za-z0-9][A-Za-z0-9\-]|-[A-Za-z0-9])[A-Za-z0-9\-]{0,58}[A-Za-z0-9]` +
	`|[A-Za-z0-9][A-Za-z0-9\-][A-Za-z0-9\-][A-Za-z0-9])`

// RFC 3339, appendix A.
const (
	clockPart = `T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`
	duration  = `P(?:(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)(?:` + clockPart + `)?|` + clockPart + `|\d+W)`
)

// RFC 6901, section 3; the relative ones are draft-bhutton-relative-json-pointer-00.
const pointer = `(?:/(?:[^~/]|~[01])*)*`

// RFC 6570, section 2; a literal may be any character that it does not exclude.
const (
	varname      = `(?:[A-Za-z0-9_]|%` + xdigit + `{2})(?:\.?(?:[A-Za-z0-9_]|%` + xdigit + `{2}))*`
	varspec      = varname + `(?::[1-9]\d{0,3}|\*)?`
	template6570 = `(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~\u{A0}-\u{D7FF}\u{E000}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}]|%` + xdigit + `{2}` +
		`|\{[+#./;?&]?` + varspec + `(?:,` + varspec + `)*\})*`
)

// RFC 5321, section 4.1.2, without the bounds on lengths of section 4.5.3.1.
const (
	atom  = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+"
	label = `[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?` // RFC 1035, section 2.3.4
	email = `(?:` + atom + `(?:\.` + atom + `)*|"(?:[ !#-\[\]-~]|\\[ -~])*")` +
		`@(?:` + label + `(?:\.` + label + `)*|\[(?:` + ipv4 + `|IPv6:` + ipv6 + `)\])`
)
