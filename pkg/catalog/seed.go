package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"

	"glossa/pkg/table"
)

// A Seed is what a new table is given.
type Seed struct {
	Items []Item // records, and in all-models the rows of those among them that need one
	Force bool   // also in place of what was changed or deleted since
}

// Sown says what became of a seed, by sort keys.
type Sown struct{ Written, Kept, Deleted []string }

// Sow writes those records of which the table has none, and lists their models. What was
// given once is not given again: what an operator has changed or deleted stays so. One
// that was cut off can be done again. What was done is told also with an error.
func (e Editor) Sow(ctx context.Context, s Seed) (sown Sown, err error) {
	all, err := valid(s.Items, nil)
	if err != nil {
		return sown, err
	}
	given, err := e.Given(ctx)
	if err != nil {
		return sown, err
	}
	var rows []Row
	if list := all[allSK]; list != nil {
		for _, r := range list.models {
			if s.Force || !given[r.Family+"-"+r.Name] {
				rows = append(rows, r.Row)
			}
		}
		delete(all, allSK)
	}
	keys := slices.Sorted(maps.Keys(all))
	for _, key := range keys {
		if err := e.sow(ctx, &sown, all[key], given[key], s.Force); err != nil {
			return sown, err
		}
	}
	if err := e.list(ctx, &sown, rows, s.Force); err != nil {
		return sown, err
	}
	return sown, e.Give(ctx, keys...)
}

// sow writes one record if it is to be.
func (e Editor) sow(ctx context.Context, sown *Sown, it *item, given, force bool) error {
	stored, err := store(it)
	if err != nil {
		return err
	}
	fate := &sown.Written
	switch {
	case force:
		err = e.Table.Put(ctx, stored)
	case given:
		fate = &sown.Kept
		if _, err = e.Table.Get(ctx, stored.Key()); errors.Is(err, table.ErrNotFound) {
			fate, err = &sown.Deleted, nil
		}
	default:
		if err = e.Table.Put(ctx, stored, table.Absent()); errors.Is(err, table.ErrCondition) {
			fate, err = &sown.Kept, nil
		}
	}
	if err == nil {
		*fate = append(*fate, it.SK)
	}
	return err
}

// list adds the rows of models that are not listed, or with force all.
func (e Editor) list(ctx context.Context, sown *Sown, rows []Row, force bool) error {
	if len(rows) == 0 {
		return nil
	}
	added := false
	err := e.change(ctx, func(l list) (list, error) {
		missing := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !force && l.has(model{r.Family, r.Name}) })
		added = len(missing) > 0
		return l.put(missing)
	})
	if err == nil && added {
		sown.Written = append(sown.Written, allSK)
	}
	return err
}

// seeds is the item that says what was given, beside the partition of the records.
var seeds = table.Key{PK: "seeds", SK: "models"}

// Given returns the names of what the table and its bucket were given by seeds.
func (e Editor) Given(ctx context.Context) (map[string]bool, error) {
	it, err := e.Table.Get(ctx, seeds)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, err
	}
	given := map[string]bool{}
	names, _ := it["names"].([]any)
	for _, name := range names {
		if s, ok := name.(string); ok {
			given[s] = true
		}
	}
	return given, nil
}

// Give adds to the names of what was given.
func (e Editor) Give(ctx context.Context, names ...string) error {
	given, err := e.Given(ctx)
	if err != nil {
		return err
	}
	before := len(given)
	for _, name := range names {
		given[name] = true
	}
	if len(given) == before {
		return nil
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list = append(list, name)
	}
	return e.Table.Put(ctx, table.Item{"pk": seeds.PK, "sk": seeds.SK, "names": list})
}
