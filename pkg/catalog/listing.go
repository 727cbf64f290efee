package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"glossa/pkg/schema"
)

// A listing is the joint content of items.
type listing struct {
	records  []Record
	unserved []model // they are listed, and have no valid record
	problems []error
	items    itemSet // all of them
}

// model names a model.
type model struct{ family, name string }

func (m model) String() string { return m.family + "/" + m.name }

// A reader parses items. It keeps the parsed ones until the next read.
type reader struct{ seen map[string]*item } // by the item's JSON

// An itemSet holds items by their sort keys.
type itemSet map[string]*item

// parse returns an item, the one of the last read if its JSON is the same.
func (r *reader) parse(stored Item, now map[string]*item) *item {
	it := r.seen[string(stored.JSON)]
	if it == nil {
		it = parseItem(stored.JSON)
	}
	now[it.raw] = it
	return it
}

// index parses the items. Records without a schema may use that of a group, also one of
// inherited.
func (r *reader) index(items []Item, inherited itemSet) (all itemSet, problems []error) {
	all = itemSet{}
	now := map[string]*item{}
	read := make([]string, len(items)) // the sort keys of the items in all
	for i, stored := range items {
		wrong := func(err error) { problems = append(problems, fmt.Errorf("record %s: %w", stored.Name, err)) }
		if stored.Err != nil {
			wrong(stored.Err)
			continue
		}
		it := r.parse(stored, now)
		switch {
		case it.SK == "":
			for _, m := range it.mistakes {
				wrong(m)
			}
		case all[it.SK] != nil:
			wrong(fmt.Errorf("another file also has the sk %q", it.SK))
		default:
			all[it.SK], read[i] = it, it.SK
		}
	}
	r.seen = now
	all.lend(inherited)
	for i, key := range read {
		if key != "" {
			problems = append(problems, all[key].problems(items[i].Name)...)
		}
	}
	return all, problems
}

// problems returns the problems of an item, with the name under which it is stored.
func (it *item) problems(name string) (list []error) {
	for _, m := range it.mistakes {
		list = append(list, fmt.Errorf("record %s: %w", name, m))
	}
	warnings := slices.Clone(it.warnings)
	if it.streaming != nil && *it.streaming && it.remote != nil && it.remote.Stream == nil {
		warnings = append(warnings, schema.Mistake{Pointer: "/streaming", Message: "it does not stream: its schema has no response-with-stream"})
	}
	if it.images != nil && *it.images && it.remote != nil && !it.remote.Images() {
		warnings = append(warnings, schema.Mistake{Pointer: "/images", Message: "it reads no images: its schema writes none in messages of the user"})
	}
	if it.remote != nil && it.lender == nil {
		for _, m := range it.remote.Warnings() {
			m.Pointer = "/schema" + m.Pointer
			warnings = append(warnings, m)
		}
	}
	for _, m := range warnings {
		list = append(list, fmt.Errorf("record %s: %w", name, Warning{m}))
	}
	return list
}

// lend gives each remote record without a schema that of the nearest group that has one, of
// these items or the inherited ones.
func (s itemSet) lend(inherited itemSet) {
	for key, it := range s {
		family, name, _ := strings.Cut(key, "-")
		if rank(family) < 1 || it.schema != nil || len(it.mistakes) > 0 {
			continue
		}
		lent := *it // the item itself stays as it is: at the next read the group may be another
		for _, key := range it.lenders(family, name) {
			g := cmp.Or(s[key], inherited[key])
			if g != nil && g.lender == nil && g.remote != nil && len(g.mistakes) == 0 {
				lent.remote, lent.lender = g.remote, g
				break
			}
		}
		if lent.remote == nil {
			lent.wrong("/schema", "it is missing, and no record of a group has one for %s: looked for %s", short(name), short(strings.Join(it.lenders(family, name), ", ")))
		}
		s[key] = &lent
	}
}

// read joins the rows of all-models with their records, and then the records that are
// listed without a row. inherited is as in [reader.index].
func (r *reader) read(items []Item, inherited itemSet) listing {
	all, problems := r.index(items, inherited)
	l := listing{problems: problems, items: all}
	rowed := map[string]bool{} // keys of models that have a row
	if list := all[allSK]; list != nil {
		for _, row := range list.models {
			if key := row.Family + "-" + row.Name; rowed[key] {
				l.problems = append(l.problems, Warning{fmt.Errorf("all-models: /models/%d: %s/%s has an earlier row, which takes precedence", row.index, short(row.Family), short(row.Name))})
			} else {
				rowed[key] = true
				l.add(all, row)
			}
		}
	}
	for _, m := range all.selfListed() {
		it := all[m.family+"-"+m.name]
		switch {
		case rowed[it.SK]:
		case len(it.mistakes) == 0:
			l.records = append(l.records, it.record(it.row(m)))
		case m.family != Local:
			l.unserved = append(l.unserved, m)
		}
	}
	return l
}

