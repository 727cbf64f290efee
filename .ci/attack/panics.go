package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// A checkedSchema checks that the server's answer or rejection is correct.
type checkedSchema struct {
	name, about, schema string
	answers             []string
	never               string                 // must not be in a rejection
	right               func(text string) bool // checks an answer, a string; nil: any
}

// noEnd was the wrong text of rejections of schemas that no fitting text matches: it says
// that no text at all matches.
const noEnd = "no end after"

// Approximate patterns of the formats. Source: RFC 1123, 2.1, and RFC 2673, 3.2.
var (
	hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	ipv4     = regexp.MustCompile(`^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$`)
)

// textOf returns the string that a chat has answered, "" if the answer is not a string.
func textOf(a answer) (text string) {
	var chat struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if json.Unmarshal([]byte(a.body), &chat) == nil && len(chat.Choices) > 0 {
		_ = json.Unmarshal([]byte(chat.Choices[0].Message.Content), &text) // not a string: "" is checked and fails
	}
	return text
}

// panicAttacks send schemas that the server once answered with 500 or incorrectly (point 4),
// twice each, because compiled schemas and errors are cached.
func panicAttacks() []attack {
	var list []attack
	for _, t := range []checkedSchema{
		{"min-length", "a pattern, and more characters than its automaton can count", `{"type":"string","pattern":"ab.*cd","minLength":30000}`, either, "", nil},
		{"all-of", "three patterns that count independently", `{"type":"string","allOf":[{"pattern":"a.{9}x"},{"pattern":"b.{9}y"},{"pattern":"c.{9}z"}]}`, either, "", nil},
		{"in-array", "the same within an array", `{"type":"array","items":{"type":"string","allOf":[{"pattern":"a.{9}x"},{"pattern":"b.{9}y"},{"pattern":"c.{9}z"}]}}`, either, "", nil},
		{"not", "not of 300 patterns", negations(0), either, "", nil},
		{"two-names", "two properties of a pattern's two names", `{"type":"object","patternProperties":{"^[ab]$":true},"additionalProperties":false,"minProperties":2}`, compiles, "", nil},
		{"min-items", "an array of 2^31 items", `{"type":"array","items":{"type":"integer"},"minItems":2147483648}`, refuses, noEnd, nil},
		{"long", "a string of 2^53 characters", `{"type":"string","minLength":9007199254740992}`, refuses, noEnd, nil},
		{"doubling", "definitions that name the next twice", doubling(0), refuses, noEnd, nil},
		{"format-one-of", "two formats, of which one may hold", `{"type":"string","oneOf":[{"format":"hostname"},{"format":"ipv4"}],"minLength":3}`, either, "",
			func(text string) bool { return hostname.MatchString(text) != ipv4.MatchString(text) && len(text) >= 3 }},
		{"format-not", "a format that must not hold", `{"type":"string","not":{"format":"hostname"}}`, either, "",
			func(text string) bool { return !hostname.MatchString(text) }},
		{"format-unknown", "two formats that are not asserted, of which one may hold", `{"type":"string","oneOf":[{"format":"idn-hostname"},{"format":"iri"}]}`, refuses, "", nil},
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
					if text := textOf(a); t.right != nil && a.status == 200 && !t.right(text) {
						s.fault("the schema does not allow %q", text)
					}
				}
			},
		})
	}
	return list
}
