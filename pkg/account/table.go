package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"glossa/pkg/table"
)

// accountsPK is the partition key of credentials; the sort key is KIND#ID.
const accountsPK = "accounts"

// pruneEvery is the number of tokens that a process adds between two checks for users
// with too many: a check reads all tokens.
const pruneEvery = 100

// A Table is a [Store] in a DynamoDB table, for many machines. It caches reads for 5
// seconds, so most requests read nothing. While the table is unreachable, cached
// credentials stay valid for [Patience], even if they are revoked meanwhile; others are
// llm.Unavailable, with the time to wait.
//
// An item's attributes are the JSON names of a [Credential], except that the expiry is
// "until". The attribute "expires", in seconds, is the table's time to live; only tokens
// have it, because an expired key is still listed.
type Table struct {
	table *table.Table
	known cache
	added atomic.Int64 // tokens
}

var _ Store = (*Table)(nil)

// NewTable returns the store in a table. It makes no call yet.
func NewTable(t *table.Table) *Table {
	return &Table{table: t, known: cache{now: time.Now}}
}

// Get implements [Store].
func (t *Table) Get(ctx context.Context, kind Kind, id string) (Credential, error) {
	if len(id) > maxName || id == "" {
		return Credential{}, ErrNotFound
	}
	return t.known.get(ctx, reference{kind, id}, func(ctx context.Context) (Credential, error) {
		item, err := t.table.Get(ctx, itemKey(kind, id))
		if errors.Is(err, table.ErrNotFound) {
			return Credential{}, ErrNotFound
		}
		if err != nil {
			return Credential{}, err
		}
		return fromItem(item)
	})
}

// Add implements [Store]. It keeps as many tokens of a user as a [File], plus those that
// each process has added since its last check.
func (t *Table) Add(ctx context.Context, c Credential) error {
	if err := c.check(); err != nil {
		return err
	}
	item, err := toItem(c)
	if err != nil {
		return err
	}
	err = t.table.Put(ctx, item, table.Absent())
	t.known.forget(reference{c.Kind, c.ID})
	switch {
	case errors.Is(err, table.ErrCondition):
		return ErrExists
	case err != nil:
		return unavailable(err)
	case c.Kind == Token && t.added.Add(1)%pruneEvery == 1 && t.prune(ctx) != nil:
		t.added.Add(-1) // the token is stored; the next one checks again
	}
	return nil
}

// prune deletes the oldest tokens of users with too many; the table deletes expired ones. Items
// that cannot be read stay.
func (t *Table) prune(ctx context.Context) error {
	items, err := t.table.Query(ctx, accountsPK, string(Token)+"#")
	if err != nil {
		return err
	}
	list := credentials{}
	for _, item := range items {
		if c, err := fromItem(item); err == nil {
			list[reference{c.Kind, c.ID}] = c
		}
	}
	for _, c := range list.excess() {
		if err := t.Delete(ctx, Token, c.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// Delete implements [Store].
func (t *Table) Delete(ctx context.Context, kind Kind, id string) error {
	err := t.table.Delete(ctx, itemKey(kind, id), table.Present())
	t.known.forget(reference{kind, id})
	if errors.Is(err, table.ErrCondition) {
		return ErrNotFound
	}
	return unavailable(err)
}

// SetLimits implements [Store].
func (t *Table) SetLimits(ctx context.Context, kind Kind, id string, limits Limits) error {
	if err := limits.Check(); err != nil {
		return err
	}
	change := table.Change{Remove: []string{"limits"}}
	if limits != (Limits{}) {
		change = table.Change{Set: table.Item{"limits": limits.values()}}
	}
	_, err := t.table.Update(ctx, itemKey(kind, id), change, table.Present())
	t.known.forget(reference{kind, id})
	if errors.Is(err, table.ErrCondition) {
		return ErrNotFound
	}
	return unavailable(err)
}

// List implements [Store]. It is never cached.
func (t *Table) List(ctx context.Context, kind Kind) ([]Credential, error) {
	items, err := t.table.Query(ctx, accountsPK, string(kind)+"#")
	if err != nil {
		return nil, unavailable(err)
	}
	list := credentials{}
	for _, item := range items {
		c, err := fromItem(item)
		if err != nil {
			return nil, err
		}
		list[reference{c.Kind, c.ID}] = c
	}
	return list.ofKind(kind), nil
}

func itemKey(kind Kind, id string) table.Key {
	return table.Key{PK: accountsPK, SK: string(kind) + "#" + id}
}

// values returns limits as attributes of an item.
func (l Limits) values() map[string]any {
	v := map[string]any{}
	if l.Requests.N > 0 {
		v["requests"] = l.Requests.String()
	}
	if l.TokensPerDay > 0 {
		v["tokens_per_day"] = l.TokensPerDay
	}
	if l.TokensPerMonth > 0 {
		v["tokens_per_month"] = l.TokensPerMonth
	}
	if l.USDPerDay > 0 {
		v["usd_per_day"] = json.Number(l.USDPerDay.String())
	}
	if l.USDPerMonth > 0 {
		v["usd_per_month"] = json.Number(l.USDPerMonth.String())
	}
	if l.Models != "" {
		v["models"] = string(l.Models)
	}
	if l.Team != "" {
		v["team"] = l.Team
	}
	return v
}

// toItem returns the item of a credential.
func toItem(c Credential) (table.Item, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, err
	}
	delete(values, "limits")
	if c.Limits != (Limits{}) {
		values["limits"] = c.Limits.values()
	}
	item := table.Item(values)
	if until, ok := item["expires"]; ok {
		item["until"] = until
		delete(item, "expires")
	}
	if c.Kind == Token {
		item["expires"] = c.Expires.Unix() + 1 // not before it expires
	}
	k := itemKey(c.Kind, c.ID)
	item["pk"], item["sk"] = k.PK, k.SK
	return item, nil
}

// fromItem decodes the credential of an item, which may have been written by hand. Its
// errors contain no hashes.
func fromItem(item table.Item) (Credential, error) {
	values := maps.Clone(item)
	for _, name := range []string{"pk", "sk", "expires", "until"} {
		delete(values, name)
	}
	if until, ok := item["until"]; ok {
		values["expires"] = until
	}
	var c Credential
	b, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err == nil {
		err = c.check()
	} else {
		err = decodeError(err)
	}
	if at := itemKey(c.Kind, c.ID); err == nil && item.Key() != at {
		err = errors.New("its kind and id do not match its key")
	}
	if err != nil {
		return Credential{}, fmt.Errorf("the item %s of the accounts: %w", strconv.Quote(item.Key().SK), err)
	}
	return c, nil
}
