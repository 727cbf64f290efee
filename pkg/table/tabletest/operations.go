package tabletest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/table"
)

// stored is one table.
type stored struct {
	items  map[table.Key]item
	active bool // a new table becomes active after its first description
}

func newStored() *stored { return &stored{items: map[table.Key]item{}, active: true} }

// A request is the input of any operation.
type request struct {
	TableName                 string
	Key, Item                 item
	ExclusiveStartKey         item
	ConsistentRead            bool
	ConditionExpression       *string
	UpdateExpression          *string
	KeyConditionExpression    *string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	ReturnValues              string
	BillingMode               string
	AttributeDefinitions      []struct{ AttributeName, AttributeType string }
	KeySchema                 []struct{ AttributeName, KeyType string }

	used map[string]bool // names and values in use
}

// do executes an operation, and returns its output or a failure.
func (s *Service) do(op string, body []byte) (any, error) {
	run := operation(op)
	if run == nil {
		return nil, fail("UnknownOperationException", "")
	}
	r := &request{used: map[string]bool{}}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fail("SerializationException", err.Error())
	}
	if err := r.normal(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return run(s, r)
}

// operation returns the function of an operation, nil if it is unknown.
func operation(op string) func(*Service, *request) (any, error) {
	of := func(run func(*stored, *request) (any, error)) func(*Service, *request) (any, error) {
		return func(s *Service, r *request) (any, error) {
			t, ok := s.tables[r.TableName]
			if !ok {
				return nil, fail("ResourceNotFoundException", "Requested resource not found")
			}
			return run(t, r)
		}
	}
	switch op {
	case "CreateTable":
		return (*Service).create
	case "DescribeTable":
		return (*Service).describe
	case "GetItem":
		return of((*stored).get)
	case "PutItem":
		return of((*stored).put)
	case "DeleteItem":
		return of((*stored).delete)
	case "UpdateItem":
		return of((*stored).update)
	case "Query":
		return func(s *Service, r *request) (any, error) {
			return of(func(t *stored, r *request) (any, error) { return t.query(r, s.page) })(s, r)
		}
	}
	return nil
}

