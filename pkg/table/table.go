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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
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
	client     *dynamodb.Client
	name       string
	safe, once func(*dynamodb.Options) // how calls are retried
}

// New returns the table of that name; it makes no call yet. Retries and the time of a
// call are bounded here, whatever the client's settings: 6.3 s, or until ctx ends.
func New(client *dynamodb.Client, name string) *Table { return limited(client, name, defaultLimits()) }

func limited(client *dynamodb.Client, name string, l limits) *Table {
	safe, once := l.options(client)
	return &Table{client, name, safe, once}
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Check returns the reason why items cannot be read: [ErrNoTable], wrong keys, no permission.
func (t *Table) Check(ctx context.Context) error {
	_, err := t.Get(ctx, Key{"check", "check"}) // a role that may read items may not always describe tables
	if e, ok := errors.AsType[smithy.APIError](err); ok && e.ErrorCode() == "ValidationException" {
		return fmt.Errorf("the keys of table %s must be the strings pk and sk: %w", t.name, err)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Get returns the item of a key, or [ErrNotFound], also for an invalid key.
func (t *Table) Get(ctx context.Context, k Key) (Item, error) {
	key, err := k.attributes()
	if err != nil {
		return nil, ErrNotFound
	}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)}, t.safe)
	switch {
	case err != nil:
		return nil, t.fault("GetItem", err)
	case out.Item == nil:
		return nil, ErrNotFound
	}
	return decode(out.Item), nil
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
		for pages := dynamodb.NewQueryPaginator(t.client, t.query(pk, prefix)); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx, t.safe)
			if err != nil {
				yield(nil, t.fault("Query", err))
				return
			}
			items := make([]Item, len(page.Items))
			for i, item := range page.Items {
				items[i] = decode(item)
			}
			if !yield(items, nil) {
				return
			}
		}
	}
}

func (t *Table) query(pk, prefix string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	}
	if prefix != "" {
		*in.KeyConditionExpression += " AND begins_with(sk, :sk)"
		in.ExpressionAttributeValues[":sk"] = &types.AttributeValueMemberS{Value: prefix}
	}
	return in
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
	e := newExpression()
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: attributes}
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	_, err = t.client.PutItem(ctx, in, t.repeat(len(conditions) == 0))
	return t.fault("PutItem", err)
}

// Delete removes the item of a key, if it meets the conditions; else it returns
// [ErrCondition]. A missing item is not an error, unless a condition requires it.
func (t *Table) Delete(ctx context.Context, k Key, conditions ...Condition) error {
	key, err := k.attributes()
	if err != nil {
		return err
	}
	e := newExpression()
	in := &dynamodb.DeleteItemInput{TableName: &t.name, Key: key}
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	_, err = t.client.DeleteItem(ctx, in, t.repeat(len(conditions) == 0))
	return t.fault("DeleteItem", err)
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
	key, err := k.attributes()
	if err != nil {
		return nil, err
	}
	e := newExpression()
	update, err := e.change(c)
	if err != nil {
		return nil, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key, UpdateExpression: &update, ReturnValues: types.ReturnValueAllNew,
	}
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return nil, err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	out, err := t.client.UpdateItem(ctx, in, t.repeat(len(conditions) == 0 && len(c.Add) == 0))
	if err != nil {
		return nil, t.fault("UpdateItem", err)
	}
	return decode(out.Attributes), nil
}

// repeat returns the retry options of a write.
func (t *Table) repeat(safe bool) func(*dynamodb.Options) {
	if safe {
		return t.safe
	}
	return t.once
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

func (k Key) attributes() (map[string]types.AttributeValue, error) {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: k.PK}, "sk": &types.AttributeValueMemberS{Value: k.SK},
	}, k.check()
}

// fault returns the error of a failed call, wrapped in one of the package's errors if callers can
// act on it.
func (t *Table) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return ErrCondition
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return fmt.Errorf("dynamodb %s: %w: %s in %s: %w", op, ErrNoTable, t.name, t.client.Options().Region, err)
	}
	if t.client.Options().Region == "" {
		return fmt.Errorf("dynamodb %s of table %s: no AWS region: set AWS_REGION, for example to us-east-1, or AWS_PROFILE: %w", op, t.name, err)
	}
	if (retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}).IsErrorThrottle(err).Bool() {
		return fmt.Errorf("dynamodb %s of table %s: %w: %w", op, t.name, ErrThrottled, err)
	}
	return fmt.Errorf("dynamodb %s of table %s: %w", op, t.name, err)
}
