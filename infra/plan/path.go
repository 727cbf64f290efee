package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/httpx"
)

// MaxResources is the default quota of resources of a REST API.
// Source: API Gateway Developer Guide, "Quotas for configuring and running a REST API".
const MaxResources = 300

// CatchAll is the family that answers unknown paths and the paths that all families have.
const CatchAll = app.CatchAll

// greedy is the last part of a resource that matches all paths below its parent.
const greedy = "{proxy+}"

// A Family is a function and its routes.
type Family struct {
	Name   string
	Routes []httpx.Route
}

// A Path is a resource of the REST API and the family that answers all its methods,
// including those without a route, so that 405, HEAD and OPTIONS behave the same
// everywhere.
type Path struct{ Resource, Family string }

// Paths returns the resources of the REST API, in order. API Gateway's variables match whole
// parts of a path, or the rest at its end. A pattern with a name in its middle that may
// contain slashes becomes one resource for everything with its prefix, and the function
// distinguishes what follows.
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
			return nil, fmt.Errorf("%s belongs to %s: API Gateway distinguishes only methods and paths", r, strings.Join(of, " and "))
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
			return "", fmt.Errorf("%s: API Gateway does not support paths that end in a slash", pattern)
		}
		parts = append(parts, part)
	}
	return "/" + strings.Join(parts, "/"), nil
}

// partName matches the parts of resources that API Gateway accepts, as its error message
// says.
var partName = regexp.MustCompile(`^([a-zA-Z0-9._:-]+|\{[a-zA-Z0-9._-]+\+?\})$`)

// checkTree returns the reasons why API Gateway would reject the paths.
func checkTree(paths []Path) error {
	nodes := map[string]bool{}
	variables := map[string]string{} // by parent: each can have one
	var errs []error
	for _, p := range paths {
		parent := ""
		for part := range strings.SplitSeq(strings.TrimPrefix(p.Resource, "/"), "/") {
			node := parent + "/" + part
			switch variable := strings.HasPrefix(part, "{") && part != greedy; {
			case part == "":
				continue
			case !partName.MatchString(part):
				errs = append(errs, fmt.Errorf("%s: API Gateway does not accept the part %q", p.Resource, part))
			case variable && variables[parent] != "" && variables[parent] != part:
				errs = append(errs, fmt.Errorf("%s: its parent already has the variable %s", p.Resource, variables[parent]))
			case variable:
				variables[parent] = part
			}
			nodes[node] = true
			parent = node
		}
	}
	if len(nodes) > MaxResources {
		errs = append(errs, fmt.Errorf("%d resources exceed API Gateway's quota of %d", len(nodes), MaxResources))
	}
	return errors.Join(errs...)
}

// Route returns the path that API Gateway chooses for the path of a request: at each part a
// literal before a variable, and a variable before the rest.
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

// match ranks how well a resource matches the parts of a path: a greater rank is better.
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
