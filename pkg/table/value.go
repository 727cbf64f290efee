package table

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// encode returns the attributes of an item.
func encode(item Item) (map[string]types.AttributeValue, error) {
	out := make(map[string]types.AttributeValue, len(item))
	for name, v := range item {
		a, err := encodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = a
	}
	return out, nil
}

func encodeValue(v any) (types.AttributeValue, error) {
	switch v := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}, nil
	case int:
		return &types.AttributeValueMemberN{Value: strconv.Itoa(v)}, nil
	case int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}, nil
	case float64:
		return &types.AttributeValueMemberN{Value: strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case []any:
		list := make([]types.AttributeValue, len(v))
		for i := range v {
			var err error
			if list[i], err = encodeValue(v[i]); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	case map[string]any:
		m, err := encode(v)
		return &types.AttributeValueMemberM{Value: m}, err
	}
	return nil, fmt.Errorf("a value of the type %T cannot be kept", v)
}

// decode returns the item of attributes: sets become lists, bytes base64.
func decode(attributes map[string]types.AttributeValue) Item {
	item := make(Item, len(attributes))
	for name, a := range attributes {
		item[name] = decodeValue(a)
	}
	return item
}

func decodeValue(a types.AttributeValue) any {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return a.Value
	case *types.AttributeValueMemberN:
		return json.Number(a.Value)
	case *types.AttributeValueMemberBOOL:
		return a.Value
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.EncodeToString(a.Value)
	case *types.AttributeValueMemberM:
		return map[string]any(decode(a.Value))
	case *types.AttributeValueMemberL:
		return listOf(a.Value, decodeValue)
	case *types.AttributeValueMemberSS:
		return listOf(a.Value, func(s string) any { return s })
	case *types.AttributeValueMemberNS:
		return listOf(a.Value, func(s string) any { return json.Number(s) })
	case *types.AttributeValueMemberBS:
		return listOf(a.Value, func(b []byte) any { return base64.StdEncoding.EncodeToString(b) })
	}
	return nil // NULL
}

func listOf[T any](values []T, of func(T) any) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = of(v)
	}
	return list
}
