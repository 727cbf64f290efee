//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// closedStacks loads the golden templates of a variant whose doors are shut.
func closedStacks(t *testing.T, variant string) *Stacks {
	t.Helper()
	files := map[string]string{}
	for _, stack := range []string{"data", "api"} {
		text, err := os.ReadFile("../../infra/policy/testdata/" + variant + "/" + stack + ".json")
		if err != nil {
			t.Fatal(err)
		}
		files["glossa-"+variant+"-"+stack] = string(text)
	}
	s, err := Load(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAllowed: an API with a list of addresses answers only these, in the shape of its errors,
// and no function has a URL.
func TestAllowed(t *testing.T) {
	s := closedStacks(t, "closed")
	ranges := s.Of("AWS::ApiGateway::RestApi")[0].List("Policy", "Statement")[1].(map[string]any)["Condition"].(map[string]any)["NotIpAddress"].(map[string]any)
	ranges["aws:SourceIp"] = []any{"192.0.2.0/24", "127.0.0.8/30"} // loopback in place of a company
	edge, err := newEdge(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer edge.Close()
	if len(edge.hosts) != 1 {
		t.Errorf("there are other doors than the API: %v", edge.hosts)
	}
	for from, want := range map[string]int{"127.0.0.9": http.StatusInternalServerError, "127.0.0.1": http.StatusForbidden, "127.0.0.12": http.StatusForbidden} {
		client := edge.Client()
		transport := client.Transport.(*http.Transport)
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
			return d.DialContext(ctx, network, edge.server.Listener.Addr().String())
		}
		r, err := client.Get(s.Outputs["ApiUrl"] + "v1/models")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
		// What is let in finds no function here, which the API says.
		if err != nil || r.StatusCode != want || !strings.HasPrefix(string(body), `{"error":{"message":`) {
			t.Errorf("%s: %d %s, want %d", from, r.StatusCode, body, want)
		}
		client.CloseIdleConnections()
	}
}

// TestCDN: with CloudFront before them, the functions' URLs refuse everybody else, and each is an
// origin of the distribution.
func TestCDN(t *testing.T) {
	s := closedStacks(t, "edge")
	fleets := map[string]*Fleet{}
	for _, fn := range s.Of("AWS::Lambda::Function") {
		fleets[fn.stack+"/"+fn.name] = &Fleet{}
	}
	edge, err := newEdge(s, fleets)
	if err != nil {
		t.Fatal(err)
	}
	defer edge.Close()
	origins := map[string]bool{}
	for _, v := range s.Of("AWS::CloudFront::Distribution")[0].List("DistributionConfig", "Origins") {
		origin, _ := v.(map[string]any)
		origins[fmt.Sprint(origin["DomainName"])] = true
	}
	for _, u := range s.Of("AWS::Lambda::Url") {
		address, err := u.attribute("FunctionUrl")
		if err != nil {
			t.Fatal(err)
		}
		r, err := edge.Client().Get(address + "health")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		host := strings.Trim(strings.TrimPrefix(address, "https://"), "/")
		if r.StatusCode != http.StatusForbidden || !origins[host] {
			t.Errorf("%s answers %d; an origin: %v", host, r.StatusCode, origins[host])
		}
	}
	if len(origins) != len(fleets) {
		t.Errorf("%d origins of %d functions", len(origins), len(fleets))
	}
}

// TestPrivate: an API of some networks is reached from no other.
func TestPrivate(t *testing.T) {
	s := closedStacks(t, "private")
	edge, err := newEdge(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer edge.Close()
	r, err := edge.Client().Get(s.Outputs["ApiUrl"] + "v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusForbidden || len(edge.hosts) != 1 {
		t.Errorf("%d, hosts %v", r.StatusCode, edge.hosts)
	}
}
