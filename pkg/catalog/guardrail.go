package catalog

import (
	"encoding/json"
	"regexp"

	"glossa/pkg/schema"
)

// A Guardrail is one that Amazon Bedrock applies to the requests and answers of a model.
// The zero value is none.
type Guardrail struct {
	ID      string // or its ARN
	Version string // a number or DRAFT
}

// Source: the model of Bedrock Runtime in botocore, GuardrailIdentifier and
// GuardrailVersion.
var (
	guardrailID      = regexp.MustCompile(`^([a-z0-9]+|arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+)$`)
	guardrailVersion = regexp.MustCompile(`^([1-9][0-9]{0,7}|DRAFT)$`)
)

const maxGuardrail = 2048 // bytes of an id

// readGuardrail reads the attribute guardrail, {id, version}.
func (it *item) readGuardrail(family string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	if family != Bedrock {
		it.wrong("/guardrail", "only records of the family %s may have it", Bedrock)
		return
	}
	g := &it.guardrail
	for _, name := range it.members("/guardrail", inner(raw), map[string]any{"id": &g.ID, "version": &g.Version}) {
		it.wrong("/guardrail"+schema.Pointer(name), "unknown name; known are id, version")
	}
	if len(g.ID) > maxGuardrail || !guardrailID.MatchString(g.ID) {
		it.wrong("/guardrail/id", "it must be the id or the ARN of a guardrail, not %.80q", g.ID)
	}
	if !guardrailVersion.MatchString(g.Version) {
		it.wrong("/guardrail/version", "it must be a number or DRAFT, not %.80q", g.Version)
	}
}
