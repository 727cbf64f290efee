package upstream

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "::ffff:10.1.2.3": false,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.64.0.1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false,
		"224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "64:ff9b::a00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::808:808": true, "::a9fe:a9fe": false, "fec0::1": false, "2001::1": false, "2002:a00:1::": false,
	} {
		if got := isPublic(netip.MustParseAddr(ip).Unmap()); got != want {
			t.Errorf("%s: %v", ip, got)
		}
	}
}

// TestPublicClient: what a name leads to is checked when it is dialled.
func TestPublicClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		res, err := NewClient(false).Get(url)
		if err == nil {
			res.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "is not public") {
			t.Errorf("%s: %v", url, err)
		}
		if res, err = NewClient(true).Get(url); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}
