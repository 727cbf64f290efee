package httpx

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// Browsers says which web pages may use a server. A browser sends what a page asks for to
// any address that the person before it can reach, this machine's own too, so a server that
// asks nobody for a key must tell pages apart. Other clients send no Origin, and are not
// concerned. The zero value answers the pages of the server's own origin, by any name.
type Browsers struct {
	// CheckHost refuses requests for other names than localhost and Hosts. The owner of a
	// name can have it lead here at any time, and his page is then of the server's own
	// origin (DNS rebinding). Where keys are asked for he gains nothing by it.
	CheckHost bool
	// Loopback says that only this machine reaches the server: it has no other address.
	Loopback bool
	// Hosts are names of the server, in any case and without a port. "*" stands for all.
	Hosts []string
	// Origins are those of other pages that may use the server: https://app.example.com.
	// "*" stands for all.
	Origins []string
}

// CheckNames tells which of the names cannot be that of a host in [Browsers].
func CheckNames(hosts []string) error {
	for _, name := range hosts {
		if name != "*" && (name == "" || strings.ContainsAny(name, "/:@*?# \t")) {
			return fmt.Errorf("%q is not the name of a host, such as glossa.example.com, without a port", name)
		}
	}
	return nil
}

// CheckOrigins tells which of the origins none of a page's requests can have.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host, "*") || u.Scheme+"://"+u.Host != origin) {
			return fmt.Errorf("%q is not an origin, such as https://app.example.com, without a path, or * for all", origin)
		}
	}
	return nil
}

// A page is what the header of a request tells of the page that it is from.
type page struct {
	origin  string // "": none is told
	foreign bool   // of another origin than the server's
}

// pageOf reads the headers that browsers set and pages cannot change. Browsers send
// Sec-Fetch-Site over TLS and to this machine; elsewhere the host of the page is compared.
//
// Source: [http.CrossOriginProtection].
func pageOf(r *http.Request) page {
	p := page{origin: r.Header.Get("Origin")}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // none: a person's own doing, as an address that was typed
	case "":
		_, host, _ := strings.Cut(p.origin, "://")
		p.foreign = p.origin != "" && !strings.EqualFold(host, r.Host)
	default:
		p.foreign = true
	}
	return p
}

// may tells whether a page may use a route.
func (b *Browsers) may(p page, route *Route) bool {
	switch {
	case !p.foreign:
		return true
	case route.private(): // what a server tells its operator never crosses origins
		return false
	}
	return b.all() || p.origin != "" && slices.ContainsFunc(b.Origins, func(o string) bool { return strings.EqualFold(o, p.origin) })
}

// all tells whether the pages of all origins may use the server.
func (b *Browsers) all() bool { return slices.Contains(b.Origins, "*") }

// check refuses what a foreign page may not do, and requests for a name that is not the
// server's. A browser tells no origin of images, frames and links: these can do no harm,
// except where a route does work for a GET.
func (b *Browsers) check(r *http.Request, p page, route *Route) error {
	if b.CheckHost && !b.serves(r) {
		return llm.Errorf(llm.Forbidden, "this server does not answer to the name %q, so that no web page can come in by a name of its own:"+
			" name it with --hosts or GLOSSA_HOSTS, or ask for keys", hostname(r.Host))
	}
	works := r.Method != http.MethodGet && r.Method != http.MethodHead || route.Permission == Inference || route.Permission == Upload
	if b.may(p, route) || p.origin == "" && !works {
		return nil
	}
	if route.private() {
		return llm.Errorf(llm.Forbidden, "pages of other origins cannot read this")
	}
	of := "another origin"
	if p.origin != "" {
		of = fmt.Sprintf("the origin %q", p.origin)
	}
	return llm.Errorf(llm.Forbidden, "pages of %s may not use this server: name their origin with --origins or GLOSSA_ORIGINS", of)
}

// serves tells whether a request is for a name or an address of the server. An address
// cannot be made to lead elsewhere, and one that is not this machine's may be that of
// another which forwards a port; but not to a server that only this machine reaches.
func (b *Browsers) serves(r *http.Request) bool {
	name := hostname(r.Host)
	if r.Host == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(b.Hosts, "*") {
		return true // browsers send one always, and nobody can own these (RFC 6761, 6.3)
	}
	if ip, err := netip.ParseAddr(name); err == nil && (!b.Loopback || ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return slices.ContainsFunc(b.Hosts, func(host string) bool { return hostname(host) == name })
}

// hostname returns the name or the address in a Host header, in lower case, without its
// port, brackets and the dot at its end.
func hostname(host string) string {
	name := (&url.URL{Host: host}).Hostname()
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// Values of headers that many answers have.
var (
	anyOrigin  = []string{"*"}
	byOrigin   = []string{"Origin"}
	methods    = []string{"GET, POST, PUT, DELETE, OPTIONS"}
	headers    = []string{"*, Authorization, Content-Type, X-Api-Key"}
	remembered = []string{"600"} // seconds
	exposed    = []string{"X-Request-Id, Retry-After, Age, X-Glossa-Guarantee, X-Glossa-Model, X-Glossa-Cache," +
		" X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests," +
		" X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens"}
	sameOrigin = []string{"same-origin"}
	nosniff    = []string{"nosniff"}
)

// tell sets the headers by which a browser lets a page read the answer, if it is admitted,
// and for OPTIONS, send the request (Fetch Standard, "CORS protocol"). No credentials are
// allowed: keys come in headers, and there are no cookies. The values are shared: whoever
// has another sets it anew.
func (b *Browsers) tell(h http.Header, r *http.Request, p page, route *Route, admitted bool) {
	h["X-Content-Type-Options"] = nosniff
	if route.private() {
		h["Cross-Origin-Resource-Policy"] = sameOrigin
	}
	all := b.all() && !route.private()
	if !all {
		h["Vary"] = byOrigin
	}
	switch {
	case !admitted || !all && (p.origin == "" || !b.may(p, route)):
		return
	case all:
		h["Access-Control-Allow-Origin"] = anyOrigin
	default:
		h["Access-Control-Allow-Origin"] = []string{p.origin}
	}
	h["Access-Control-Expose-Headers"] = exposed
	if r.Method == http.MethodOptions {
		h["Access-Control-Allow-Methods"] = methods
		h["Access-Control-Allow-Headers"] = headers
		h["Access-Control-Max-Age"] = remembered
	}
}
