package plan

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxBehaviours is the default quota of cache behaviours of a distribution.
// Source: Amazon CloudFront Developer Guide, "Quotas".
const MaxBehaviours = 75

// A Behaviour sends the paths that match a pattern, in which * is any text, to a family.
type Behaviour struct{ Pattern, Family string }

// Behaviours returns the behaviours of the distribution, in the order in which CloudFront tries them.
// What matches none goes to [CatchAll].
func (p *Plan) Behaviours() []Behaviour {
	var all, kept []Behaviour
	for _, of := range p.Paths {
		parts := strings.Split(of.Resource, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				parts[i] = "*"
			}
		}
		b := Behaviour{strings.Join(parts, "/"), of.Family}
		if b.Pattern != "/*" {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Behaviour) int {
		return cmp.Or(narrower(a.Pattern, b.Pattern), strings.Compare(a.Pattern, b.Pattern))
	})
	for i, b := range all {
		// A path of the function for everything else needs a behaviour only where a wider pattern
		// would take it.
		taken := func(other Behaviour) bool { return other.Family != CatchAll && Matches(other.Pattern, b.Pattern) }
		if b.Family != CatchAll || slices.ContainsFunc(all[i+1:], taken) {
			kept = append(kept, b)
		}
	}
	return kept
}

// narrower orders patterns: a part that is a text before one that is a wildcard, and then the
// pattern with more parts.
func narrower(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(x), len(y)) {
		if wide, other := x[i] == "*", y[i] == "*"; wide != other {
			if wide {
				return 1
			}
			return -1
		}
	}
	return cmp.Compare(len(y), len(x))
}

// Matches reports whether a path matches a pattern, as CloudFront does: * is any text, slashes too.
func Matches(pattern, request string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	ok, _ := regexp.MatchString("^"+quoted+"$", path.Clean(request)) // a quoted pattern is valid
	return ok
}

// Identifiers of AWS's own policies.
// Source: Amazon CloudFront Developer Guide, "Use managed cache policies" and "Use managed origin
// request policies".
const (
	NotCached  = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad" // CachingDisabled
	AllHeaders = "b689b0a8-53d0-40ab-baf2-68738e2966ac" // AllViewerExceptHostHeader
)

// CDNSilence is the time without a byte after which CloudFront gives up. Streams send keep-alives
// before it.
const CDNSilence = time.Minute

// CDNService is the service that calls the functions' URLs.
const CDNService = "cloudfront.amazonaws.com"

// MoveKey is the program that CloudFront runs for each request. CloudFront signs what it sends to a
// function's URL and needs the Authorization header for that: the caller's key moves to the header
// x-api-key, which glossa reads, too.
const MoveKey = `function handler(event) {
  var headers = event.request.headers, given = headers.authorization;
  if (given && !headers['x-api-key']) {
    headers['x-api-key'] = { value: given.value.replace(/^bearer\s+/i, '') };
  }
  delete headers.authorization;
  return event.request;
}
`
