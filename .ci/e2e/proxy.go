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

// A Principal signs calls: a function by its role, or the operator, who may do all.
type Principal struct {
	Name               string
	Key, Secret, Token string
	Statements         []Statement
	all                bool
	withdrawn          map[string]bool // Sids that do not count for now, under Proxy.mu
}

// A Call of a service that came to the proxy.
type Call struct {
	By       *Principal
	Service  string
	Accesses []Access
}

// Is tells whether a function's call needs an action.
func (c *Call) Is(action string) bool {
	return slices.ContainsFunc(c.Accesses, func(a Access) bool { return a.Action == action })
}

// A Fault is something that goes wrong with the calls that fit.
type Fault struct {
	Fits   func(*Call) bool
	Answer func(w http.ResponseWriter, r *http.Request, c *Call) // in the place of the service; nil: the service answers
	Body   func(io.ReadCloser) io.ReadCloser                     // of what the service answers; nil: as it is
}

// A Refusal is an access that no policy allows.
type Refusal struct {
	Principal string
	Access    Access
}

// A Proxy stands between those who call and the services of AWS, and asks IAM first.
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
	strange    []error       // calls that cannot be understood: faults of whoever made them, or of this program
	late       time.Duration // how much later it is here than elsewhere
}

// NewProxy starts a proxy before services by their names in signatures.
func NewProxy(services map[string]*url.URL, bucket []Statement) *Proxy {
	p := &Proxy{services: services, bucket: bucket, principals: map[string]*Principal{}, used: map[string]int{}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that faults break
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

// Break lets something go wrong until the returned function is called.
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

// Withdraw takes a statement from a principal until the returned function is called,
// which tells what was refused meanwhile and forgets it.
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
		return // the caller has gone
	}
	s, err := sigv4test.Read(r)
	if err != nil {
		p.misunderstood(fmt.Errorf("%s %s: %w", r.Method, r.URL, err))
		refuse(w, "s3", http.StatusForbidden, "AccessDenied", err.Error())
		return
	}
	by, code := p.whose(s, r, body)
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

// deniedMessage is in the words of AWS.
func deniedMessage(by *Principal, a Access) string {
	return fmt.Sprintf("User: arn:%s:sts::%s:assumed-role/%s is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action",
		partition, account, by.Name, a.Action, a.Resource, a.Action)
}

// whose returns who signed a request, or the code of the error.
func (p *Proxy) whose(s *sigv4test.Signature, r *http.Request, body []byte) (by *Principal, code string) {
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
	case s.Region != region && s.Service != "bedrock": // whose models may be elsewhere
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

// denied returns the first access that is not allowed; nil if all are. What allowed them
// is remembered.
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
		allowed, s := Decide(p.standing(by), a)
		if !allowed {
			p.refused = append(p.refused, Refusal{by.Name, a})
			return &a
		}
		p.used[by.Name+" "+s.Sid+" "+a.Action]++
	}
	return nil
}

// standing returns the statements that count now; p.mu is held.
func (p *Proxy) standing(by *Principal) []Statement {
	return slices.DeleteFunc(slices.Clone(by.Statements), func(s Statement) bool { return by.withdrawn[s.Sid] })
}

// forward lets the service answer.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, c *Call, fault *Fault) {
	(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(p.services[c.Service])
			// The fakes of models know one key.
			out.Out.Header.Set("Authorization", strings.Replace(out.In.Header.Get("Authorization"), c.By.Key, "AKIDEXAMPLE", 1))
		},
		ModifyResponse: func(answer *http.Response) error {
			if err := p.hide(c, answer); err != nil {
				return err
			}
			if fault != nil && fault.Body != nil {
				answer.Body = fault.Body(answer.Body)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, errHidden) {
				panic(http.ErrAbortHandler) // the service is down, or the caller has gone
			}
			refuse(w, "s3", http.StatusForbidden, "AccessDenied", "Access Denied")
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}).ServeHTTP(w, r)
}

var errHidden = errors.New("whether it is there is not told")

// hide makes 403 of the 404 of S3 for those who may not list the bucket. Source: Amazon S3
// API Reference, GetObject, "Permissions". A condition on the prefix is met by no request
// of an object, as it has none.
func (p *Proxy) hide(c *Call, answer *http.Response) error {
	if c.Service != "s3" || c.By.all || answer.StatusCode != http.StatusNotFound || !c.Is("s3:GetObject") && !c.Is("s3:GetObjectVersion") {
		return nil
	}
	arn, _, _ := strings.Cut(c.Accesses[0].Resource, "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	if allowed, _ := Decide(p.standing(c.By), Access{"s3:ListBucket", arn, nil}); allowed {
		return nil
	}
	return errors.Join(errHidden, answer.Body.Close())
}

func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
