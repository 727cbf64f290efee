package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/httpx"
)

// MaxResources is how many resources a REST API may have unless the quota is raised.
// Source: API Gateway Developer Guide, "Quotas for configuring and running a REST API".
const MaxResources = 300

// CatchAll is the family that answers paths that nobody has, and those that all have.
const CatchAll = "alephalpha"

// greedy is the last part of a resource that has all paths below its parent.
const greedy = "{proxy+}"

// A Family is a function and its routes.
type Family struct {
	Name   string
	Routes []httpx.Route
}

// A Path is a resource of the REST API and the family that answers all its methods:
// those that it has no route for too, so that 405, HEAD and OPTIONS are the same here
// as elsewhere.
type Path struct{ Resource, Family string }

// Paths returns the resources of the REST API, in order. API Gateway's variables stand
// for whole parts of a path and one for the rest, at the end: a pattern with a name in
// its middle that may hold slashes is one resource for all that begins like it, and the
// function tells what follows apart.
func Paths(families []Family) ([]Path, error) {
	owners := map[string][]string{}
	for _, f := range families {
		for _, route := range f.Routes {
			r, err := resource(route.Pattern)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(owners[r], f.Name) {
				owners[r] = append(owners[r], f.Name)
			}
		}
	}
	for _, r := range []string{"/", "/" + greedy} {
		if owners[r] == nil {
			owners[r] = []string{CatchAll}
		}
	}
	var paths []Path
	for r, of := range owners {
		if len(of) == len(families) {
			of = []string{CatchAll}
		}
		if len(of) > 1 {
			return nil, fmt.Errorf("%s belongs to %s: API Gateway tells methods and paths apart, nothing else", r, strings.Join(of, " and "))
		}
		paths = append(paths, Path{r, of[0]})
	}
	slices.SortFunc(paths, func(a, b Path) int { return strings.Compare(a.Resource, b.Resource) })
	return paths, checkTree(paths)
}

// resource returns the resource that serves a pattern of [http.ServeMux].
func resource(pattern string) (string, error) {
	if pattern == "/{$}" {
		return "/", nil
	}
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if strings.HasSuffix(part, "...}") {
			parts = append(parts, greedy)
			break
		}
		if part == "" || part == "{$}" {
			return "", fmt.Errorf("%s: API Gateway has no path that ends in a slash", pattern)
		}
		parts = append(parts, part)
	}
	return "/" + strings.Join(parts, "/"), nil
}

// partName is what a part of a resource may be, as API Gateway says when it refuses one.
var partName = regexp.MustCompile(`^([a-zA-Z0-9._:-]+|\{[a-zA-Z0-9._-]+\+?\})$`)

// checkTree says why API Gateway would not take the paths.
func checkTree(paths []Path) error {
	nodes := map[string]bool{}
	variables := map[string]string{} // of a parent: it can have one
	var errs []error
	for _, p := range paths {
		parent := ""
		for part := range strings.SplitSeq(strings.TrimPrefix(p.Resource, "/"), "/") {
			node := parent + "/" + part
			switch variable := strings.HasPrefix(part, "{") && part != greedy; {
			case part == "":
				continue
			case !partName.MatchString(part):
				errs = append(errs, fmt.Errorf("%s: API Gateway takes no part %q", p.Resource, part))
			case variable && variables[parent] != "" && variables[parent] != part:
				errs = append(errs, fmt.Errorf("%s: its parent has the variable %s, and may have one", p.Resource, variables[parent]))
			case variable:
				variables[parent] = part
			}
			nodes[node] = true
			parent = node
		}
	}
	if len(nodes) > MaxResources {
		errs = append(errs, fmt.Errorf("%d resources are more than the %d of API Gateway's quota", len(nodes), MaxResources))
	}
	return errors.Join(errs...)
}

// Route returns the path that API Gateway chooses for the path of a request: at each
// part what is spelled out before a variable, and that before the rest.
func Route(paths []Path, request string) (Path, bool) {
	parts := strings.Split(strings.TrimPrefix(request, "/"), "/")
	best, rank := Path{}, ""
	for _, p := range paths {
		if r, ok := match(p.Resource, parts); ok && r > rank {
			best, rank = p, r
		}
	}
	return best, rank != ""
}

// match says how well a resource fits the parts of a path: the greater, the better.
func match(resource string, parts []string) (rank string, ok bool) {
	own := strings.Split(strings.TrimPrefix(resource, "/"), "/")
	for i, part := range own {
		switch {
		case i == len(parts):
			return "", false
		case part == greedy:
			return rank + "1", parts[i] != ""
		case strings.HasPrefix(part, "{"):
			rank += "2"
		case part == parts[i]:
			rank += "3"
		default:
			return "", false
		}
	}
	return rank, len(own) == len(parts)
}
