package plan

import (
	"net/netip"
	"regexp"
)

// endpointName matches the identifier of a VPC endpoint.
var endpointName = regexp.MustCompile(`^vpce-[0-9a-f]{8,17}$`)

// leastFirewall is the smallest limit of a rate rule (AWS WAF API Reference, RateBasedStatement).
const leastFirewall = 10

// entry reads who reaches the API. What limits the API would not limit the functions' own URLs,
// which anyone can call, so it needs that there are none.
func (p *parser) entry() Entry {
	d := Entry{URLs: p.isOn("urls"), CDN: p.isOn("cdn"), Allow: p.ranges(), Endpoints: p.endpoints(), Firewall: p.number("firewall", p.value("firewall"), 0, 2_000_000_000)}
	if d.Firewall > 0 && d.Firewall < leastFirewall {
		p.fail("firewall", "%d is less than %d", d.Firewall, leastFirewall)
	}
	for name, set := range map[string]bool{"allow": d.Allow != nil, "vpc-endpoints": d.Endpoints != nil, "firewall": d.Firewall > 0} {
		if set && d.URLs {
			p.fail(name, "the functions' own URLs would bypass it: add urls=off")
		}
	}
	if d.Allow != nil && d.Endpoints != nil {
		p.fail("allow", "a private API sees no public addresses: choose allow or vpc-endpoints")
	}
	return d
}

// ranges reads ranges of addresses.
func (p *parser) ranges() (list []string) {
	for _, v := range p.list("allow") {
		r, err := netip.ParsePrefix(v)
		switch {
		case err != nil:
			p.fail("allow", "%q is not a range of addresses such as 192.0.2.0/24", v)
		case r != r.Masked():
			p.fail("allow", "%s has bits beyond its prefix: %s", v, r.Masked())
		case r.Bits() == 0:
			p.fail("allow", "%s is every address", v)
		}
		list = append(list, r.String())
	}
	return list
}

// endpoints reads identifiers of VPC endpoints.
func (p *parser) endpoints() []string {
	list := p.list("vpc-endpoints")
	for _, v := range list {
		if !endpointName.MatchString(v) {
			p.fail("vpc-endpoints", "%q does not match %s", v, endpointName)
		}
	}
	return list
}
