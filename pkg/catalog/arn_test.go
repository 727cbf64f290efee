package catalog

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// An id whose region would become a foreign host serves no model, wherever it occurs;
// valid ids of Bedrock's resources do.
func TestARNs(t *testing.T) {
	const good = "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/0abc"
	for _, test := range []struct{ key, id, name, want string }{
		{"a", good, "a", ""},
		{good, "", good, ""},
		{"a", "arn:aws:bedrock:x.evil.example/y?::foundation-model/a", "a", `/model_id: "x.evil.example/y?" is not the name of a region`},
		{"a", "arn:aws:bedrock:us-east-1:1/2:a", "a", "/model_id: the account of the ARN"},
		{"a", "arn:aws:bedrock", "a", "/model_id: "},
		{"arn:aws:bedrock:evil.example#::a", "", "a", `/sk: "evil.example#" is not the name of a region`},
		{"a", "", "arn:aws:bedrock:a@evil.example/::a", `/models/0/model_name: "a@evil.example/" is not the name of a region`},
	} {
		l := read(t, Files{fstest.MapFS{
			"a.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":%q,"schema":%s,"model_id":%q}`, "bedrock-"+test.key, tiny, test.id)},
			"b.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":"all-models","models":[{"model_type":"t","model_family":"bedrock","model_name":%q}]}`, test.name)},
		}})
		if served := len(l.records) == 1; served != (test.want == "") || !strings.Contains(fmt.Sprint(l.problems), test.want) {
			t.Errorf("%+v: %d records, %v", test, len(l.records), l.problems)
		}
	}
}
