//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
)

// A door is the policy of the API's resources, if it has one.
type door struct {
	statements []Statement
	private    bool // only VPC endpoints lead to it, and there are none here
}

func newDoor(api *Resource) (door, error) {
	d := door{private: fmt.Sprint(api.List("EndpointConfiguration", "Types")) == "[PRIVATE]"}
	if api.Get("Policy") == nil {
		return d, nil
	}
	var err error
	if d.statements, err = ParsePolicy(api.Get("Policy")); err != nil {
		err = fmt.Errorf("the API's policy: %w", err)
	}
	return d, err
}

// opens reports whether a request reaches the API's methods.
//
// Source: API Gateway Developer Guide, "How API Gateway resource policies affect authorization
// workflow": without other authorisation a policy must allow a request; with it, none may deny
// it.
func (d door) opens(r *http.Request, stage, authorisation string) bool {
	if d.private {
		return false
	}
	if d.statements == nil {
		return true
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	allowed, by := Decide(d.statements, Access{
		Action: "execute-api:Invoke", Resource: "execute-api:/" + stage + "/" + r.Method + r.URL.Path,
		Context: map[string][]string{"aws:SourceIp": {host}},
	})
	return allowed || by == nil && authorisation != "NONE"
}
