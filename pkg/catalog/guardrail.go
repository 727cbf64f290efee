package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/schema"
)

// A Guardrail is one that Amazon Bedrock applies to the requests and answers of a model.
// The zero value is none.
type Guardrail struct {
	ID      string // or its ARN
	Version string // a number or DRAFT
	Trace   string // enabled or enabled_full: answers say what it found; "": they do not
}

// Source: the model of Bedrock Runtime in botocore, GuardrailIdentifier and
// GuardrailVersion.
var (
	guardrailID      = regexp.MustCompile(`^([a-z0-9]+|arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+)$`)
	guardrailVersion = regexp.MustCompile(`^([1-9][0-9]{0,7}|DRAFT)$`)
)

const maxGuardrail = 2048 // bytes of an id

// guardrailTraces are the values of trace. Source: the same, GuardrailTrace.
var guardrailTraces = []string{"enabled", "enabled_full"}

// readGuardrail reads the attribute guardrail, {id, version, trace}.
func (it *item) readGuardrail(family string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	if family != Bedrock {
		it.wrong("/guardrail", "only records of the family %s may have it", Bedrock)
		return
	}
	g := &it.guardrail
	for _, name := range it.members("/guardrail", inner(raw), map[string]any{"id": &g.ID, "version": &g.Version, "trace": &g.Trace}) {
		it.wrong("/guardrail"+schema.Pointer(name), "unknown name; known are id, version, trace")
	}
	if len(g.ID) > maxGuardrail || !guardrailID.MatchString(g.ID) {
		it.wrong("/guardrail/id", "it must be the id or the ARN of a guardrail, not %.80q", g.ID)
	}
	if !guardrailVersion.MatchString(g.Version) {
		it.wrong("/guardrail/version", "it must be a number or DRAFT, not %.80q", g.Version)
	}
	if g.Trace != "" && !slices.Contains(guardrailTraces, g.Trace) {
		it.wrong("/guardrail/trace", "it must be %s, not %.80q", strings.Join(guardrailTraces, " or "), g.Trace)
	}
}
