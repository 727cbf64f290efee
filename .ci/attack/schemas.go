package main

import (
	"fmt"
	"strings"
	"time"
)

// A hard schema is expensive to compile.
type hard struct {
	name, about string
	// of returns the schema. Schemas of different seeds are equally hard and share no compiled
	// parts.
	of      func(seed int) string
	answers []string // allowed statuses
}

// Allowed statuses of hard schemas. Linear ones must compile, as the issue says.
var (
	compiles = []string{"200"}
	refuses  = []string{"400"}
	either   = []string{"200", "400"}
)

// goalsOfForm limits the compilation of a schema of at most 1 MB.
var goalsOfForm = goals{cpu: time.Second, grown: 256}

// hardSchemas lists them.
func hardSchemas() []hard {
	return []hard{
		{"constants-5000", "oneOf of 5,000 constants, 81 KB", constants(5000), compiles},
		{"constants-10000", "oneOf of 10,000 constants", constants(10_000), compiles},
		{"told-apart-10000", "oneOf of 10,000 objects distinguished by one member", toldApart(10_000), compiles},
		{"patterns-50", "50 properties of the pattern a.{10}b{i}x", patterns50, either},
		{"counters-50", "50 properties of the pattern a.{8}b{i}x", counters50, either},
		{"overlapping-6", "six patternProperties that overlap: a.{i}b", overlapping6, either},
		{"subsequences-6", "six patternProperties that overlap: a.*n, b.*o", subsequences6, either},
		{"branches-500", "anyOf of 500 patterns", branches500, either},
		{"exclusive-500", "oneOf of 500 patterns", exclusive500, either},
		{"exponential", "a pattern whose deterministic automaton has 2^24 states", pattern(`^(a|b)*a(a|b){24}c%d$`), either},
		{"repeated", "repeats of repeats: 10^9 letters", pattern(`^((x%d{1000}){1000}){1000}$`), either},
		{"intersection", "allOf of 12 patterns that count independently", intersection, either},
		{"deep", "9,000 schemas, each within the other", deep, either},
		{"doubling", "40 definitions, each of which names the next twice", doubling, either},
		{"min-items", "an array of 2^31 items", schema(`{"title": "%d", "type": "array", "items": {"type": "integer"}, "minItems": 2147483648}`), refuses},
		{"min-length", "a string of 2^53 characters", schema(`{"title": "%d", "type": "string", "minLength": 9007199254740992}`), refuses},
		{"enumeration", "an enumeration of 20,000 strings of 40 characters", enumeration, either},
		{"wide", "10,000 properties, all of them required", wide, refuses},
		{"choices", "allOf of 24 choices of two, 2^24 ways", choices, either},
		{"unique", "an array of 60 unique items of 1,000", unique, either},
		{"negations", "not of 300 patterns", negations, either},
		{"dependents", "60 properties, each of which requires another", dependents, either},
		{"references", "20,000 references in a ring", references, either},
	}
}

// schema returns a schema with the seed inserted once.
func schema(format string) func(int) string {
	return func(seed int) string { return fmt.Sprintf(format, seed) }
}

// pattern returns a schema of a string with a pattern.
func pattern(format string) func(int) string {
	return func(seed int) string {
		return fmt.Sprintf(`{"type": "string", "pattern": %q}`, fmt.Sprintf(format, seed))
	}
}

// list joins n texts with commas.
func list(n int, one func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one(i))
	}
	return b.String()
}

func constants(n int) func(int) string {
	return func(seed int) string {
		return `{"oneOf":[` + list(n, func(i int) string { return fmt.Sprintf(`{"const":"%x"}`, seed*n+i) }) + `]}`
	}
}

func toldApart(n int) func(int) string {
	return func(seed int) string {
		return `{"oneOf":[` + list(n, func(i int) string {
			return fmt.Sprintf(`{"type":"object","properties":{"k":{"const":"%x"}},"required":["k"],"additionalProperties":false}`, seed*n+i)
		}) + `]}`
	}
}

