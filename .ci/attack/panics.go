package main

import (
	"context"
	"strings"
	"time"
)

// A told schema is one of which the server must tell the truth.
type told struct {
	name, about, schema string
	answers             []string
	never               string // what no answer says
}

// Schemas that no text can meet that fits were refused with these words, which say that
// nothing meets them.
const noEnd = "no end after"

// panicAttacks send what the server has answered with 500, or with what is wrong (point 4):
// twice each, as a form that was compiled is kept, also one that could not be.
func panicAttacks() []attack {
	var list []attack
	for _, t := range []told{
		{"min-length", "a pattern, and more characters than its automaton can count", `{"type":"string","pattern":"ab.*cd","minLength":30000}`, either, ""},
		{"all-of", "three patterns that count apart", `{"type":"string","allOf":[{"pattern":"a.{9}x"},{"pattern":"b.{9}y"},{"pattern":"c.{9}z"}]}`, either, ""},
		{"in-array", "the same within an array", `{"type":"array","items":{"type":"string","allOf":[{"pattern":"a.{9}x"},{"pattern":"b.{9}y"},{"pattern":"c.{9}z"}]}}`, either, ""},
		{"not", "not of 300 patterns", negations(0), either, ""},
		{"two-names", "two properties of a pattern's two names", `{"type":"object","patternProperties":{"^[ab]$":true},"additionalProperties":false,"minProperties":2}`, compiles, ""},
		{"min-items", "an array of 2^31 items", `{"type":"array","items":{"type":"integer"},"minItems":2147483648}`, refuses, noEnd},
		{"long", "a string of 2^53 characters", `{"type":"string","minLength":9007199254740992}`, refuses, noEnd},
		{"doubling", "definitions that name the next twice", doubling(0), refuses, noEnd},
		{"format-one-of", "formats that nobody asserts, under oneOf", `{"type":"string","oneOf":[{"format":"hostname"},{"format":"ipv4"}],"minLength":3}`, refuses, ""},
		{"format-not", "a format that nobody asserts, under not", `{"type":"string","not":{"format":"hostname"}}`, refuses, ""},
	} {
		list = append(list, attack{
			name: "panics/" + t.name, about: t.about, alone: true, lasts: 10 * time.Second, goals: goals{only: t.answers},
			calls: repeat(2, func() call { return held(t.schema) }),
			run: func(ctx context.Context, s *scene) {
				for _, c := range s.calls {
					a := s.send(ctx, c)
					if t.never != "" && strings.Contains(a.body, t.never) {
						s.fault("the answer says %q, which is not so", t.never)
					}
				}
			},
		})
	}
	return list
}
