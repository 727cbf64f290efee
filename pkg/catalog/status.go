package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A Status says of one item of records what it does for the models.
type Status struct {
	Item     string   // its sort key
	Served   []string // the names of the models that it describes and that are served
	Why      string   // why there are none
	Unlisted bool     // nothing is wrong: no list names a model of it, as records of groups may have none
	Warnings []string
}

// Status returns the status of every item, in the order of their sort keys, and the problems of
// all models, as [Catalog.Entries] has them. Models without an item have only problems.
func (c *Catalog) Status(ctx context.Context) ([]Status, []error) {
	v, err := c.view(ctx)
	if err != nil {
		return nil, []error{err}
	}
	var list []Status
	for _, key := range slices.Sorted(maps.Keys(v.items)) {
		if s := v.status(key); key != allSK || s.Why != "" {
			list = append(list, s)
		}
	}
	return list, v.all()
}

// status returns the status of an item.
func (v *view) status(key string) Status {
	it, s := v.items[key], Status{Item: key}
	for _, e := range v.entries {
		if e.Item == key {
			s.Served = append(s.Served, e.Name)
		}
	}
	for _, w := range it.warnings {
		s.Warnings = append(s.Warnings, w.Error())
	}
	if s.Served == nil {
		s.Why, s.Unlisted = v.why(key, it)
	}
	return s
}

// why returns why no model of an item is served, and whether that is only because no list names
// one; for the list itself, why some are not.
func (v *view) why(key string, it *item) (text string, unlisted bool) {
	var list []string
	for _, m := range it.mistakes {
		list = append(list, m.Error())
	}
	family, name, _ := strings.Cut(key, "-")
	for _, problem := range v.problems {
		for _, about := range []string{"record " + key + ": ", "model " + family + "/" + name + ": ", "model " + name + ": ", key + ": "} {
			text, ok := strings.CutPrefix(problem.Error(), about)
			if ok && !IsWarning(problem) && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	switch {
	case list != nil || key == allSK:
		return strings.Join(list, "; "), false
	case family != Local && v.records != nil:
		return "no list names its model: it is served when a request names it, and lends its schema to others of its group", true
	case family != Local:
		return "no list names its model, and only listed models are served; it lends its schema to others of its group", true
	}
	return "another record has the name of its model", false
}