func patterns50(seed int) string {
	return `{"type":"object","properties":{` + list(50, func(i int) string {
		return fmt.Sprintf(`"p%d":{"type":"string","pattern":"a.{10}b%dx%d"}`, i, i, seed)
	}) + `}}`
}

func counters50(seed int) string {
	return `{"type":"object","properties":{` + list(50, func(i int) string {
		return fmt.Sprintf(`"p%d":{"type":"string","pattern":"a.{8}b%dx%d"}`, i, i, seed)
	}) + `}}`
}

func overlapping6(seed int) string {
	return `{"type":"object","patternProperties":{` + list(6, func(i int) string {
		return fmt.Sprintf(`"a.{%d}b%d":{"type":"integer"}`, 3+i, seed)
	}) + `}}`
}

func subsequences6(seed int) string {
	return `{"type":"object","patternProperties":{` + list(6, func(i int) string {
		return fmt.Sprintf(`"%c.*%c":{"type":"integer","minimum":%d}`, 'a'+i, 'n'+i, seed+i)
	}) + `}}`
}

func branches500(seed int) string {
	return `{"anyOf":[` + list(500, func(i int) string {
		return fmt.Sprintf(`{"type":"string","pattern":"a.{10}b%dx%d"}`, i, seed)
	}) + `]}`
}

func exclusive500(seed int) string {
	return `{"oneOf":[` + list(500, func(i int) string {
		return fmt.Sprintf(`{"type":"string","pattern":"^a%d.*b%d$"}`, i, seed)
	}) + `]}`
}

func intersection(seed int) string {
	return `{"type":"string","allOf":[` + list(12, func(i int) string {
		return fmt.Sprintf(`{"pattern":"%c.{%d}%d"}`, 'a'+i, 5+i, seed)
	}) + `]}`
}

func deep(seed int) string {
	const n = 9000 // encoding/json reads 10,000 levels
	return strings.Repeat(`{"items":`, n) + fmt.Sprintf(`{"const":%d}`, seed) + strings.Repeat("}", n)
}

func doubling(seed int) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + list(40, func(i int) string {
		return fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}},"required":["l","r"],"additionalProperties":false}`, i, i+1, i+1)
	}) + fmt.Sprintf(`,"d40":{"const":%d}}}`, seed)
}

func enumeration(seed int) string {
	return `{"enum":[` + list(20_000, func(i int) string { return fmt.Sprintf(`"%032x%08x"`, seed, i*2654435761%(1<<32)) }) + `]}`
}

func wide(seed int) string {
	const n = 10_000
	name := func(i int) string { return fmt.Sprintf(`"p%d_%d"`, seed, i) }
	return `{"type":"object","properties":{` + list(n, func(i int) string { return name(i) + `:{"type":"string"}` }) +
		`},"required":[` + list(n, name) + `],"additionalProperties":false}`
}

func choices(seed int) string {
	return `{"type":"object","allOf":[` + list(24, func(i int) string {
		return fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"properties":{"b%d":{"minimum":%d}},"required":["b%d"]}]}`, i, i, seed, i)
	}) + `]}`
}

func unique(seed int) string {
	return `{"type":"array","uniqueItems":true,"minItems":60,"maxItems":60,"items":{"enum":[` +
		list(1000, func(i int) string { return fmt.Sprint(seed*1000 + i) }) + `]}}`
}

func negations(seed int) string {
	return `{"type":"string","not":{"anyOf":[` + list(300, func(i int) string {
		return fmt.Sprintf(`{"pattern":"a.{6}%d_%d"}`, seed, i)
	}) + `]}}`
}

func dependents(seed int) string {
	return fmt.Sprintf(`{"title":"%d","type":"object","properties":{`, seed) +
		list(60, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer"}`, i) }) + `},"dependentRequired":{` +
		list(60, func(i int) string { return fmt.Sprintf(`"p%d":["p%d"]`, i, (i*7+1)%60) }) + `}}`
}

func references(seed int) string {
	const n = 20_000
	return fmt.Sprintf(`{"title":"%d","$ref":"#/$defs/0","$defs":{`, seed) +
		list(n, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, (i+1)%n) }) + `}}`
}
