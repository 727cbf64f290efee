package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"glossa/pkg/table"
)

// An Editor changes the records of a table. Many may do so at the same time: a change of
// all-models that conflicts with another one is made again.
type Editor struct{ Table *table.Table }

// An Addition lists what to write.
type Addition struct {
	Items    []Item // records, which replace those of the same sk; the rows of an all-models are added to the table's
	Rows     []Row  // of models, which replace those of the same names
	Defaults []Item // records for the rows that have no other
	Groups   []Item // lend their schemas to Items, and are not written
}

// maxStored is the largest item that a table takes, in bytes of names and values.
//
// Source: Amazon DynamoDB Developer Guide, "Service, account, and table quotas".
const maxStored = 400 << 10

// Add checks everything, then writes the records and lists the models; the error joins all
// problems. It returns the sort keys of the items that it has written, also with an error. A
// row streams if its record does.
func (e Editor) Add(ctx context.Context, a Addition) (written []string, err error) {
	stored, err := Table(e).Items(ctx)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(stored, a)
	if err != nil {
		return nil, err
	}
	for _, it := range p.put {
		if err := e.Table.Put(ctx, it); err != nil {
			return written, err
		}
		written = append(written, it.Key().SK)
	}
	for _, it := range p.defaults {
		err := e.Table.Put(ctx, it, table.Absent())
		if errors.Is(err, table.ErrCondition) {
			continue // another editor has written one
		}
		if err != nil {
			return written, err
		}
		written = append(written, it.Key().SK)
	}
	if len(p.rows) > 0 {
		if err := e.change(ctx, func(l list) (list, error) { return l.put(p.rows) }); err != nil {
			return written, err
		}
		written = append(written, allSK)
	}
	return written, nil
}

// Remove removes models from the list and, with own, their records, except those of groups.
// Without own, a record that lists its model without a row stays and says that it is not
// listed. A name is that of a model, or family/name if several have it. If one is missing,
// none is removed. It returns their families and names.
func (e Editor) Remove(ctx context.Context, names []string, own bool) (removed []string, err error) {
	stored, err := Table(e).Items(ctx)
	if err != nil {
		return nil, err
	}
	var r reader
	all, _ := r.index(stored, nil)
	var models []model
	var errs []error
	listed := all.models()
	for _, name := range names {
		m, err := all.named(listed, name, own)
		models, errs = append(models, m), append(errs, err)
	}
	if err := errors.Join(append(errs, all.orphans(models, own))...); err != nil {
		return nil, err
	}
	if all[allSK] != nil {
		err := e.change(ctx, func(l list) (list, error) { return l.drop(models), nil })
		if err != nil {
			return nil, err
		}
	}
	selfListed := all.selfListed()
	for _, m := range models {
		key := table.Key{PK: pk, SK: m.family + "-" + m.name}
		var err error
		switch {
		case own:
			err = e.Table.Delete(ctx, key)
		case slices.Contains(selfListed, m) && m.family != Local:
			_, err = e.Table.Update(ctx, key, table.Change{Set: table.Item{"listed": false}}, table.Present())
		}
		if err != nil && !errors.Is(err, table.ErrCondition) { // another editor has deleted it
			return removed, err
		}
		removed = append(removed, m.String())
	}
	return removed, nil
}

// A plan lists the items and rows that an addition writes.
type plan struct {
	put, defaults []table.Item
	rows          []Row
}

