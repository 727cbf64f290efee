package tabletest_test

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"glossa/pkg/table/tabletest"
)

var service = flag.String("dynamodb", "", "URL of a service to compare the fake with, such as dynalite's")

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue  { return &types.AttributeValueMemberN{Value: s} }

// key returns the key of an item, with further attributes.
func key(more ...any) attributes {
	a := attributes{"pk": text("refusals"), "sk": text("x")}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1].(types.AttributeValue)
	}
	return a
}

// putIf, update and query return requests with any expression.
func putIf(condition string, names map[string]string, values attributes) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{Item: key(), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}
}

func update(expression string, names map[string]string, values attributes) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{Key: key(), UpdateExpression: &expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values}
}

func query(expression string, values attributes) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{KeyConditionExpression: &expression, ExpressionAttributeValues: values}
}

// send sends an input to the table "glossa", or to the one that it names.
func send(t *testing.T, c *dynamodb.Client, in any) error {
	var err error
	name := aws.String("glossa")
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		if in.TableName == nil {
			in.TableName = name
		}
		_, err = c.GetItem(t.Context(), in)
	case *dynamodb.PutItemInput:
		in.TableName = name
		_, err = c.PutItem(t.Context(), in)
	case *dynamodb.DeleteItemInput:
		in.TableName = name
		_, err = c.DeleteItem(t.Context(), in)
	case *dynamodb.UpdateItemInput:
		in.TableName = name
		_, err = c.UpdateItem(t.Context(), in)
	case *dynamodb.QueryInput:
		in.TableName = name
		_, err = c.Query(t.Context(), in)
	case *dynamodb.DescribeTableInput:
		_, err = c.DescribeTable(t.Context(), in)
	case *dynamodb.TransactWriteItemsInput:
		in.TransactItems = []types.TransactWriteItem{{Delete: &types.Delete{TableName: name, Key: key()}}}
		_, err = c.TransactWriteItems(t.Context(), in)
	}
	return err
}

// A refusal is an input and its error, empty if it is accepted.
type refusal struct {
	in            any
	code, message string // starred if dynalite 4.0.0 differs
}

