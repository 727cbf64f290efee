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

// Browsers configures which web pages may use a server. A browser sends a page's requests
// to any address that it can reach, including this machine's own, so a server without keys
// must tell pages apart. Clients other than browsers send no Origin and are not affected.
// The zero value admits pages of the server's own origin, under any name.
type Browsers struct {
	// CheckHost refuses requests for names other than localhost and Hosts. The owner of a
	// name can point it here at any time, and a page under that name then has the server's
	// own origin (DNS rebinding). The page still has no key, so servers that ask for keys do
	// not need the check.
	CheckHost bool
	// Loopback is set if the server listens on loopback addresses only.
	Loopback bool
	// Hosts are the server's names, without a port. Case does not matter. "*" stands for all.
	Hosts []string
	// Origins are the origins of other pages that may use the server, such as
	// https://app.example.com. "*" stands for all. Routes of the permission Metrics admit none.
	Origins []string
}

// CheckNames returns an error if a name is not valid in the Hosts of [Browsers].
func CheckNames(hosts []string) error {
	for _, name := range hosts {
		if name != "*" && (name == "" || strings.ContainsAny(name, "/:@*?# \t")) {
			return fmt.Errorf("%q is not the name of a host, such as glossa.example.com, without a port", name)
		}
	}
	return nil
}

// CheckOrigins returns an error if an origin is not valid in the Origins of [Browsers].
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host, "*") || u.Scheme+"://"+u.Host != origin) {
			return fmt.Errorf("%q is not an origin, such as https://app.example.com, without a path, or * for all", origin)
		}
	}
	return nil
}

// A page is the page that sent a request, as the request's headers show it.
type page struct {
	origin  string // "": not sent
	foreign bool   // its origin is not the server's
}

// pageOf reads the headers that browsers set and pages cannot change. Browsers send
// Sec-Fetch-Site over TLS and to loopback addresses; elsewhere Origin is compared with Host.
//
// Source: [http.CrossOriginProtection].
func pageOf(r *http.Request) page {
	p := page{origin: r.Header.Get("Origin")}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // none: the user began it, by typing an address for example
	case "":
		_, host, _ := strings.Cut(p.origin, "://")
		p.foreign = p.origin != "" && !strings.EqualFold(host, r.Host)
	default:
		p.foreign = true
	}
	return p
}

// may reports whether a page may use a route.
func (b *Browsers) may(p page, route *Route) bool {
	switch {
	case !p.foreign:
		return true
	case route.private(): // never available to other origins, whatever the setting
		return false
	}
	return b.all() || p.origin != "" && slices.ContainsFunc(b.Origins, func(o string) bool { return strings.EqualFold(o, p.origin) })
}

// all reports whether pages of all origins may use the server.
func (b *Browsers) all() bool { return slices.Contains(b.Origins, "*") }

// check rejects requests of foreign pages that are not admitted, and requests for a name
// that is not the server's. Browsers send no Origin with images, frames and links. The page
// cannot read their answers, so they are rejected only where the request itself does work.
func (b *Browsers) check(r *http.Request, p page, route *Route) error {
	if b.CheckHost && !b.serves(r) {
		return llm.Errorf(llm.Forbidden, "this server does not answer to the host name %q, because a web page could use a name of its own to reach it:"+
			" add the name to --hosts or GLOSSA_HOSTS, or require keys", hostname(r.Host))
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
	return llm.Errorf(llm.Forbidden, "pages of %s may not use this server: add the origin to --origins or GLOSSA_ORIGINS", of)
}

// serves reports whether a request names a host or an address of the server. An address
// cannot be redirected, and a foreign address may belong to a host that forwards a port, as
// container hosts do. Only loopback addresses reach a loopback server. Ports are not
// compared, because forwarded ones differ.
func (b *Browsers) serves(r *http.Request) bool {
	name := hostname(r.Host)
	if r.Host == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(b.Hosts, "*") {
		return true // browsers always send Host, and nobody can own localhost (RFC 6761, 6.3)
	}
	if ip, err := netip.ParseAddr(name); err == nil && (!b.Loopback || ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return slices.ContainsFunc(b.Hosts, func(host string) bool { return hostname(host) == name })
}

// hostname returns the name or the address in a Host header in lower case, without
// port, brackets and trailing dot.
func hostname(host string) string {
	name := (&url.URL{Host: host}).Hostname()
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// Header values shared by many answers.
var (
	anyOrigin  = []string{"*"}
	byOrigin   = []string{"Origin"}
	methods    = []string{"GET, POST, PUT, DELETE, OPTIONS"}
	headers    = []string{"*, Authorization, Content-Type, X-Api-Key"}
	remembered = []string{"600"} // seconds
	exposed    = []string{"X-Request-Id, Retry-After, Age, X-Glossa-Guarantee, X-Glossa-Model, X-Glossa-Cache, X-Glossa-Cost, X-Glossa-Ignored," +
		" X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests," +
		" X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens," +
		" X-Ratelimit-Limit-Usd, X-Ratelimit-Remaining-Usd, X-Ratelimit-Reset-Usd"}
	sameOrigin = []string{"same-origin"}
	nosniff    = []string{"nosniff"}
)

// setCORS sets the headers that let an admitted page read the answer and, for OPTIONS, send
// the request (Fetch Standard, "CORS protocol"). Credentials are not allowed: keys come in
// headers, and there are no cookies. The values are shared and must not be modified.
func (b *Browsers) setCORS(h http.Header, r *http.Request, p page, route *Route, admitted bool) {
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
