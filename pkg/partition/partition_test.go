package partition

import (
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "aws", "eu-central-2": "aws", "xx-new-9": "aws", "": "aws", "us-gov-west-1": "aws-us-gov", "cn-northwest-1": "aws-cn",
		"eusc-de-east-1": "aws-eusc", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f",
	} {
		if got := Of(region); got.Name != want {
			t.Errorf("%s: %+v, want %s", region, got, want)
		}
	}
}

// No partition hides another, and each has its domains.
func TestAll(t *testing.T) {
	var names []string
	for _, p := range all() {
		if got := Of(p.Regions + "east-1"); got != p || p.HostDomain(false) != p.Domain || p.HostDomain(true) != p.DualDomain || p.Domain == "" || p.DualDomain == "" {
			t.Errorf("%+v: %+v", p, got)
		}
		names = append(names, p.Name)
	}
	if slices.Sort(names); len(slices.Compact(names)) != 8 {
		t.Errorf("%v", names)
	}
}
