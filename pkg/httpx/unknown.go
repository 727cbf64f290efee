package httpx

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/spelling"
)

// Claimant is implemented by [Errors] whose clients can be told by a header: what they ask on an
// unknown path is answered in their shape.
type Claimant interface{ Claims(header http.Header) bool }

// Bounds of what is compared and told of an unknown path.
const (
	maxSegments = 8   // of the path
	maxOff      = 3   // letters; segments that differ by more are different words
	mostNamed   = 3   // routes that an answer names
	similarOff  = 0.4 // the distance up to which two paths are similar
)

// indexes are the routes that list all others, the best first.
var indexes = [...]string{"/docs", "/openapi.json"}

// noRoute answers paths without a route: in the shape of the dialect that the client most likely
// means, with the path, which users of SDKs do not see, and the routes that it may have misspelt, of
// that dialect only if that is sure.
func (m *Mux) noRoute() *Route {
	known := m.Known
	if known == nil {
		known = m.Routes
	}
	return &Route{
		Pattern: "/", Permission: Public, Errors: m.Fallback,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			list := similar(known, r.URL.Path)
			meant, sure := likely(list, r.Header)
			if meant != nil {
				rec := RecordOf(r.Context())
				rec.errors = meant.shape(r.Header)
				rec.tellID(w.Header())
			}
			list = slices.DeleteFunc(list, func(s similarity) bool {
				return s.off > similarOff || sure && s.route.Dialect != meant.Dialect
			})
			return llm.Errorf(NoRoute, "no such path: %.20s %.100s%s", r.Method, r.URL.Path, advice(list, known))
		},
	}
}

// A similarity says how much an unknown path is like a route's.
type similarity struct {
	route *Route
	off   float64 // 0: equal; 1: nothing in common
	alike int     // equal segments at the beginning
}

// similar compares a path with all routes but those of the root, the most similar first.
func similar(routes []Route, path string) []similarity {
	asked := segments(path)
	var list []similarity
	for i := range routes {
		own := segments(routes[i].Pattern)
		if own[0] == "{$}" || own[0] == "" {
			continue
		}
		s := similarity{route: &routes[i], off: distance(asked, own) / float64(max(len(asked), len(own)))}
		for s.alike < min(len(asked), len(own)) && mismatch(asked[s.alike], own[s.alike]) <= similarOff {
			s.alike++
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b similarity) int { return cmp.Compare(a.off, b.off) })
	return list
}

// segments splits a path; what follows the first [maxSegments] does not count.
func segments(path string) []string {
	list := strings.SplitN(strings.Trim(path, "/"), "/", maxSegments+1)
	return list[:min(len(list), maxSegments)]
}

// distance returns the number of segments to insert, delete or change to turn the path asked into
// a route's; a segment that is misspelt counts less.
func distance(asked, own []string) float64 {
	last := make([]float64, len(own)+1)
	for j := range last {
		last[j] = float64(j)
	}
	for i, segment := range asked {
		row := make([]float64, len(last))
		row[0] = float64(i + 1)
		for j := range own {
			row[j+1] = min(last[j]+mismatch(segment, own[j]), last[j+1]+1, row[j]+1)
		}
		last = row
	}
	return last[len(own)]
}

// mismatch returns 0 if a segment is that of a pattern, less than 1 if it is misspelt, cut or
// stands for a wildcard, and 1 if it is another word.
func mismatch(segment, own string) float64 {
	longer, shorter := len(segment), len(own)
	if longer < shorter {
		longer, shorter = shorter, longer
	}
	switch {
	case segment == own:
		return 0
	case strings.HasPrefix(own, "{"), shorter > maxOff && (strings.HasPrefix(own, segment) || strings.HasPrefix(segment, own)):
		return similarOff
	case longer-shorter > maxOff:
		return 1
	}
	if off := spelling.Distance(segment, own); off <= maxOff && 2*off <= longer {
		return float64(off) / float64(longer)
	}
	return 1
}

// likely returns a route of the dialect that a client most likely means: the one that claims it,
// else that of the most similar route if it is similar, which is sure, else that with most routes
// among those that begin as the path does. It returns nil if none begins so.
func likely(list []similarity, header http.Header) (meant *Route, sure bool) {
	for _, s := range list {
		if c, ok := s.route.Errors.(Claimant); ok && c.Claims(header) {
			return s.route, true
		}
	}
	deepest := 0
	for _, s := range list {
		if s.off <= similarOff && s.route.Dialect != "" {
			return s.route, true
		}
		deepest = max(deepest, s.alike)
	}
	count := map[string]int{}
	for _, s := range list {
		if deepest == 0 || s.alike < deepest || s.route.Dialect == "" {
			continue
		}
		count[s.route.Dialect]++
		if meant == nil || count[s.route.Dialect] > count[meant.Dialect] {
			meant = s.route
		}
	}
	return meant, false
}

// advice names the first routes of list, and the route that lists all others, if there is one.
func advice(list []similarity, known []Route) string {
	var b strings.Builder
	for i, s := range list[:min(len(list), mostNamed)] {
		b.WriteString(map[bool]string{true: "; did you mean ", false: " or "}[i == 0])
		b.WriteString(s.route.Method + " " + strings.ReplaceAll(s.route.Pattern, "...}", "}"))
	}
	b.WriteString(map[bool]string{true: ";", false: "?"}[len(list) == 0])
	for _, pattern := range indexes {
		if slices.ContainsFunc(known, func(r Route) bool { return r.Pattern == pattern }) {
			return b.String() + " GET " + pattern + " lists all"
		}
	}
	return strings.TrimSuffix(b.String(), ";")
}
