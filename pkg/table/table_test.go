package table_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

var service = flag.String("dynamodb", "", "URL of a service to run the contract against, such as dynalite's")

// TestFake runs the contract against the fake, with pages of each size.
func TestFake(t *testing.T) {
	for _, page := range []int{0, 1, 2} {
		t.Run(fmt.Sprintf("page %d", page), func(t *testing.T) {
			tabletest.TestTable(t, func(t *testing.T) *table.Table {
				s := tabletest.New(t)
				s.PageSize(page)
				return s.Table()
			})
		})
	}
}

// TestEqualDocuments is not part of the contract: dynalite 4.0.0 never finds two lists or
// two maps equal.
func TestEqualDocuments(t *testing.T) {
	tabletest.Equal(t, tabletest.New(t).Table(), []any{}, []any{"a"}, []any{"a", 1}, []any{1, "a"}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": []any{}})
}

// TestService runs the contract against another service.
func TestService(t *testing.T) {
	if *service == "" {
		t.Skip("no service: -dynamodb URL names one")
	}
	client, name := tabletest.Client(*service), fmt.Sprintf("glossa-%d", time.Now().UnixNano())
	if err := tabletest.Create(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	tabletest.TestTable(t, func(*testing.T) *table.Table { return table.New(tabletest.Caller(*service, nil), name) })
}

// services returns the URLs of the available services, each with its own table.
func services(t *testing.T) map[string]string {
	all := map[string]string{"fake": tabletest.New(t).URL}
	if *service != "" {
		all["service"] = *service
		err := tabletest.Create(t.Context(), tabletest.Client(*service), "glossa")
		if _, ok := errors.AsType[*types.ResourceInUseException](err); err != nil && !ok {
			t.Fatal(err)
		}
	}
	return all
}

// TestForeign reads types that only other writers use: sets and bytes.
func TestForeign(t *testing.T) {
	for name, url := range services(t) {
		k := table.Key{PK: t.Name(), SK: "x"}
		_, err := tabletest.Client(url).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("glossa"), Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: k.PK}, "sk": &types.AttributeValueMemberS{Value: k.SK},
			"b": &types.AttributeValueMemberB{Value: []byte("\x00\xff?")}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}},
			"ss": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"10", "9"}},
			"in": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberB{Value: []byte{}}, &types.AttributeValueMemberSS{Value: []string{"é"}}}},
		}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := table.New(tabletest.Caller(url, nil), "glossa").Get(t.Context(), k)
		for _, set := range []string{"ss", "ns"} { // sets are unordered
			if list, ok := got[set].([]any); ok {
				slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
		want := table.Item{
			"pk": k.PK, "sk": k.SK, "b": "AP8/", "bs": []any{"AQ=="}, "ss": []any{"a", "b"}, "ns": []any{json.Number("10"), json.Number("9")},
			"in": []any{"", []any{"é"}},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, want)
		}
	}
}

// TestCreate checks that Create waits for the new table.
func TestCreate(t *testing.T) {
	s := tabletest.New(t)
	if err := tabletest.Create(t.Context(), s.Client(), "other"); err != nil {
		t.Fatal(err)
	}
	if n := s.Requests("DescribeTable"); n != 2 { // the first description was not active yet
		t.Errorf("%d requests for its state", n)
	}
	tab := table.New(tabletest.Caller(s.URL, nil), "other")
	if err := tab.Check(t.Context()); err != nil || tab.Name() != "other" {
		t.Errorf("%s: %v", tab.Name(), err)
	}
	if err := tabletest.Create(t.Context(), s.Client(), "other"); err == nil || !strings.Contains(err.Error(), "ResourceInUseException") {
		t.Errorf("a table is made twice: %v", err)
	}
}

// TestNoTable checks the errors of a table that does not exist, or belongs to another account.
func TestNoTable(t *testing.T) {
	s := tabletest.New(t)
	tab := table.New(tabletest.Caller(s.URL, nil), "nowhere")
	for i, err := range []error{tab.Check(t.Context()), tab.Put(t.Context(), table.Item{"pk": "a", "sk": "b"}), tab.Delete(t.Context(), table.Key{PK: "a", SK: "b"})} {
		if !errors.Is(err, table.ErrNoTable) || !strings.Contains(err.Error(), "no such table: nowhere in us-east-1") {
			t.Errorf("%d: %v", i, err)
		}
	}
	s.Fault(func(string) (int, string) { return 400, "ValidationException" })
	if err := s.Table().Check(t.Context()); err == nil || !strings.Contains(err.Error(), "the keys of table glossa must be the strings pk and sk") {
		t.Errorf("other keys: %v", err)
	}
	s.Fault(func(string) (int, string) { return 400, "AccessDeniedException" })
	if err := s.Table().Check(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDeniedException") || errors.Is(err, table.ErrNoTable) {
		t.Errorf("no permission: %v", err)
	}
}

// FuzzRoundTrip puts any JSON object as an item and reads it back. Items that the table
// rejects never reach the service, except for their size.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":[null,true,{"":""}]}`, `{"n":-0.0,"m":1e-130,"l":[1E+125,100.00]}`, `{"é":"😀\u0000","#":{":":[]}}`, `{"n":1e-131}`, `{"n":[[[[1e400]]]]}`, `{"n":-0.0e99999999999999999999}`,
	} {
		f.Add([]byte(seed))
	}
	tab := tabletest.New(f).Table()
	f.Fuzz(func(t *testing.T, text []byte) {
		var item table.Item
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&item) != nil || item == nil || len(text) > 100<<10 {
			return
		}
		item["pk"], item["sk"] = "fuzz", "x"
		if err := tab.Put(t.Context(), item); err != nil {
			if strings.Contains(err.Error(), "dynamodb") {
				t.Errorf("%q: the service refuses it: %v", text, err)
			}
			return
		}
		got, err := tab.Get(t.Context(), item.Key())
		if err != nil || !alike(map[string]any(item), map[string]any(got)) {
			t.Errorf("%q: %v (%v)", text, got, err)
		}
	})
}

// alike compares values, and numbers by value.
func alike(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		if mantissa, _, _ := strings.Cut(strings.ToLower(a.String()), "e"); strings.Trim(mantissa, "-0.") == "" {
			return n == "0" // whatever the exponent
		}
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(n.String())
		return ok && x.Cmp(y) == 0
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, alike)
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, m, alike)
	}
	return a == b
}
