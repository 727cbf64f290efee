//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"glossa/pkg/deployment"
	"glossa/pkg/host/runtimeapi"
)

// An Edge serves the hosts in the stacks' outputs, with TLS.
type Edge struct {
	server *httptest.Server
	hosts  map[string]http.Handler // by host
	api    *gateway
}

// newEdge serves the API and the function URLs of the templates.
func newEdge(s *Stacks, fleets map[string]*Fleet) (*Edge, error) {
	api, err := newGateway(s, fleets)
	if err != nil {
		return nil, err
	}
	e := &Edge{hosts: map[string]http.Handler{}, api: api}
	u, err := url.Parse(s.Outputs[deployment.APIOutput])
	if err != nil || u.Scheme != "https" || !strings.HasPrefix(u.Path, "/"+api.stage) {
		return nil, fmt.Errorf("the output %s is %q", deployment.APIOutput, s.Outputs[deployment.APIOutput])
	}
	e.hosts[u.Host] = api
	for _, r := range s.Of("AWS::Lambda::Url") {
		address, err := r.attribute("FunctionUrl")
		if err != nil {
			return nil, err
		}
		door, err := api.functionURL(r)
		if err != nil {
			return nil, err
		}
		e.hosts[strings.Trim(strings.TrimPrefix(address, "https://"), "/")] = door
	}
	e.server = httptest.NewUnstartedServer(e)
	e.server.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of connections that are cut on purpose
	e.server.EnableHTTP2 = true
	e.server.StartTLS()
	return e, nil
}

// Client returns a client that connects to this edge for every host.
func (e *Edge) Client() *http.Client {
	transport := e.server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the certificate does not match AWS's hosts
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, e.server.Listener.Addr().String())
	}
	return &http.Client{Transport: transport}
}

// Close stops the edge.
func (e *Edge) Close() {
	e.server.CloseClientConnections()
	e.server.Close()
}

// ServeHTTP implements [http.Handler].
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if door := e.hosts[r.Host]; door != nil {
		door.ServeHTTP(w, r)
		return
	}
	http.Error(w, "there is no host "+r.Host, http.StatusMisdirectedRequest)
}

// functionURL returns the handler of a function URL. It requires both permissions: since
// October 2025 the URL's alone is not enough. Source: AWS Lambda Developer Guide, "Control
// access to Lambda function URLs".
func (g *gateway) functionURL(r *Resource) (http.Handler, error) {
	fn := g.stacks.By("AWS::Lambda::Function", func(fn *Resource) bool {
		arn, _ := fn.attribute("Arn")
		return arn == r.Text("TargetFunctionArn")
	})
	if fn == nil {
		return nil, fmt.Errorf("%s: no function %s", r.name, r.Text("TargetFunctionArn"))
	}
	alias := r.Text("TargetFunctionArn") + ":" + r.Text("Qualifier")
	fleet, err := g.fleetOf(alias)
	if err != nil {
		return nil, err
	}
	open := r.Text("AuthType") == "NONE" &&
		g.granted(alias, "lambda:InvokeFunctionUrl", "*", func(p *Resource) bool { return p.Text("FunctionUrlAuthType") == "NONE" }) &&
		g.granted(alias, "lambda:InvokeFunction", "*", func(p *Resource) bool { return p.Get("InvokedViaFunctionUrl") == true })
	door := runtimeapi.FunctionURL(fleet, r.Text("InvokeMode") == "RESPONSE_STREAM")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !open {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"Message":"Forbidden."}`)
			return
		}
		door.ServeHTTP(w, r)
	}), nil
}
