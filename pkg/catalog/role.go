package catalog

import (
	"regexp"
	"strings"

	"glossa/pkg/arn"
)

// A Role is a role of IAM whose credentials call a remote model, usually one of another account.
// The zero value is none: the server's own credentials call it.
type Role struct {
	ARN        string
	ExternalID string // which the other account's policy asks for; "": none
}

// Source: AWS Security Token Service API Reference, AssumeRole, ExternalId.
var externalID = regexp.MustCompile(`^[\w+=,.@:/-]+$`)

// maxRole is the length of the longest ARN of a role, in bytes (the same source, RoleArn).
const maxRole = 2048

// checkRole checks the attributes role and external_id.
func (it *item) checkRole(family string) {
	r := it.role
	if r == (Role{}) {
		return
	}
	if family != Bedrock && family != SageMaker {
		it.wrong("/role", "only records of the families %s and %s may have it", Bedrock, SageMaker)
		return
	}
	a, err := arn.Parse(r.ARN)
	switch {
	case err != nil:
		it.wrong("/role", "%v", err)
	case a.Service != "iam" || a.Region != "" || a.Account == "" || !strings.HasPrefix(a.Resource, "role/") || len(r.ARN) > maxRole:
		it.wrong("/role", "it must be the ARN of a role, such as arn:aws:iam::123456789012:role/glossa/models, not %.200q", r.ARN)
	}
	if n := len(r.ExternalID); n > 0 && (n < 2 || n > 1224 || !externalID.MatchString(r.ExternalID)) {
		it.wrong("/external_id", "it must have 2 to 1224 letters, digits and characters of +=,.@:/-")
	}
}