// add adds the model of a row.
func (l *listing) add(all itemSet, row row) {
	it, err := all.describe(row.Row)
	if err != nil {
		l.unserved = append(l.unserved, model{row.Family, row.Name})
		l.problems = append(l.problems, fmt.Errorf("all-models: /models/%d: %w", row.index, err))
		return
	}
	if row.Streaming && it != nil && it.remote != nil && it.remote.Stream == nil {
		l.problems = append(l.problems, Warning{fmt.Errorf("all-models: /models/%d/streaming: %s/%s does not stream: its record %s has no response-with-stream",
			row.index, row.Family, row.Name, it.SK)})
	}
	l.records = append(l.records, it.record(row.Row))
}

// find returns the record of a model, nil if there is none.
func (s itemSet) find(family, name string) *item {
	for _, key := range Keys(family, name) {
		if it := s[key]; it != nil {
			return it
		}
	}
	return nil
}

// describe is find for a model that is to be served; the error says why it cannot be.
// Unknown families need no record: their opener describes their models.
func (s itemSet) describe(row Row) (*item, error) {
	it := s.find(row.Family, row.Name)
	switch {
	case rank(row.Family) < 0:
		return nil, nil
	case it == nil:
		return nil, NoRecord{row.Family, row.Name}
	case len(it.mistakes) > 0:
		return it, fmt.Errorf("%s, the record of %s/%s, has errors", it.SK, row.Family, short(row.Name))
	}
	return it, nil
}

// NoRecord is the error of a model that no record describes.
type NoRecord struct{ Family, Name string }

func (e NoRecord) Error() string {
	keys := Keys(e.Family, e.Name)
	if len(keys) > 12 {
		keys = append(slices.Clone(keys[:11]), "…", keys[len(keys)-1])
	}
	for i := range keys {
		keys[i] = short(keys[i])
	}
	return fmt.Sprintf("no record of %s/%s: looked for %s", e.Family, short(e.Name), strings.Join(keys, ", "))
}

// Find returns the sort key of the item that describes a model, "" if there is none.
func Find(items []Item, family, name string) string {
	var r reader
	all, _ := r.index(items, nil)
	if it := all.find(family, name); it != nil {
		return it.SK
	}
	return ""
}

// record joins the row of a model with its item, which may be nil.
func (it *item) record(row Row) Record {
	if it == nil {
		return Record{Name: row.Name, Family: row.Family, Type: row.Type, Streaming: row.Streaming}
	}
	l, raw, guardrail, region, role, images := it.local, it.raw, it.guardrail, it.region, it.role, it.images
	if it.lender != nil {
		raw += it.lender.raw
		guardrail, region = cmp.Or(guardrail, it.lender.guardrail), cmp.Or(region, it.lender.region)
		role, images = cmp.Or(role, it.lender.role), cmp.Or(images, it.lender.images)
	}
	return Record{
		Name: row.Name, Family: row.Family, Key: it.SK, Type: row.Type,
		Description: it.description, Hostings: it.hostings, Context: int(it.context), Created: time.Time(it.created),
		Streaming: row.Streaming && (it.remote == nil || it.remote.Stream != nil),
		Images:    (images == nil || *images) && it.remote.Images(),
		Schema:    it.remote, ModelID: it.modelID, Endpoint: it.endpoint, Component: it.component, Guardrail: guardrail, Region: region, Role: role, Upstream: it.upstream, Drop: it.drop,
		Fallbacks: it.fallbacks, CacheSeconds: int(it.cache), Prices: it.prices, IgnoreUnmapped: it.lenient,
		Checkpoint: l.checkpoint, ChatTemplate: l.chatTemplate, Reasons: l.reasons, Cap: string(l.cap), Aliases: l.aliases,
		ParseSpecial: it.special, Languages: l.languages, Quant: l.quant, KV: l.kv, Public: l.prefixes == publicPrefixes, NoDrafts: l.speculate != nil && !*l.speculate, Draft: l.draft, raw: raw,
	}
}

// Check returns the problems of items, which may use the schemas of groups. It does not
// check what depends on the models that are served, such as runs and fallbacks.
func Check(items, groups []Item) []error {
	var r reader
	inherited, _ := r.index(groups, nil)
	return r.read(items, inherited).problems
}
