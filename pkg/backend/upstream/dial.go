package upstream

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// NewClient returns a client for endpoints. It follows no redirect, so that no key and no text
// reaches a host that no record names. Unless private, it connects to public addresses only:
// in a cloud, others lead into the network of its owner. The address is checked when it is
// dialled, so that a name cannot change its address in between.
func NewClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}
	if private {
		t.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.ControlContext = public
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// public refuses addresses that are not of the public internet.
func public(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !isPublic(at.Addr().Unmap()) {
		return fmt.Errorf(`the address of the endpoint is not public: "private" in the record allows it`)
	}
	return nil
}

// special are the blocks that the public internet does not route, beyond those that netip
// knows.
//
// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("fec0::/10"),
}

// nat64 are the addresses by which networks of IPv6 alone, and with them functions in such a
// VPC, reach those of IPv4, which are their last four bytes.
//
// Source: RFC 6052, 2.1.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func isPublic(ip netip.Addr) bool {
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, block := range special {
		if block.Contains(ip) {
			return false
		}
	}
	return true
}
