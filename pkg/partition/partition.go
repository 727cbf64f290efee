// Package partition is the table of AWS's partitions: parts of AWS that have their own
// regions, accounts and domains. It refuses to know services, whose hosts their clients
// build from a partition's domains.
//
// Source: the partitions of AWS's endpoint rules (partitions.json), against which the tests
// of the clients hold this table.
package partition

import "strings"

// A Partition has regions and domains of its own.
type Partition struct {
	Name       string // as ARNs have it
	Regions    string // prefix of the names of its regions; "": those of no other partition
	Domain     string
	DualDomain string // of dual-stack hosts, which IPv6 reaches too
}

// all lists the partitions; the first has the regions that no other one has.
func all() []Partition {
	return []Partition{
		{"aws", "", "amazonaws.com", "api.aws"},
		{"aws-us-gov", "us-gov-", "amazonaws.com", "api.aws"},
		{"aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
		{"aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
		{"aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
		{"aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
		{"aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
		{"aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	}
}

// Of returns the partition of a region.
func Of(region string) Partition {
	list := all()
	for _, p := range list[1:] {
		if strings.HasPrefix(region, p.Regions) {
			return p
		}
	}
	return list[0]
}

// HostDomain returns the domain of hosts, dual-stack or not.
func (p Partition) HostDomain(dual bool) string {
	if dual {
		return p.DualDomain
	}
	return p.Domain
}
