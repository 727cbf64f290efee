package catalog

import (
	"strings"
	"testing"
)

// guarded returns the record of a model of a group, with attributes of both.
func guarded(t *testing.T, model, group string) (Record, []error) {
	t.Helper()
	var r reader
	l := r.read([]Item{
		{Name: "a", JSON: []byte(`{"pk":"models","sk":"bedrock-acme.large"` + model + `}`)},
		{Name: "b", JSON: []byte(`{"pk":"models","sk":"bedrock-acme"` + group + `,"schema":{"request":{"defaults":{},"mapping":{}},"response":{"mapping":{}}}}`)},
	}, nil)
	for _, rec := range l.records {
		if rec.Name == "acme.large" {
			return rec, l.problems
		}
	}
	return Record{}, l.problems
}

// A guardrail is the model's, or else that of the group whose schema it uses.
func TestGuardrail(t *testing.T) {
	const one, two = `,"guardrail":{"id":"a1","version":"1"}`, `,"guardrail":{"id":"arn:aws:bedrock:us-east-1:123456789012:guardrail/b2","version":"DRAFT"}`
	traced, problems := guarded(t, `,"guardrail":{"id":"a1","version":"1","trace":"enabled_full"}`, "")
	if len(problems) > 0 || traced.Guardrail.Trace != "enabled_full" {
		t.Errorf("%+v %v", traced.Guardrail, problems)
	}
	for _, test := range []struct {
		model, group, want string
	}{
		{"", "", ""}, {one, "", "a1"}, {"", one, "a1"}, {two, one, "arn:aws:bedrock:us-east-1:123456789012:guardrail/b2"}, {`,"guardrail":null`, one, "a1"},
	} {
		rec, problems := guarded(t, test.model, test.group)
		if len(problems) > 0 || rec.Name == "" || rec.Guardrail.ID != test.want {
			t.Errorf("%s in %s: %+v %v", test.model, test.group, rec.Guardrail, problems)
		}
	}
}

// So is the region, which only some families have.
func TestRegion(t *testing.T) {
	for _, test := range []struct{ model, group, want string }{
		{"", "", ""}, {`,"region":"us-west-2"`, "", "us-west-2"}, {"", `,"region":"us-west-2"`, "us-west-2"}, {`,"region":"eu-west-1"`, `,"region":"us-west-2"`, "eu-west-1"},
	} {
		rec, problems := guarded(t, test.model, test.group)
		if len(problems) > 0 || rec.Region != test.want {
			t.Errorf("%s in %s: %q %v", test.model, test.group, rec.Region, problems)
		}
	}
	for _, text := range []string{
		`{"pk":"models","sk":"bedrock-x","region":"US East"}`, `{"pk":"models","sk":"local-x","region":"us-east-1"}`, `{"pk":"models","sk":"openai-x","region":"us-east-1"}`,
		`{"pk":"models","sk":"bedrock-x","region":"us-east-1","model_id":"arn:aws:bedrock:eu-west-1:123456789012:imported-model/x"}`,
	} {
		it := parseItem([]byte(text))
		if len(it.mistakes) == 0 || it.mistakes[0].Pointer != "/region" {
			t.Errorf("%s: %v", text, it.mistakes)
		}
	}
}

// So is the role, with its external id.
func TestRole(t *testing.T) {
	const one, two = `,"role":"arn:aws:iam::123456789012:role/glossa/a","external_id":"x-1"`, `,"role":"arn:aws:iam::210987654321:role/glossa/b"`
	for _, test := range []struct {
		model, group string
		want         Role
	}{
		{"", "", Role{}}, {one, "", Role{"arn:aws:iam::123456789012:role/glossa/a", "x-1"}},
		{two, one, Role{ARN: "arn:aws:iam::210987654321:role/glossa/b"}}, {"", two, Role{ARN: "arn:aws:iam::210987654321:role/glossa/b"}},
	} {
		rec, problems := guarded(t, test.model, test.group)
		if len(problems) > 0 || rec.Role != test.want {
			t.Errorf("%s in %s: %+v %v", test.model, test.group, rec.Role, problems)
		}
	}
	for attributes, pointer := range map[string]string{
		`"sk":"openai-x"` + one: "/role", `"sk":"bedrock-x","external_id":"x-1"`: "/role", `"sk":"bedrock-x","role":"glossa"`: "/role",
		`"sk":"bedrock-x","role":"arn:aws:iam::123456789012:user/glossa"`: "/role", `"sk":"bedrock-x","role":"arn:aws:iam:::role/glossa"`: "/role",
		`"sk":"bedrock-x","role":"arn:aws:sts::123456789012:role/glossa"`:                "/role",
		`"sk":"bedrock-x","role":"arn:aws:iam::123456789012:role/a","external_id":"a b"`: "/external_id",
	} {
		it := parseItem([]byte(`{"pk":"models",` + attributes + `}`))
		if len(it.mistakes) == 0 || it.mistakes[0].Pointer != pointer {
			t.Errorf("%s: %v", attributes, it.mistakes)
		}
	}
}

