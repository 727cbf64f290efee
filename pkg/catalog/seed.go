package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"

	"glossa/pkg/table"
)

// A Seed is the initial content of a table.
type Seed struct {
	Items []Item // records, and all-models with the rows that some of them need
	Force bool   // also write records that were changed or deleted since
}

// SeedResult is the result of writing a seed, by sort keys.
type SeedResult struct{ Written, Kept, Deleted []string }

// WriteSeed writes the records that the table lacks, and lists their models. It writes each
// record only once: an operator's changes and deletions stay. An interrupted call can be
// repeated. The result is valid even with an error.
func (e Editor) WriteSeed(ctx context.Context, s Seed) (sown SeedResult, err error) {
	all, err := valid(s.Items, nil)
	if err != nil {
		return sown, err
	}
	seeded, err := e.Seeded(ctx)
	if err != nil {
		return sown, err
	}
	var rows []Row
	if list := all[allSK]; list != nil {
		for _, r := range list.models {
			if s.Force || !seeded[r.Family+"-"+r.Name] {
				rows = append(rows, r.Row)
			}
		}
		delete(all, allSK)
	}
	keys := slices.Sorted(maps.Keys(all))
	for _, key := range keys {
		if err := e.writeSeedRecord(ctx, &sown, all[key], seeded[key], s.Force); err != nil {
			return sown, err
		}
	}
	if err := e.list(ctx, &sown, rows, s.Force); err != nil {
		return sown, err
	}
	return sown, e.MarkSeeded(ctx, keys...)
}

// writeSeedRecord writes one record if necessary.
func (e Editor) writeSeedRecord(ctx context.Context, sown *SeedResult, it *item, seeded, force bool) error {
	stored, err := store(it)
	if err != nil {
		return err
	}
	fate := &sown.Written
	switch {
	case force:
		err = e.Table.Put(ctx, stored)
	case seeded:
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
func (e Editor) list(ctx context.Context, sown *SeedResult, rows []Row, force bool) error {
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

// seededItem is the item with the names of the records that were seeded, outside the partition of the
// records.
var seededItem = table.Key{PK: "seeds", SK: "models"}

// Seeded returns the names that seeds have written to the table and its bucket.
func (e Editor) Seeded(ctx context.Context) (map[string]bool, error) {
	it, err := e.Table.Get(ctx, seededItem)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, err
	}
	seeded := map[string]bool{}
	names, _ := it["names"].([]any)
	for _, name := range names {
		if s, ok := name.(string); ok {
			seeded[s] = true
		}
	}
	return seeded, nil
}

// MarkSeeded adds names to those.
func (e Editor) MarkSeeded(ctx context.Context, names ...string) error {
	seeded, err := e.Seeded(ctx)
	if err != nil {
		return err
	}
	before := len(seeded)
	for _, name := range names {
		seeded[name] = true
	}
	if len(seeded) == before {
		return nil
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(seeded)) {
		list = append(list, name)
	}
	return e.Table.Put(ctx, table.Item{"pk": seededItem.PK, "sk": seededItem.SK, "names": list})
}
