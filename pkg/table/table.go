// Package table keeps items in one DynamoDB table, whose keys are the strings pk and
// sk. Reads are consistent: they see all earlier writes. The package refuses to know
// what items mean, who may change them, and when they expire: an item whose time to
// live is over stays until the service removes it, which may take days.
//
// Source: Amazon DynamoDB API Reference, API version 2012-08-10.
package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"

	"glossa/pkg/backend/awsrest"
)

// Errors of a [Table]; an error of the service is wrapped in one of them, or returned
// as it is. No error contains a value of an item.
var (
	ErrNotFound  = errors.New("no such item")
	ErrCondition = errors.New("the item is not as expected")
	ErrThrottled = errors.New("the table is throttled")
	ErrNoTable   = errors.New("no such table")
)

// A Key identifies an item. PK is UTF-8 of 1 to 2048 bytes, SK of 1 to 1024.
type Key struct{ PK, SK string }

// An Item is one item of at most 400 KB, its key in "pk" and "sk". Values are those of
// encoding/json, with numbers as [json.Number]: strings of UTF-8, booleans, nil, []any
// and map[string]any up to 32 levels deep, and numbers of up to 38 digits. They come
// back unchanged, except that numbers have the service's format: 1e2 is 100, 1.50 is
// 1.5. int, int64, float64 and Item are accepted too. Items of other writers may have
// more types: sets become unordered lists, bytes base64.
type Item map[string]any

// Key returns the key of the item.
func (i Item) Key() Key {
	pk, _ := i["pk"].(string)
	sk, _ := i["sk"].(string)
	return Key{pk, sk}
}

// A Table is one table. It is safe for concurrent use.
type Table struct {
	client *awsrest.Client
	name   string
	limits limits
	tokens *ratelimit.TokenRateLimit // of retries
}

// New returns the table of that name, of a client of [awsrest.DynamoDB]; it makes no call yet.
// A call, including its retries, takes at most 6.3 s, or until ctx ends.
func New(client *awsrest.Client, name string) *Table { return limited(client, name, defaultLimits()) }

func limited(client *awsrest.Client, name string, l limits) *Table {
	return &Table{client, name, l, ratelimit.NewTokenRateLimit(retryTokens)}
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Check returns the reason why items cannot be read: [ErrNoTable], wrong keys, no permission.
func (t *Table) Check(ctx context.Context) error {
	_, err := t.Get(ctx, Key{"check", "check"}) // a role that may read items may not always describe tables
	if e, ok := errors.AsType[*awsrest.Error](err); ok && e.Name == "ValidationException" {
		return fmt.Errorf("the keys of table %s must be the strings pk and sk: %w", t.name, err)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Get returns the item of a key, or [ErrNotFound], also for an invalid key.
func (t *Table) Get(ctx context.Context, k Key) (Item, error) {
	if k.check() != nil {
		return nil, ErrNotFound
	}
	out, err := t.call(ctx, "GetItem", map[string]any{"Key": k.attributes(), "ConsistentRead": true}, true)
	switch {
	case err != nil:
		return nil, err
	case out["Item"] == nil:
		return nil, ErrNotFound
	}
	return decode(out["Item"]), nil
}

// Query returns the items of pk whose sk begins with prefix, ordered by the bytes of sk.
func (t *Table) Query(ctx context.Context, pk, prefix string) (items []Item, err error) {
	for page, err := range t.Pages(ctx, pk, prefix) {
		if err != nil {
			return nil, err
		}
		items = append(items, page...)
	}
	return items, nil
}

// Pages is [Table.Query] in the pages of the service, of at most 1 MB. The next page is
// requested when the loop continues.
func (t *Table) Pages(ctx context.Context, pk, prefix string) iter.Seq2[[]Item, error] {
	return func(yield func([]Item, error) bool) {
		if (Key{pk, cmp.Or(prefix, "any")}).check() != nil {
			return // none can exist
		}
		for request := query(pk, prefix); ; {
			page, err := t.call(ctx, "Query", request, true)
			if err != nil {
				yield(nil, err)
				return
			}
			list, _ := page["Items"].([]any)
			items := make([]Item, len(list))
			for i, item := range list {
				items[i] = decode(item)
			}
			next := page["LastEvaluatedKey"]
			if !yield(items, nil) || next == nil {
				return
			}
			request["ExclusiveStartKey"] = next
		}
	}
}

func query(pk, prefix string) map[string]any {
	condition, values := "pk = :pk", map[string]any{":pk": textAttribute(pk)}
	if prefix != "" {
		condition += " AND begins_with(sk, :sk)"
		values[":sk"] = textAttribute(prefix)
	}
	return map[string]any{"ConsistentRead": true, "KeyConditionExpression": condition, "ExpressionAttributeValues": values}
}

// Put writes the item, replacing one with its key, if that meets the conditions; else it
// writes nothing and returns [ErrCondition]. After other errors the write may have
// happened.
func (t *Table) Put(ctx context.Context, item Item, conditions ...Condition) error {
	if err := item.Key().check(); err != nil {
		return err
	}
	attributes, err := encode(item, 0)
	if err != nil {
		return err
	}
	return t.write(ctx, "PutItem", map[string]any{"Item": attributes}, conditions)
}

// Delete removes the item of a key, if it meets the conditions; else it returns
// [ErrCondition]. A missing item is not an error, unless a condition requires it.
func (t *Table) Delete(ctx context.Context, k Key, conditions ...Condition) error {
	if err := k.check(); err != nil {
		return err
	}
	return t.write(ctx, "DeleteItem", map[string]any{"Key": k.attributes()}, conditions)
}

// write makes a call that replaces or removes an item, under conditions.
func (t *Table) write(ctx context.Context, op string, request map[string]any, conditions []Condition) error {
	e := newExpression()
	if err := e.require(request, conditions); err != nil {
		return err
	}
	_, err := t.call(ctx, op, request, len(conditions) == 0)
	return err
}

// A Change changes attributes of one item in one step; each attribute may occur once.
type Change struct {
	Add    map[string]int64 // to numbers; a missing one counts as 0
	Set    Item             // values
	Remove []string         // may be missing
}

// Update changes the item of a key, or creates it, if it meets the conditions; else it
// changes nothing and returns [ErrCondition]. It returns the new item.
func (t *Table) Update(ctx context.Context, k Key, c Change, conditions ...Condition) (Item, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	e := newExpression()
	update, err := e.change(c)
	if err != nil {
		return nil, err
	}
	request := map[string]any{"Key": k.attributes(), "UpdateExpression": update, "ReturnValues": "ALL_NEW"}
	if err := e.require(request, conditions); err != nil {
		return nil, err
	}
	out, err := t.call(ctx, "UpdateItem", request, len(conditions) == 0 && len(c.Add) == 0)
	if err != nil {
		return nil, err
	}
	return decode(out["Attributes"]), nil
}

// check returns an error if the key is invalid.
func (k Key) check() error {
	for _, part := range []struct {
		name, value string
		most        int // bytes
	}{{"pk", k.PK, 2048}, {"sk", k.SK, 1024}} {
		if part.value == "" || len(part.value) > part.most || !utf8.ValidString(part.value) {
			return fmt.Errorf("%s of an item must be UTF-8 of 1 to %d bytes", part.name, part.most)
		}
	}
	return nil
}

func (k Key) attributes() map[string]any {
	return map[string]any{"pk": textAttribute(k.PK), "sk": textAttribute(k.SK)}
}