// A remote model reads images if its schema has a place for them, unless its record or that of its
// group says that it reads text only.
func TestRemoteImages(t *testing.T) {
	const no, yes = `,"images":false`, `,"images":true`
	const plain = `{"request":{"defaults":{"m":[]},"mapping":{"messages":"$.m"}FORM},"response":{"mapping":{"generated_text":"$.t"}}}`
	form := func(image, user string) string {
		return strings.Replace(plain, "FORM", `,"chat":{`+image+`"messages":{"user":{"c":"`+user+`"},"assistant":{"c":"{text}"}}}`, 1)
	}
	const image = `"image":{"i":"{data}"},`
	seeing, noPlace, noTemplate, none := form(image, "{content}"), form(image, "{text}"), form("", "{content}"), strings.Replace(plain, "FORM", "", 1)
	for _, test := range []struct {
		schema, model, group string
		want                 bool
		problem              string
	}{
		{seeing, "", "", true, ""}, {form(image, "{parts}"), "", "", true, ""}, {noPlace, "", "", false, ""}, {noTemplate, "", "", false, ""}, {none, "", "", false, ""},
		{seeing, no, "", false, ""}, {seeing, "", no, false, ""}, {seeing, yes, no, true, ""}, {seeing, no, yes, false, ""},
		{none, yes, "", false, "/images: it reads no images"}, {noPlace, "", yes, false, "/images: it reads no images"},
		{none[:len(none)-1] + `,"alternative":` + seeing + `}`, "", "", true, ""}, {seeing[:len(seeing)-1] + `,"alternative":` + none + `}`, "", "", false, ""},
	} {
		var r reader
		l := r.read([]Item{
			{Name: "a", JSON: []byte(`{"pk":"models","sk":"bedrock-acme.large"` + test.model + `}`)},
			{Name: "b", JSON: []byte(`{"pk":"models","sk":"bedrock-acme"` + test.group + `,"schema":` + test.schema + `}`)},
		}, nil)
		text := ""
		for _, err := range l.problems {
			if text += err.Error(); !IsWarning(err) {
				t.Errorf("%s: %v", test.schema, err)
			}
		}
		if len(l.records) != 1 || l.records[0].entry(nil).Images != test.want || !strings.Contains(text, test.problem) {
			t.Errorf("%s in %s, %s: %+v, problems %q", test.model, test.group, test.schema, l.records, text)
		}
	}
	if it := parseItem([]byte(`{"pk":"models","sk":"local-x","images":true,"schema":{"checkpoint":"x"}}`)); len(it.mistakes) != 1 || it.mistakes[0].Pointer != "/images" {
		t.Errorf("a local record: %v", it.mistakes)
	}
}

// A model whose guardrail is wrong is not served without one.
func TestBadGuardrails(t *testing.T) {
	for model, want := range map[string]string{
		`,"guardrail":{"id":"A 1","version":"1"}`:               `/guardrail/id: it must be the id or the ARN of a guardrail, not "A 1"`,
		`,"guardrail":{"id":"a\r\nX: y","version":"1"}`:         `/guardrail/id`,
		`,"guardrail":{"version":"1"}`:                          `/guardrail/id`,
		`,"guardrail":{"id":"a1"}`:                              `/guardrail/version: it must be a number or DRAFT, not ""`,
		`,"guardrail":{"id":"a1","version":"0"}`:                `/guardrail/version`,
		`,"guardrail":{"id":"a1","version":"1","of":""}`:        `/guardrail/of: unknown name; known are id, version, trace`,
		`,"guardrail":{"id":"a1","version":"1","trace":"full"}`: `/guardrail/trace: it must be enabled or enabled_full, not "full"`,
		`,"guardrail":{"id":"a1","version":"1","trace":true}`:   `/guardrail/trace`,
		`,"guardrail":"a1"`:                                     `/guardrail`,
	} {
		rec, problems := guarded(t, model, "")
		text := ""
		for _, err := range problems {
			text += err.Error() + "\n"
		}
		if rec.Schema != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %+v, %s", model, rec, text)
		}
	}
	other := parseItem([]byte(`{"pk":"models","sk":"sagemaker-x","guardrail":{"id":"a1","version":"1"}}`))
	if len(other.mistakes) != 1 || !strings.Contains(other.mistakes[0].Message, "only records of the family bedrock") {
		t.Errorf("%v", other.mistakes)
	}
	other = parseItem([]byte(`{"pk":"models","sk":"sagemaker-x","schema":{"api":"converse","request":{"defaults":{},"mapping":{}},"response":{"mapping":{}}}}`))
	if len(other.mistakes) != 1 || other.mistakes[0].Pointer != "/schema/api" {
		t.Errorf("%v", other.mistakes)
	}
}
