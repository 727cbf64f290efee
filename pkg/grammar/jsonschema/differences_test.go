package jsonschema

import "testing"

// TestDifferences lists the possible differences between a program and a validator, each
// with its reason. Texts in "in" are valid in the reading that the reason names; another
// reading refuses the texts in "out".
func TestDifferences(t *testing.T) {
	for _, d := range []struct {
		reason  string
		example example
	}{
		{"multipleOf is exact, as the specification has it. Python's jsonschema divides floats: for it 0.07/0.01 is 7.000000000000001, and 0.07 is not a multiple.",
			example{`{"type":"number","multipleOf":0.01}`, `0.07 1.13 -2.5 3`, `0.075 1e-3`}},
		{"Python's re reads \\d, \\w, \\s and their opposites in all of Unicode, ECMA-262 in ASCII but for \\s. Only what matches in both readings is accepted.",
			example{`{"type":"string","pattern":"^\\W\\D\\S$"}`, `"-ab"`, `"é-x" "-৪x" "-a\ufeff"`}},
		{"The dot of Python's re matches all but the line feed, that of ECMA-262 no other line terminator either. Only what matches in both readings is accepted.",
			example{`{"type":"string","pattern":"^.$"}`, `"a"`, `"\r" "\n"`}},
		{"$ of Python's re matches before a last line feed too. What must not match does not match in any reading.",
			example{`{"type":"string","not":{"pattern":"^a$"}}`, `"b" "a\n\n"`, `"a" "a\n"`}},
		{"The hostnames of RFC 1123 without labels that begin like an A-label of RFC 5891: whether those are valid depends on tables of Unicode.",
			example{`{"type":"string","format":"hostname"}`, `"example.com" "1.2.3.4"`, `"xn--9n2bp8q" "a_b" "example."`}},
	} {
		t.Run(d.reason, func(t *testing.T) { try(t, []example{d.example}) })
	}
}
