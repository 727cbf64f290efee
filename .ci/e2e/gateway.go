//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"glossa/infra/plan"
	"glossa/pkg/host/runtimeapi"
)

// maxHeaders is API Gateway's limit for a request's headers, bytes. Source: API Gateway
// Developer Guide, "Quotas for configuring and running a REST API".
const maxHeaders = 10240

// A gateway is the REST API of the templates.
type gateway struct {
	stacks  *Stacks
	fleets  map[string]*Fleet // by the logical name of the function
	stage   string
	binary  []string
	paths   []plan.Path          // the family is the logical name of the method
	methods map[string]*Resource // by logical name
	answers map[string]*Resource // its own, by type
	grants  []*Resource
	limit   *bucketOfTokens
	door    door
	silence time.Duration // after which it ends a stream
}

// newGateway makes the API of the templates.
func newGateway(s *Stacks, fleets map[string]*Fleet) (*gateway, error) {
	stages, apis := s.Of("AWS::ApiGateway::Stage"), s.Of("AWS::ApiGateway::RestApi")
	if len(stages) != 1 || len(apis) != 1 {
		return nil, fmt.Errorf("%d stages of %d REST APIs", len(stages), len(apis))
	}
	g := &gateway{stacks: s, fleets: fleets, stage: stages[0].ref(), methods: map[string]*Resource{}, answers: map[string]*Resource{},
		grants: s.Of("AWS::Lambda::Permission"), silence: silenceLimit(apis[0].List("EndpointConfiguration", "Types"))}
	var err error
	if g.door, err = newDoor(apis[0]); err != nil {
		return nil, err
	}
	for _, v := range apis[0].List("BinaryMediaTypes") {
		g.binary = append(g.binary, fmt.Sprint(v))
	}
	for _, m := range s.Of("AWS::ApiGateway::Method") {
		path, err := g.path(m.Text("ResourceId"))
		if err != nil {
			return nil, err
		}
		g.paths, g.methods[m.name] = append(g.paths, plan.Path{Resource: path, Family: m.name}), m
	}
	for _, a := range s.Of("AWS::ApiGateway::GatewayResponse") {
		g.answers[a.Text("ResponseType")] = a
	}
	for _, v := range stages[0].List("MethodSettings") {
		if m, ok := v.(map[string]any); ok && m["ResourcePath"] == "/*" && m["HttpMethod"] == "*" {
			rate, _ := m["ThrottlingRateLimit"].(float64)
			burst, _ := m["ThrottlingBurstLimit"].(float64)
			g.limit = &bucketOfTokens{rate: rate, burst: burst, left: burst}
		}
	}
	if g.limit == nil {
		return nil, errors.New("the stage has no limits for all methods")
	}
	return g, nil
}

// path returns the path of a resource by its id.
func (g *gateway) path(id string) (string, error) {
	for _, api := range g.stacks.Of("AWS::ApiGateway::RestApi") {
		if root, _ := api.attribute("RootResourceId"); id == root {
			return "/", nil
		}
	}
	r := g.stacks.By("AWS::ApiGateway::Resource", func(r *Resource) bool { return r.ref() == id })
	if r == nil {
		return "", fmt.Errorf("there is no resource %s", id)
	}
	parent, err := g.path(r.Text("ParentId"))
	return strings.TrimSuffix(parent, "/") + "/" + r.Text("PathPart"), err
}

