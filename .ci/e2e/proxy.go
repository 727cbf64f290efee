package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"glossa/pkg/backend/awsrest/sigv4test"
)

// A Principal signs calls: a function with its role, or the operator, who has all
// permissions.
type Principal struct {
	Name               string
	Key, Secret, Token string
	Statements         []Statement
	all                bool
	withdrawn          map[string]bool // Sids without effect for now, guarded by Proxy.mu
}

// A Call is a call of a service that reached the proxy.
type Call struct {
	By       *Principal
	Service  string
	Accesses []Access
}

// Is reports whether a function's call needs an action.
func (c *Call) Is(action string) bool {
	return slices.ContainsFunc(c.Accesses, func(a Access) bool { return a.Action == action })
}

// A Fault is injected into matching calls.
type Fault struct {
	Fits   func(*Call) bool
	Answer func(w http.ResponseWriter, r *http.Request, c *Call) // replaces the service's answer; nil: the service answers
	Body   func(io.ReadCloser) io.ReadCloser                     // wraps the body of the service's answer; nil: unchanged
}

// A Refusal is an access that was denied.
type Refusal struct {
	Principal string
	Access    Access
}

// A Proxy stands between callers and the AWS services, and checks IAM first.
type Proxy struct {
	URL      string
	server   *httptest.Server
	services map[string]*url.URL
	bucket   []Statement // the policy of the bucket

	mu         sync.Mutex
	principals map[string]*Principal // by key
	faults     []*Fault
	used       map[string]int // by principal, Sid and action
	refused    []Refusal
	strange    []error       // calls that cannot be parsed: errors of the caller or of this program
	late       time.Duration // how far this clock is ahead
}

// NewProxy starts a proxy for services, by their names in signatures.
func NewProxy(services map[string]*url.URL, bucket []Statement) *Proxy {
	p := &Proxy{services: services, bucket: bucket, principals: map[string]*Principal{}, used: map[string]int{}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of connections that faults break
	p.server.Start()
	p.URL = p.server.URL
	return p
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// Add gives a principal its credentials.
func (p *Proxy) Add(principal *Principal) {
	id := strings.ToUpper(principal.Name)
	principal.Key, principal.Secret = "ASIA"+id, "secret of "+principal.Name
	if !principal.all {
		principal.Token = "token of " + principal.Name
	}
	principal.withdrawn = map[string]bool{}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.principals[principal.Key] = principal
}

// Break injects a fault until the returned function is called.
func (p *Proxy) Break(f *Fault) (mend func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(other *Fault) bool { return other == f })
	}
}

// Withdraw removes a statement from a principal until the returned function is called,
// which returns and clears the denials since then.
func (p *Proxy) Withdraw(principal *Principal, sid string) (giveBack func() []Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	principal.withdrawn[sid] = true
	before := len(p.refused)
	return func() []Refusal {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(principal.withdrawn, sid)
		list := slices.Clone(p.refused[before:])
		p.refused = p.refused[:before]
		return list
	}
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has disconnected
	}
	s, err := sigv4test.Read(r)
	if err != nil {
		p.misunderstood(fmt.Errorf("%s %s: %w", r.Method, r.URL, err))
		refuse(w, "s3", http.StatusForbidden, "AccessDenied", err.Error())
		return
	}
	by, code := p.signer(s, r, body)
	if code != "" {
		if code != sigv4test.Expired {
			p.misunderstood(fmt.Errorf("%s %s signed for %s: %s", r.Method, r.URL, s.Service, code))
		}
		refuse(w, s.Service, http.StatusForbidden, code, "the request is not signed as it is sent, or too late")
		return
	}
	list, err := accesses(s.Service, s.Region, r, body)
	if err != nil {
		p.misunderstood(fmt.Errorf("%s of %s: %s %s: %w", by.Name, s.Service, r.Method, r.URL, err))
		refuse(w, s.Service, http.StatusBadRequest, "ValidationException", err.Error())
		return
	}
	call := &Call{by, s.Service, list}
	fault := p.fault(call)
	if fault != nil && fault.Answer != nil {
		fault.Answer(w, r, call)
		return
	}
	if denied := p.denied(by, list); denied != nil {
		refuse(w, s.Service, http.StatusForbidden, deniedCode(s.Service), deniedMessage(by, *denied))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.forward(w, r, call, fault)
}