// newPlan checks an addition against what is stored.
func newPlan(stored []Item, a Addition) (*plan, error) {
	var r reader
	all, _ := r.index(stored, nil)
	groups, err := valid(a.Groups, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(groups, all)
	added, err := valid(a.Items, groups)
	if err != nil {
		return nil, err
	}
	defaults, err := valid(a.Defaults, nil)
	if err != nil {
		return nil, err
	}
	p := &plan{rows: slices.Clone(a.Rows)}
	var errs []error
	add := func(list *[]table.Item, it *item) {
		stored, err := store(it)
		errs = append(errs, err)
		*list = append(*list, stored)
		all[it.SK] = it
	}
	for _, key := range slices.Sorted(maps.Keys(added)) {
		if key != allSK {
			add(&p.put, added[key])
			continue
		}
		for _, row := range added[key].models {
			p.rows = append(p.rows, row.Row)
		}
	}
	for i, row := range p.rows {
		if it := defaults.find(row.Family, row.Name); it != nil && all.find(row.Family, row.Name) == nil {
			add(&p.defaults, it)
		}
		it, err := all.describe(row)
		if rank(row.Family) < 0 {
			err = fmt.Errorf("unknown family %q of %s", short(row.Family), short(row.Name))
		}
		if err == nil && it.remote != nil {
			p.rows[i].Streaming = row.Streaming && it.remote.Stream != nil
		}
		errs = append(errs, err)
	}
	errs = append(errs, all.room(p.rows))
	return p, errors.Join(errs...)
}

// room returns an error if all-models cannot take rows.
func (s itemSet) room(rows []Row) error {
	var item table.Item
	if it := s[allSK]; it != nil {
		if err := decode([]byte(it.raw), &item); err != nil {
			return err
		}
	}
	l, err := listOf(item["models"])
	if err == nil {
		l, err = l.put(rows)
	}
	if err == nil {
		_, err = l.value()
	}
	return err
}

// valid parses items, which may use the schemas of inherited; the error joins their problems.
func valid(items []Item, inherited itemSet) (itemSet, error) {
	var r reader
	all, problems := r.index(items, inherited)
	return all, errors.Join(slices.DeleteFunc(problems, IsWarning)...)
}

// store returns the item to write for a record. Its schema is a JSON string, as upstream
// reads it, because a table keeps neither the order of names nor the difference of 1.0 and 1.
func store(it *item) (table.Item, error) {
	var out table.Item
	if err := decode([]byte(it.raw), &out); err != nil {
		return nil, err
	}
	if text, ok := out["schema"].(string); it.lender == nil && (!ok || text == "") {
		var b bytes.Buffer
		if err := json.Compact(&b, it.schema); err != nil {
			return nil, err
		}
		out["schema"] = b.String()
	}
	return out, fits(it.SK, out)
}

// fits returns an error for an item that is too large.
func fits(key string, it table.Item) error {
	if n := stored(map[string]any(it)); n > maxStored {
		return fmt.Errorf("%s/%s has %d bytes; an item of a table has at most %d", pk, key, n, maxStored)
	}
	return nil
}

// stored is the size of a value in a table, in bytes; of a number, the maximum.
//
// Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats".
func stored(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.Number:
		return len(v) + 1
	case []any:
		for _, e := range v {
			n += stored(e) + 1
		}
		return n + 3
	case map[string]any:
		for name, e := range v {
			n += len(name) + stored(e) + 1
		}
		return n + 3
	}
	return 1
}

// rows returns the models that all-models lists.
func (s itemSet) rows() (list []model) {
	if all := s[allSK]; all != nil {
		for _, row := range all.models {
			list = append(list, model{row.Family, row.Name})
		}
	}
	return list
}

// models returns the listed models, except local ones without a row.
func (s itemSet) models() []model {
	list := s.rows()
	for _, m := range s.selfListed() {
		if m.family != Local && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// named returns the one of the models that has a name.
func (s itemSet) named(models []model, name string, own bool) (model, error) {
	var found []model
	for _, m := range models {
		if (m.name == name || m.String() == name) && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	switch family, key, ok := strings.Cut(name, "/"); {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return model{}, fmt.Errorf("%s is the name of several models: %s, %s", name, found[0], found[1])
	case own && ok && s[family+"-"+key] != nil:
		return model{family, key}, nil // a record that no row names
	}
	return model{}, fmt.Errorf("%s is not listed", short(name))
}

// orphans returns an error for each listed model that would lose its record.
func (s itemSet) orphans(gone []model, own bool) error {
	var errs []error
	for _, m := range s.models() {
		it := s.find(m.family, m.name)
		its := func(g model) bool {
			key := g.family + "-" + g.name
			return own && it != nil && (it.SK == key || it.lender != nil && it.lender.SK == key)
		}
		if slices.ContainsFunc(gone, its) && !slices.Contains(gone, m) {
			errs = append(errs, fmt.Errorf("the record %s also belongs to %s: remove that model first", cmp.Or(it.lender, it).SK, m))
		}
	}
	return errors.Join(errs...)
}

// maxChanges bounds how often a change of all-models is tried. It never succeeds on a list
// that compares unequal to its own reading, such as one with sets.
const (
	maxChanges = 100
	maxFaults  = 4
)

// change changes all-models, again if another change came in between. After a fault it is
// unknown whether the change was made, and f is called again: it must be idempotent.
func (e Editor) change(ctx context.Context, f func(list) (list, error)) error {
	faults, pause := 0, 10*time.Millisecond
	for range maxChanges {
		err := e.tryChange(ctx, f)
		if err != nil && !errors.Is(err, table.ErrCondition) {
			faults++
		}
		if err == nil || faults == maxFaults {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
	return fmt.Errorf("%s/%s: %d concurrent changes: %w", pk, allSK, maxChanges, table.ErrCondition)
}

// tryChange changes all-models unless another change comes in between.
func (e Editor) tryChange(ctx context.Context, f func(list) (list, error)) error {
	key := table.Key{PK: pk, SK: allSK}
	it, err := e.Table.Get(ctx, key)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	old, stands := it["models"]
	l, err := listOf(old)
	if err == nil {
		l, err = f(l)
	}
	if err != nil {
		return err
	}
	v, err := l.value()
	if err != nil {
		return err
	}
	condition := table.Missing("models")
	if stands {
		condition = table.Equal("models", old)
	}
	_, err = e.Table.Update(ctx, key, table.Change{Set: table.Item{"models": v}}, condition)
	return err
}