// ServeHTTP implements [http.Handler].
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w = &remapped{ResponseWriter: w}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/"+g.stage)
	if !ok || path != "" && path[0] != '/' { // the stage does not exist
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"Forbidden"}`)
		return
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	found, ok := plan.Route(g.paths, "/"+strings.TrimPrefix(path, "/"))
	switch {
	case size > maxHeaders:
		g.answer(w, "BAD_REQUEST_BODY", http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
	case !ok:
		g.answer(w, "MISSING_AUTHENTICATION_TOKEN", http.StatusForbidden, "Missing Authentication Token")
	case !g.limit.take():
		g.answer(w, "THROTTLED", http.StatusTooManyRequests, "Too Many Requests")
	default:
		g.integrate(w, r, found)
	}
}

// integrate invokes the function of a method with a request.
func (g *gateway) integrate(w http.ResponseWriter, r *http.Request, path plan.Path) {
	m := g.methods[path.Family]
	if !g.door.opens(r, g.stage, m.Text("AuthorizationType")) {
		g.answer(w, "ACCESS_DENIED", http.StatusForbidden, "User: anonymous is not authorized to perform: execute-api:Invoke")
		return
	}
	if own := m.Text("HttpMethod"); own != "ANY" && own != r.Method || m.Text("AuthorizationType") != "NONE" {
		g.answer(w, "MISSING_AUTHENTICATION_TOKEN", http.StatusForbidden, "Missing Authentication Token")
		return
	}
	fleet, err := g.target(m, r.Method, path.Resource)
	if err != nil {
		g.answer(w, "API_CONFIGURATION_ERROR", http.StatusInternalServerError, "Internal server error")
		return
	}
	timeout := 29 * time.Second // unless the integration sets one
	if ms, ok := m.Get("Integration", "TimeoutInMillis").(float64); ok {
		timeout = time.Duration(ms) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	limitSilence(ctx, w, g.silence, func(ctx context.Context, w http.ResponseWriter) {
		g.invoke(fleet, m, path, w, r.WithContext(ctx))
	})
}

// invoke invokes a function until the context of the request ends.
func (g *gateway) invoke(fleet *Fleet, m *Resource, path plan.Path, w http.ResponseWriter, r *http.Request) {
	runtimeapi.RESTAPI(fleet, runtimeapi.REST{
		Stage: g.stage, Streaming: m.Text("Integration", "ResponseTransferMode") == "STREAM",
		Resource: func(request string) (string, map[string]string) {
			return path.Resource, variables(path.Resource, request)
		},
		Binary: g.isBinary,
		Fail: func(w http.ResponseWriter, status int, message, _ string) {
			if ctx := r.Context(); ctx.Err() == context.DeadlineExceeded || context.Cause(ctx) == errSilent {
				g.answer(w, "INTEGRATION_TIMEOUT", http.StatusGatewayTimeout, "Endpoint request timed out")
				return
			}
			g.answer(w, kindOf(status), status, message)
		},
	}).ServeHTTP(w, r)
}

// target returns the function of an integration and checks that the API may call it.
func (g *gateway) target(m *Resource, method, resource string) (*Fleet, error) {
	uri := m.Text("Integration", "Uri")
	_, after, _ := strings.Cut(uri, ":lambda:path/2021-11-15/functions/")
	alias, ok := strings.CutSuffix(after, "/response-streaming-invocations")
	if !ok || m.Text("Integration", "Type") != "AWS_PROXY" || m.Text("Integration", "IntegrationHttpMethod") != http.MethodPost {
		return nil, fmt.Errorf("the integration %v", m.Get("Integration"))
	}
	source := fmt.Sprintf("arn:%s:execute-api:%s:%s:%s/%s/%s%s", partition, region, account, m.Text("RestApiId"), g.stage, method, resource)
	if !g.granted(alias, "lambda:InvokeFunction", "apigateway.amazonaws.com", func(p *Resource) bool { return like(p.Text("SourceArn"), source) }) {
		return nil, fmt.Errorf("nobody lets the API call %s", alias)
	}
	return g.fleetOf(alias)
}

// granted reports whether a permission of a function's alias allows a principal an action.
func (g *gateway) granted(alias, action, principal string, fits func(*Resource) bool) bool {
	return slices.ContainsFunc(g.grants, func(p *Resource) bool {
		return p.Text("FunctionName") == alias && p.Text("Action") == action && p.Text("Principal") == principal && fits(p)
	})
}

// fleetOf returns the function of an alias's version, or of a version.
func (g *gateway) fleetOf(arn string) (*Fleet, error) {
	for _, v := range g.stacks.Of("AWS::Lambda::Version") {
		own, err := g.stacks.refOf(v)
		if err != nil {
			return nil, err
		}
		for name, fleet := range g.fleets {
			if own == arn && g.stacks.resources[name].ref() == v.Text("FunctionName") {
				return fleet, nil
			}
		}
	}
	for _, a := range g.stacks.Of("AWS::Lambda::Alias") {
		own, err := g.stacks.refOf(a)
		if err != nil {
			return nil, err
		}
		for name, fleet := range g.fleets {
			if own == arn && a.Text("FunctionVersion") != "$LATEST" && g.stacks.resources[name].ref() == a.Text("FunctionName") {
				return fleet, nil
			}
		}
	}
	return nil, fmt.Errorf("there is no %s", arn)
}

func (g *gateway) isBinary(mediaType string) bool {
	return slices.ContainsFunc(g.binary, func(pattern string) bool { return like(pattern, mediaType) })
}

// variables returns the parts of a path that match a resource's variables.
func variables(resource, path string) map[string]string {
	own, parts := strings.Split(resource, "/"), strings.Split(path, "/")
	found := map[string]string{}
	for i, part := range own {
		name, ok := strings.CutPrefix(strings.TrimSuffix(part, "}"), "{")
		if rest, greedy := strings.CutSuffix(name, "+"); ok && greedy {
			found[rest] = strings.Join(parts[min(i, len(parts)):], "/")
		} else if ok && i < len(parts) {
			found[name] = parts[i]
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// kindOf returns the response type of an answer of API Gateway itself. Source: API Gateway Developer
// Guide, "Gateway response types for API Gateway".
func kindOf(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "REQUEST_TOO_LARGE"
	case http.StatusBadGateway:
		return "INTEGRATION_FAILURE"
	case http.StatusBadRequest:
		return "BAD_REQUEST_BODY"
	}
	return "API_CONFIGURATION_ERROR"
}

// answer writes an answer of the API itself, as its GatewayResponses define it.
func (g *gateway) answer(w http.ResponseWriter, kind string, status int, message string) {
	fallback := "DEFAULT_4XX"
	if status >= 500 {
		fallback = "DEFAULT_5XX"
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", "e2e-"+kind) // AWS sends the names of exceptions
	quoted, _ := json.Marshal(message)
	body := fmt.Sprintf(`{"message":%s}`, quoted)
	r := g.answers[kind]
	if r == nil {
		r = g.answers[fallback]
	}
	if r != nil {
		if own, err := strconv.Atoi(r.Text("StatusCode")); err == nil {
			status = own
		}
		parameters, _ := r.Get("ResponseParameters").(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			header, _ := strings.CutPrefix(name, "gatewayresponse.header.")
			value := strings.ReplaceAll(fmt.Sprint(parameters[name]), "context.requestId", "e2e-request")
			w.Header().Set(header, strings.Trim(value, "'"))
		}
		body = strings.NewReplacer("$context.error.messageString", string(quoted), "$context.error.responseType", kind,
			"$context.requestId", "e2e-request").Replace(r.Text("ResponseTemplates", "application/json"))
	}
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// remapped renames headers of functions that API Gateway reserves. Source:
// API Gateway Developer Guide, "Amazon API Gateway important notes for REST APIs".
type remapped struct {
	http.ResponseWriter
	done bool
}

func (w *remapped) WriteHeader(status int) {
	h := w.Header()
	for _, name := range []string{"Connection", "Content-Length", "Date", "Server", "Www-Authenticate"} {
		if values, ok := h[name]; ok && !w.done {
			h["X-Amzn-Remapped-"+name] = values
			delete(h, name)
		}
	}
	w.done = true
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *remapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// bucketOfTokens is API Gateway's limiter, with a burst and a rate per second.
type bucketOfTokens struct {
	rate, burst float64

	mu    sync.Mutex
	left  float64
	at    time.Time
	clock func() time.Time // nil: [time.Now]
}

// stop refills the bucket and stops its clock, which pass advances until goOn restarts it.
func (b *bucketOfTokens) stop() (pass func(time.Duration), goOn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.left, b.at, b.clock = b.burst, now, func() time.Time { return now }
	pass = func(d time.Duration) {
		b.mu.Lock()
		defer b.mu.Unlock()
		now = now.Add(d)
	}
	return pass, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.clock = nil
	}
}

// refill fills the bucket.
func (b *bucketOfTokens) refill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = b.burst
}

func (b *bucketOfTokens) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.clock != nil {
		now = b.clock()
	}
	if !b.at.IsZero() {
		b.left = min(b.burst, b.left+b.rate*now.Sub(b.at).Seconds())
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