func deniedCode(service string) string {
	if service == "s3" {
		return "AccessDenied"
	}
	return "AccessDeniedException"
}

// deniedMessage returns AWS's message.
func deniedMessage(by *Principal, a Access) string {
	return fmt.Sprintf("User: arn:%s:sts::%s:assumed-role/%s is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action",
		partition, account, by.Name, a.Action, a.Resource, a.Action)
}

// signer returns the principal that signed a request, or an error code.
func (p *Proxy) signer(s *sigv4test.Signature, r *http.Request, body []byte) (by *Principal, code string) {
	p.mu.Lock()
	by = p.principals[s.Key]
	now := time.Now().Add(p.late)
	p.mu.Unlock()
	token := r.Header.Get("X-Amz-Security-Token")
	if s.Expires > 0 {
		token = r.URL.Query().Get("X-Amz-Security-Token")
	}
	switch {
	case by == nil, by.Token != token:
		return nil, "UnrecognizedClientException"
	case s.Region != region && s.Service != "bedrock": // its models may be in other regions
		return nil, "AuthorizationHeaderMalformed"
	}
	return by, s.Verify(r, body, by.Secret, now)
}

func (p *Proxy) misunderstood(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strange = append(p.strange, err)
}

func (p *Proxy) fault(c *Call) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.Fits(c) {
			return f
		}
	}
	return nil
}

// denied returns the first access that is not allowed, nil if all are. It records the
// statements that allowed them.
func (p *Proxy) denied(by *Principal, list []Access) *Access {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range list {
		if _, s := Decide(p.bucket, a); strings.HasPrefix(a.Action, "s3:") && s != nil && s.Deny {
			return &a
		}
		if by.all {
			continue
		}
		allowed, s := Decide(p.effective(by), a)
		if !allowed {
			p.refused = append(p.refused, Refusal{by.Name, a})
			return &a
		}
		p.used[by.Name+" "+s.Sid+" "+a.Action]++
	}
	return nil
}

// effective returns the statements in effect; p.mu is held.
func (p *Proxy) effective(by *Principal) []Statement {
	return slices.DeleteFunc(slices.Clone(by.Statements), func(s Statement) bool { return by.withdrawn[s.Sid] })
}

// forward passes the call to the service.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, c *Call, fault *Fault) {
	(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(p.services[c.Service])
			// The fakes of models accept only one key.
			out.Out.Header.Set("Authorization", strings.Replace(out.In.Header.Get("Authorization"), c.By.Key, "AKIDEXAMPLE", 1))
		},
		ModifyResponse: func(answer *http.Response) error {
			if err := p.hideMissing(c, answer); err != nil {
				return err
			}
			if fault != nil && fault.Body != nil {
				answer.Body = fault.Body(answer.Body)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, errHidden) {
				panic(http.ErrAbortHandler) // the service is down, or the caller has disconnected
			}
			refuse(w, "s3", http.StatusForbidden, "AccessDenied", "Access Denied")
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}).ServeHTTP(w, r)
}

var errHidden = errors.New("its existence is hidden")

// hideMissing turns S3's 404 into 403 for callers that may not list the bucket. Source: Amazon S3
// API Reference, GetObject, "Permissions". A request for an object meets no
// condition on the prefix, because it has none.
func (p *Proxy) hideMissing(c *Call, answer *http.Response) error {
	if c.Service != "s3" || c.By.all || answer.StatusCode != http.StatusNotFound || !c.Is("s3:GetObject") && !c.Is("s3:GetObjectVersion") {
		return nil
	}
	arn, _, _ := strings.Cut(c.Accesses[0].Resource, "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	if allowed, _ := Decide(p.effective(c.By), Access{"s3:ListBucket", arn, nil}); allowed {
		return nil
	}
	return errors.Join(errHidden, answer.Body.Close())
}

func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