func refusals() []refusal {
	one, n, v := attributes{":v": num("1")}, map[string]string{"#n": "n"}, attributes{":v": text("x")}
	return []refusal{
		{&dynamodb.GetItemInput{Key: attributes{"pk": text("a")}}, "ValidationException", "The provided key element does not match the schema"},
		{&dynamodb.GetItemInput{Key: key("more", text("a"))}, "ValidationException", "The provided key element does not match the schema"},
		{&dynamodb.GetItemInput{Key: key("sk", num("1"))}, "ValidationException", "The provided key element does not match the schema"},
		{&dynamodb.GetItemInput{Key: key("sk", text(""))}, "ValidationException", "empty string value. Key: sk"},
		{&dynamodb.GetItemInput{Key: key(), TableName: aws.String("nowhere")}, "ResourceNotFoundException", "Requested resource not found"},
		{&dynamodb.DescribeTableInput{TableName: aws.String("nowhere")}, "ResourceNotFoundException", "Requested resource not found: Table: nowhere not found"},
		{&dynamodb.TransactWriteItemsInput{}, "UnknownOperationException", ""},
		{&dynamodb.PutItemInput{Item: attributes{"pk": text("a")}}, "ValidationException", "One or more parameter values were invalid: Missing the key sk in the item"},
		{&dynamodb.PutItemInput{Item: key("sk", num("1"))}, "ValidationException", "One or more parameter values were invalid: Type mismatch for key sk expected: S actual: N"},
		{&dynamodb.PutItemInput{Item: key("pk", text(""))}, "ValidationException", "empty string value. Key: pk"},
		{&dynamodb.PutItemInput{Item: key("pk", text(strings.Repeat("x", 2049)))}, "ValidationException", "maximum size limit of2048 bytes"},
		{&dynamodb.PutItemInput{Item: key("sk", text(strings.Repeat("x", 1025)))}, "ValidationException", "size limit of"},
		{&dynamodb.PutItemInput{Item: key("n", num("abc"))}, "ValidationException", "The parameter cannot be converted to a numeric value: abc"},
		{&dynamodb.PutItemInput{Item: key("n", num("1e126"))}, "ValidationException", "Number overflow. Attempting to store a number with magnitude larger than supported range"},
		{&dynamodb.PutItemInput{Item: key("n", num("1e-131"))}, "ValidationException", "Number underflow. Attempting to store a number with magnitude smaller than supported range"},
		{&dynamodb.PutItemInput{Item: key("n", num(strings.Repeat("1", 39)))}, "ValidationException", "Attempting to store more than 38 significant digits in a Number"},
		{&dynamodb.PutItemInput{Item: key("n", &types.AttributeValueMemberSS{Value: []string{}})}, "ValidationException", "An string set  may not be empty"},
		{&dynamodb.PutItemInput{Item: key("n", &types.AttributeValueMemberSS{Value: []string{"a", "a"}})}, "ValidationException", "contains duplicates."},
		{&dynamodb.PutItemInput{Item: key("n", &types.AttributeValueMemberNULL{Value: false})}, "ValidationException", "Null attribute value types must have the value of true"},
		{&dynamodb.PutItemInput{Item: key("n", text(strings.Repeat("x", 400<<10)))}, "ValidationException", "Item size has exceeded the maximum allowed size"},
		{&dynamodb.PutItemInput{Item: key(), ExpressionAttributeNames: n}, "ValidationException", "ExpressionAttributeNames can only be specified when using expressions"},
		{&dynamodb.PutItemInput{Item: key(), ExpressionAttributeValues: one}, "ValidationException", "ExpressionAttributeValues can only be specified when using expressions"},
		{putIf("attribute_exists(pk)", map[string]string{}, nil), "ValidationException", "ExpressionAttributeNames must not be empty"},
		{putIf("attribute_exists(pk)", nil, attributes{}), "ValidationException", "ExpressionAttributeValues must not be empty"},
		{putIf("attribute_exists(pk)", n, nil), "ValidationException", "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}"},
		{putIf("attribute_exists(pk)", nil, one), "ValidationException", "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"},
		{putIf("#m = :v", nil, one), "ValidationException", "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #m"},
		{putIf("pk = :w", nil, nil), "ValidationException", "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :w"},
		{putIf("pk =", nil, nil), "ValidationException", `Invalid ConditionExpression: Syntax error;`},
		{putIf("(pk = :v", nil, one), "ValidationException", `Invalid ConditionExpression: Syntax error;`},
		{putIf("pk = :v )", nil, one), "ValidationException", `Invalid ConditionExpression: Syntax error;`},
		{putIf("", nil, nil), "ValidationException", "Invalid ConditionExpression: The expression can not be empty;"},
		{putIf("#n <= :v", n, attributes{":v": &types.AttributeValueMemberBOOL{Value: true}}), "ValidationException*", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator: <=, operand type: BOOL"},
		{putIf("attribute_not_exists(pk)", nil, nil), "", ""},
		{putIf("attribute_not_exists(pk)", nil, nil), "ConditionalCheckFailedException", "The conditional request failed"},
		{putIf("attribute_not_exists(pk) OR pk = :v AND pk <= :w", nil, attributes{":v": text("refusals"), ":w": text("refusals")}), "", ""},
		{putIf("pk <= :v OR attribute_exists(sk) AND attribute_not_exists(pk)", nil, attributes{":v": text("a")}), "ConditionalCheckFailedException", "The conditional request failed"},
		{putIf("sk = :x OR pk = :v AND pk = :w", nil, attributes{":x": text("x"), ":v": text("a"), ":w": text("b")}), "", ""}, // AND before OR
		{putIf("(sk = :x OR pk = :v) AND pk = :w", nil, attributes{":x": text("x"), ":v": text("a"), ":w": text("b")}), "ConditionalCheckFailedException", ""},
		{update("", nil, nil), "ValidationException", "Invalid UpdateExpression: The expression can not be empty;"},
		{update("SET #n = :v SET #m = :v", map[string]string{"#n": "n", "#m": "m"}, one), "ValidationException", `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`},
		{update("ADD #n :v", n, v), "ValidationException", "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: STRING"},
		{update("SET #n = :v REMOVE #n", n, one), "ValidationException", "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]"},
		{update("SET pk = :v", nil, v), "ValidationException", "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
		{update("SET #n = :v", n, v), "", ""},
		{update("ADD #n :v", n, one), "ValidationException", "An operand in the update expression has an incorrect data type"},
		{update("SET #n = :v", n, attributes{":v": text(strings.Repeat("x", 400<<10))}), "ValidationException", "Item size to update has exceeded the maximum allowed size"},
		{update("SET #n :v", n, one), "ValidationException", `Invalid UpdateExpression: Syntax error;`},
		{&dynamodb.QueryInput{}, "ValidationException", "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
		{query("pk = :v", attributes{":v": text("")}), "ValidationException*", "empty string value. Key: pk"},
		{query("pk = :v", one), "ValidationException", "Condition parameter type does not match schema type"},
		{query("pk = :v AND begins_with(sk, :w", attributes{":v": text("a"), ":w": text("b")}), "ValidationException", `Invalid KeyConditionExpression: Syntax error;`},
		{query("pk = :v", attributes{":v": text("a"), ":w": text("b")}), "ValidationException", "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"},
		{&dynamodb.DeleteItemInput{Key: key()}, "", ""},
	}
}

// TestRefusals checks the fake's errors for invalid requests, and that another
// service, if one is given, has the same.
func TestRefusals(t *testing.T) {
	clients := map[string]*dynamodb.Client{"fake": tabletest.New(t).Client()}
	if *service != "" {
		clients["service"] = tabletest.Client(*service)
		err := tabletest.Create(t.Context(), clients["service"], "glossa")
		if _, ok := errors.AsType[*types.ResourceInUseException](err); err != nil && !ok {
			t.Fatal(err)
		}
	}
	for _, c := range refusals() {
		code, fakeOnly := strings.CutSuffix(c.code, "*")
		for name, client := range clients {
			if fakeOnly && name != "fake" {
				continue
			}
			err := send(t, client, c.in)
			if code == "" {
				if err != nil {
					t.Errorf("%s, %#v: %v", name, c.in, err)
				}
				continue
			}
			e, ok := errors.AsType[smithy.APIError](err)
			if !ok || e.ErrorCode() != code || !strings.Contains(e.ErrorMessage(), c.message) {
				t.Errorf("%s: %v\nwant %s: %s", name, err, code, c.message)
			}
		}
	}
}

// TestUnknown checks that the fake rejects everything that it does not support.
func TestUnknown(t *testing.T) {
	c := tabletest.New(t).Client()
	n, one := map[string]string{"#n": "n"}, attributes{":v": num("1")}
	for _, in := range []any{
		putIf("#n < :v", n, one), putIf("#n <> :v", n, one), putIf("NOT #n = :v", n, one), putIf("#n BETWEEN :v AND :v", n, one), putIf("size(#n) = :v", n, one),
		putIf("contains(#n, :v)", n, one), putIf("#n.#n = :v", n, one), putIf("status = :v", nil, one), putIf(":v = #n", n, one),
		update("SET #n = #n + :v", n, one), update("SET #n = if_not_exists(#n, :v)", n, one), update("DELETE #n :v", n, one), update("SET #n[0] = :v", n, one),
		query("pk = :v AND sk = :v", attributes{":v": text("a")}), query("sk = :v", attributes{":v": text("a")}),
		&dynamodb.PutItemInput{Item: key(), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal},
		&dynamodb.GetItemInput{Key: key(), ProjectionExpression: aws.String("pk")}, &dynamodb.QueryInput{Limit: aws.Int32(1)},
	} {
		if e, ok := errors.AsType[smithy.APIError](send(t, c, in)); !ok || e.ErrorCode() != "ValidationException" && e.ErrorCode() != "SerializationException" {
			t.Errorf("%#v: %v", in, e)
		}
	}
}

// TestWire checks one answer and one error byte by byte.
func TestWire(t *testing.T) {
	s := tabletest.New(t)
	for _, c := range []struct{ target, body, want string }{
		{"DynamoDB_20120810.PutItem", `{"TableName":"glossa","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"n":{"N":"01.50"},"l":{"L":[]}}}`, `200 {}`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"glossa","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}`, `200 {"Item":{"l":{"L":[]},"n":{"N":"1.5"},"pk":{"S":"a"},"sk":{"S":"b"}}}`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"glossa","Key":{"pk":{"S":"a"},"sk":{"S":"c"}}}`, `200 {}`},
		{"DynamoDB_20120810.Query", `{"TableName":"glossa","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"z"}}}`, `200 {"Count":0,"Items":[],"ScannedCount":0}`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"glossa","Key":{"pk":{"S":"a"}}}`, `400 {"__type":"com.amazon.coral.validate#ValidationException","message":"The provided key element does not match the schema"}`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"other","Key":{}}`, `400 {"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`},
		{"DynamoDB_20120810.GetItem", `{`, `400 {"__type":"com.amazon.coral.service#SerializationException","message":"unexpected EOF"}`},
		{"DynamoDB_20120810.Scan", `{}`, `400 {"__type":"com.amazon.coral.service#UnknownOperationException"}`},
		{"Other.GetItem", `{}`, `400 {"__type":"com.amazon.coral.service#UnknownOperationException"}`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Amz-Target", c.target)
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		if got := answer.Status[:4] + string(b); err != nil || got != c.want || answer.Header.Get("X-Amz-Crc32") == "" {
			t.Errorf("%s %s: %s (%v), want %s", c.target, c.body, got, err, c.want)
		}
		_ = answer.Body.Close()
	}
	if n := s.Requests("GetItem"); n != 5 || s.Requests("") != 9 {
		t.Errorf("%d requests for items, %d for all", n, s.Requests(""))
	}
}
