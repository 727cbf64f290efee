// Package table keeps items in one DynamoDB table, whose keys are the strings pk and
// sk. Reads are consistent: what was written is seen. It refuses to know what items
// mean, and who may change them.
//
// Source: Amazon DynamoDB API Reference, API version 2012-08-10.
package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Errors of a [Table]; what comes from the service is wrapped in one of them or as it
// is.
var (
	ErrNotFound  = errors.New("no such item")
	ErrCondition = errors.New("the item is not as it was expected")
	ErrThrottled = errors.New("the table is throttled")
)

// A Key names one item.
type Key struct{ PK, SK string }

// An Item is one item, its key in "pk" and "sk". Values are those of encoding/json,
// with numbers as [json.Number]; integers may be given too.
type Item map[string]any

// Key returns the key of the item.
func (i Item) Key() Key {
	pk, _ := i["pk"].(string)
	sk, _ := i["sk"].(string)
	return Key{pk, sk}
}

// A Table is one table. It may be used by many at once.
type Table struct {
	client *dynamodb.Client
	name   string
}

// New returns the table of that name; nothing is asked of it yet.
func New(client *dynamodb.Client, name string) *Table { return &Table{client, name} }

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Get returns the item of a key, or [ErrNotFound].
func (t *Table) Get(ctx context.Context, k Key) (Item, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: k.attributes(), ConsistentRead: aws.Bool(true)})
	switch {
	case err != nil:
		return nil, t.fault("GetItem", err)
	case out.Item == nil:
		return nil, ErrNotFound
	}
	return decode(out.Item), nil
}

// Query returns the items of pk whose sk begins with prefix, ordered by sk.
func (t *Table) Query(ctx context.Context, pk, prefix string) ([]Item, error) {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	}
	if prefix != "" {
		*in.KeyConditionExpression += " AND begins_with(sk, :sk)"
		in.ExpressionAttributeValues[":sk"] = &types.AttributeValueMemberS{Value: prefix}
	}
	var items []Item
	for pages := dynamodb.NewQueryPaginator(t.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, t.fault("Query", err)
		}
		for _, item := range page.Items {
			items = append(items, decode(item))
		}
	}
	return items, nil
}

// Put writes the item in place of the one with its key, if that meets the conditions;
// else nothing is written: [ErrCondition].
func (t *Table) Put(ctx context.Context, item Item, conditions ...Condition) error {
	attributes, err := encode(item)
	if err != nil {
		return err
	}
	e := newExpression()
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: attributes}
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	_, err = t.client.PutItem(ctx, in)
	return t.fault("PutItem", err)
}

// Delete removes the item of a key, if it meets the conditions; else [ErrCondition].
// One that is not there is no error, unless a condition asks for it.
func (t *Table) Delete(ctx context.Context, k Key, conditions ...Condition) error {
	e := newExpression()
	in := &dynamodb.DeleteItemInput{TableName: &t.name, Key: k.attributes()}
	var err error
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	_, err = t.client.DeleteItem(ctx, in)
	return t.fault("DeleteItem", err)
}

// A Change changes attributes of one item in one step.
type Change struct {
	Add    map[string]int64 // to numbers; what is not there counts as 0
	Set    Item             // values
	Remove []string
}

// Update changes the item of a key, which it makes if there is none, if that meets the
// conditions; else nothing is changed: [ErrCondition]. It returns the item as it is
// now.
func (t *Table) Update(ctx context.Context, k Key, c Change, conditions ...Condition) (Item, error) {
	e := newExpression()
	update, err := e.change(c)
	if err != nil {
		return nil, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: k.attributes(), UpdateExpression: &update, ReturnValues: types.ReturnValueAllNew,
	}
	if in.ConditionExpression, err = e.conditions(conditions); err != nil {
		return nil, err
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.names, e.given()
	out, err := t.client.UpdateItem(ctx, in)
	if err != nil {
		return nil, t.fault("UpdateItem", err)
	}
	return decode(out.Attributes), nil
}

// Create makes the table, with the attribute "expires" as its time to live, and waits
// until it can be used. It is for tests and laptops; deployed ones are made by infra.
func (t *Table) Create(ctx context.Context) error {
	str := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := t.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &t.name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{str("pk"), str("sk")},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil {
		return t.fault("CreateTable", err)
	}
	return dynamodb.NewTableExistsWaiter(t.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, time.Minute)
}

func (k Key) attributes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: k.PK}, "sk": &types.AttributeValueMemberS{Value: k.SK},
	}
}

// fault says which call failed and why, in a word that callers can ask for.
func (t *Table) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return ErrCondition
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		code := e.ErrorCode()
		if strings.Contains(code, "Throttl") || code == "ProvisionedThroughputExceededException" || code == "RequestLimitExceeded" {
			return fmt.Errorf("dynamodb %s of table %s: %w: %w", op, t.name, ErrThrottled, err)
		}
	}
	return fmt.Errorf("dynamodb %s of table %s: %w", op, t.name, err)
}
