package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/table"
)

const (
	usagePK = "usage"
	leased  = "leased"
	// picodollars is the cost in items of usage; a table adds up integers only.
	picodollars = "picodollars"
	expires     = "expires" // seconds since 1970, the table's time to live
	keepAfter   = 8         // days that an account is kept after its period
	attempts    = 6         // of a lease that others interfere with
	maxKey      = 1024      // bytes of an item's sk
)

// A Table is a [Ledger] and a [Journal] in a DynamoDB table, for many machines. Accounts
// are pk=budget#PRINCIPAL, sk=PERIOD; usage is pk=usage, sk=DAY#PRINCIPAL#MODEL, and kept
// for 400 days.
//
// If an answer is lost, a lease may exist that nobody uses, and usage may be counted
// twice; nothing is returned twice.
type Table struct{ table *table.Table }

// NewTable returns a ledger in a table. It makes no call yet.
func NewTable(t *table.Table) *Table { return &Table{t} }

func (at Account) item() table.Key { return table.Key{PK: "budget#" + at.Principal, SK: at.Period} }

// expires returns the time from which the table may delete the account.
func (at Account) expires() int64 { return at.End.AddDate(0, 0, keepAfter).Unix() }

// Take implements [Ledger].
func (t *Table) Take(ctx context.Context, at Account, least, most, limit int64) (got, left int64, err error) {
	if least > limit {
		n, err := t.Leased(ctx, at)
		if err == nil {
			err = ErrSpent
		}
		return 0, max(0, limit-n), err
	}
	most = min(most, limit)
	for range attempts {
		change := table.Change{Add: map[string]int64{leased: most}, Set: table.Item{expires: at.expires()}}
		item, err := t.table.Update(ctx, at.item(), change, table.AtMost(leased, limit-most))
		if err == nil {
			n, err := figure(item, leased)
			return most, max(0, limit-n), err
		}
		if !errors.Is(err, table.ErrCondition) {
			return 0, 0, err
		}
		n, err := t.Leased(ctx, at)
		if err != nil {
			return 0, 0, err
		}
		if left = limit - n; left < least {
			return 0, max(0, left), ErrSpent
		}
		most = min(most, left)
	}
	return 0, left, ErrBusy
}

// Return implements [Ledger]. [table.Table] does not retry calls that may have taken effect.
func (t *Table) Return(ctx context.Context, at Account, n int64) error {
	change := table.Change{Add: map[string]int64{leased: -n}, Set: table.Item{expires: at.expires()}}
	var there []table.Condition // nothing can be returned to a deleted account
	if n > 0 {
		there = append(there, table.Present())
	}
	_, err := t.table.Update(ctx, at.item(), change, there...)
	if errors.Is(err, table.ErrThrottled) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// Leased implements [Ledger].
func (t *Table) Leased(ctx context.Context, at Account) (int64, error) {
	item, err := t.table.Get(ctx, at.item())
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return figure(item, leased)
}

// Add implements [Journal].
func (t *Table) Add(ctx context.Context, list []Usage) (int, error) {
	for i, u := range list {
		day, err := time.Parse(time.DateOnly, u.Day)
		if err != nil {
			return i, err
		}
		u.Model = strings.ToValidUTF8(u.Model, "\ufffd")
		k := table.Key{PK: usagePK, SK: u.Day + "#" + u.Principal + "#" + u.Model}
		if len(k.SK) > maxKey { // a name too long for a key must not block the others
			k.SK = strings.ToValidUTF8(k.SK[:maxKey], "")
		}
		add := map[string]int64{"requests": u.Requests, "input_tokens": u.Input, "output_tokens": u.Output}
		if u.Cost > 0 {
			add[picodollars] = int64(u.Cost)
		}
		_, err = t.table.Update(ctx, k, table.Change{
			Add: add,
			Set: table.Item{"day": u.Day, "principal": u.Principal, "model": u.Model, expires: day.AddDate(0, 0, keepDays).Unix()},
		})
		if err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// Of implements [Journal].
func (t *Table) Of(ctx context.Context, prefix string) ([]Usage, error) {
	items, err := t.table.Query(ctx, usagePK, prefix)
	if err != nil {
		return nil, err
	}
	sums := usage{}
	for _, item := range items {
		var u Usage
		b, err := json.Marshal(item)
		if err == nil {
			err = json.Unmarshal(b, &u)
		}
		if err == nil {
			var cost int64
			cost, err = figure(item, picodollars)
			u.Cost = llm.USD(cost)
		}
		if err != nil {
			return nil, fmt.Errorf("the item %q of the usage: %w", item.Key().SK, errCorrupt)
		}
		sums.add(u)
	}
	return sums.list(), nil
}

// figure reads an integer of an item; a missing one is 0.
func figure(item table.Item, name string) (int64, error) {
	v, ok := item[name]
	if !ok {
		return 0, nil
	}
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the item %q of %q: %s: %w", item.Key().SK, item.Key().PK, name, errCorrupt)
}