// normal normalises every value.
func (r *request) normal() error {
	if r.ExpressionAttributeNames != nil && len(r.ExpressionAttributeNames) == 0 {
		return invalid("ExpressionAttributeNames must not be empty")
	}
	if r.ExpressionAttributeValues != nil && len(r.ExpressionAttributeValues) == 0 {
		return invalid("ExpressionAttributeValues must not be empty")
	}
	if r.ConditionExpression == nil && r.UpdateExpression == nil && r.KeyConditionExpression == nil {
		if r.ExpressionAttributeNames != nil {
			return invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if r.ExpressionAttributeValues != nil {
			return invalid("ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null")
		}
	}
	for _, i := range []*item{&r.Key, &r.Item, &r.ExclusiveStartKey, &r.ExpressionAttributeValues} {
		if *i == nil {
			continue
		}
		var err error
		if *i, err = i.normal(0); err != nil {
			return err
		}
	}
	return nil
}

// create creates a table with the keys pk and sk.
func (s *Service) create(r *request) (any, error) {
	if s.tables[r.TableName] != nil {
		return nil, fail("ResourceInUseException", "Table already exists: "+r.TableName)
	}
	if len(r.KeySchema) != 2 || r.KeySchema[0].AttributeName != "pk" || r.KeySchema[0].KeyType != "HASH" ||
		r.KeySchema[1].AttributeName != "sk" || r.KeySchema[1].KeyType != "RANGE" {
		return nil, invalid("One or more parameter values were invalid: the keys of a table here are pk and sk")
	}
	for _, a := range r.AttributeDefinitions {
		if a.AttributeType != "S" || a.AttributeName != "pk" && a.AttributeName != "sk" {
			return nil, invalid("One or more parameter values were invalid: the keys of a table here are strings")
		}
	}
	if len(r.AttributeDefinitions) != 2 || r.BillingMode != "PAY_PER_REQUEST" {
		return nil, invalid("One or more parameter values were invalid: two keys, paid by the request")
	}
	t := &stored{items: map[table.Key]item{}}
	s.tables[r.TableName] = t
	return map[string]any{"TableDescription": map[string]any{"TableName": r.TableName, "TableStatus": "CREATING"}}, nil
}

// describe returns the state of a table, which becomes active for the next call.
func (s *Service) describe(r *request) (any, error) {
	t, ok := s.tables[r.TableName]
	if !ok {
		return nil, fail("ResourceNotFoundException", "Requested resource not found: Table: "+r.TableName+" not found")
	}
	status := "CREATING"
	if t.active {
		status = "ACTIVE"
	}
	t.active = true
	return map[string]any{"Table": map[string]any{"TableName": r.TableName, "TableStatus": status, "ItemCount": len(t.items)}}, nil
}

// key returns the key of an item; with alone, the item may have no other attributes.
func (i item) key(alone bool) (table.Key, error) {
	if alone && len(i) != 2 {
		return table.Key{}, invalid("The provided key element does not match the schema")
	}
	var k table.Key
	for _, part := range []struct {
		name string
		into *string
		max  int // bytes
		long string
	}{
		{"pk", &k.PK, 2048, "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{"sk", &k.SK, 1024, "Size of rangekey has exceeded the maximum size limit of1024 bytes"},
	} {
		v, ok := i[part.name]
		switch {
		case !ok && alone, ok && v.S == nil && alone:
			return k, invalid("The provided key element does not match the schema")
		case !ok:
			return k, invalid("One or more parameter values were invalid: Missing the key " + part.name + " in the item")
		case v.S == nil:
			return k, invalid("One or more parameter values were invalid: Type mismatch for key " + part.name + " expected: S actual: " + v.kind())
		case *v.S == "":
			return k, invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: " + part.name)
		case len(*v.S) > part.max:
			return k, invalid("One or more parameter values were invalid: " + part.long)
		}
		*part.into = *v.S
	}
	return k, nil
}

// meets evaluates the condition of a request; the error is the failure of an unmet condition.
func (r *request) meets(i item) error {
	if r.ConditionExpression == nil {
		return r.unused()
	}
	c, err := r.parser("ConditionExpression", *r.ConditionExpression).condition()
	if err == nil {
		err = r.unused()
	}
	if err == nil && !c(i) {
		err = fail("ConditionalCheckFailedException", "The conditional request failed")
	}
	return err
}

func (t *stored) get(r *request) (any, error) {
	k, err := r.Key.key(true)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if i, ok := t.items[k]; ok {
		out["Item"] = i
	}
	return out, r.unused()
}

func (t *stored) put(r *request) (any, error) {
	k, err := r.Item.key(false)
	if err != nil {
		return nil, err
	}
	if r.Item.size() > 400<<10 {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	if err := r.meets(t.items[k]); err != nil {
		return nil, err
	}
	t.items[k] = r.Item
	return struct{}{}, nil
}

func (t *stored) delete(r *request) (any, error) {
	k, err := r.Key.key(true)
	if err != nil {
		return nil, err
	}
	if err := r.meets(t.items[k]); err != nil {
		return nil, err
	}
	delete(t.items, k)
	return struct{}{}, nil
}

func (t *stored) update(r *request) (any, error) {
	k, err := r.Key.key(true)
	if err != nil {
		return nil, err
	}
	change := func(item) error { return nil }
	if r.UpdateExpression != nil {
		u, err := r.parser("UpdateExpression", *r.UpdateExpression).update()
		if err != nil {
			return nil, err
		}
		change = u
	}
	if err := r.meets(t.items[k]); err != nil {
		return nil, err
	}
	i := maps.Clone(t.items[k])
	if i == nil {
		i = maps.Clone(r.Key)
	}
	if err := change(i); err != nil {
		return nil, err
	}
	if i.size() > 400<<10 {
		return nil, invalid("Item size to update has exceeded the maximum allowed size")
	}
	t.items[k] = i
	if r.ReturnValues == "ALL_NEW" {
		return map[string]any{"Attributes": i}, nil
	}
	return struct{}{}, nil
}

// query returns a page of at most 1 MB, including the item that reaches it.
func (t *stored) query(r *request, page int) (any, error) {
	pk, prefix, after, err := r.within()
	if err != nil {
		return nil, err
	}
	var keys []table.Key
	for k := range t.items {
		if k.PK == pk && strings.HasPrefix(k.SK, prefix) && k.SK > after {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b table.Key) int { return strings.Compare(a.SK, b.SK) })
	items, size := []item{}, 0
	out := map[string]any{}
	for _, k := range keys {
		i := t.items[k]
		items = append(items, i)
		size += i.size()
		if page > 0 && len(items) == page || size >= 1<<20 {
			out["LastEvaluatedKey"] = item{"pk": i["pk"], "sk": i["sk"]}
			break
		}
	}
	out["Items"], out["Count"], out["ScannedCount"] = items, len(items), len(items)
	return out, nil
}

// within parses which items a query returns: the prefix of their sk, and the sk before
// the first.
func (r *request) within() (pk, prefix, after string, err error) {
	if r.KeyConditionExpression == nil {
		return "", "", "", invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	pk, prefix, err = r.parser("KeyConditionExpression", *r.KeyConditionExpression).keys()
	if err == nil {
		err = r.unused()
	}
	if err == nil && pk == "" {
		err = invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk")
	}
	if err == nil && r.ExclusiveStartKey != nil {
		var k table.Key
		k, err = r.ExclusiveStartKey.key(true)
		after = k.SK
		if err == nil && k.PK != pk {
			err = invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
	}
	return pk, prefix, after, err
}
