package calls

import (
	"encoding/json"

	"glossa/pkg/grammar/pushdown"
)

// declaresAll reports whether a tool's schema lists parameters without a word on others. To a
// validator such a schema is open, but it was not written to allow them: functions fail on
// arguments that they do not know, and models invent some when they may.
func declaresAll(schema []byte) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil || s["properties"] == nil {
		return false
	}
	for _, key := range []string{"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames"} {
		if s[key] != nil {
			return false
		}
	}
	return true
}

// declared returns the rule of the objects of a rule that have declared members only. It
// returns the same rule if the schema requires others.
func (b *builder) declared(id pushdown.ID) pushdown.ID {
	o := *b.rules[id].Object
	if len(o.Extra) == 0 || len(o.Lead) > 0 || o.Min > len(o.Props) {
		return id
	}
	o.Extra = nil
	return b.rule(pushdown.Rule{Object: &o})
}
