// Package arn parses Amazon Resource Names, whose parts become parts of hosts and paths: it
// rejects any part that could become more than one label. It refuses to know the resources
// of services.
//
// Sources: AWS Identity and Access Management User Guide, "Amazon Resource Names (ARNs)";
// RFC 1123, 2.1, for the labels of a host's name.
package arn

import (
	"fmt"
	"regexp"
	"strings"
)

// An ARN names a resource.
type ARN struct {
	Partition string // aws, aws-cn, aws-us-gov
	Service   string
	Region    string // "": the resource has none, or it is that of the caller
	Account   string // "": AWS itself
	Resource  string
}

var (
	label     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	partition = regexp.MustCompile(`^aws(-[a-z0-9]+)*$`)
	account   = regexp.MustCompile(`^[0-9]{0,12}$`)
	resource  = regexp.MustCompile(`^[!-~]+$`)
)

// Is reports whether a text looks like an ARN.
func Is(s string) bool { return strings.HasPrefix(s, "arn:") }

// Parse parses an ARN. The error names the invalid part.
func Parse(s string) (ARN, error) {
	parts := strings.SplitN(s, ":", 6)
	if !Is(s) || len(parts) < 6 {
		return ARN{}, fmt.Errorf("%.200q is not an ARN such as arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE", s)
	}
	a := ARN{Partition: parts[1], Service: parts[2], Region: parts[3], Account: parts[4], Resource: parts[5]}
	for _, part := range []struct {
		name, value string
		form        *regexp.Regexp
	}{{"partition", a.Partition, partition}, {"service", a.Service, label}, {"account", a.Account, account}, {"resource", a.Resource, resource}} {
		if !part.form.MatchString(part.value) {
			return ARN{}, fmt.Errorf("the %s of the ARN is invalid: %.200q", part.name, part.value)
		}
	}
	if a.Region == "" {
		return a, nil
	}
	return a, CheckRegion(a.Region)
}

// CheckRegion returns an error if a text cannot be the name of a region, which is a
// label of its host names.
func CheckRegion(name string) error {
	if !label.MatchString(name) {
		return fmt.Errorf("%.200q is not the name of a region such as us-east-1: use lower-case letters, digits and hyphens", name)
	}
	return nil
}
