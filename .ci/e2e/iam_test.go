package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// policy has the form of the templates' policies.
const policy = `{"Version": "2012-10-17", "Statement": [
	{"Sid": "Items", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "arn:t"},
	{"Sid": "Lists", "Effect": "Allow", "Action": ["dynamodb:Query"], "Resource": "arn:t",
		"Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["models", "usage"]}}},
	{"Sid": "Counts", "Effect": "Allow", "Action": "dynamodb:UpdateItem", "Resource": "arn:t",
		"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["budget#*"]}, "StringEqualsIfExists": {"dynamodb:Select": "ALL"}}},
	{"Sid": "Checkpoints", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject*"], "Resource": "arn:aws:s3:::b/checkpoints/*"},
	{"Sid": "Runs", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::b",
		"Condition": {"StringLike": {"s3:prefix": ["checkpoints/*", "up?oads/"]}}},
	{"Sid": "Kept", "Effect": "Deny", "NotAction": ["s3:Get*", "s3:List*", "dynamodb:*"], "Resource": "arn:aws:s3:::b/checkpoints/kept/*"},
	{"Sid": "Plain", "Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
	{"Sid": "Old", "Effect": "Deny", "Action": "s3:*", "Resource": "*", "Condition": {"NumericLessThan": {"s3:TlsVersion": 1.2}}}
]}`

func TestDecide(t *testing.T) {
	var document any
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		t.Fatal(err)
	}
	list, err := ParsePolicy(document)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(pk ...string) map[string][]string { return map[string][]string{"dynamodb:LeadingKeys": pk} }
	one := func(key, value string) map[string][]string { return map[string][]string{key: {value}} }
	for _, test := range []struct {
		action, resource string
		context          map[string][]string
		by               string // Sid; "": no statement applies
		allowed          bool
	}{
		{"dynamodb:GetItem", "arn:t", keys("accounts"), "Items", true},
		{"DynamoDB:getitem", "arn:t", nil, "Items", true},
		{"dynamodb:GetItem", "arn:T", nil, "", false},
		{"dynamodb:GetItem", "arn:t/index/i", nil, "", false},
		{"dynamodb:GetItems", "arn:t", nil, "", false},
		{"dynamodb:PutItem", "arn:t", keys("models"), "", false},
		{"dynamodb:Query", "arn:t", keys("models"), "Lists", true},
		{"dynamodb:Query", "arn:t", keys("models", "usage"), "Lists", true},
		{"dynamodb:Query", "arn:t", keys("models", "accounts"), "", false},
		{"dynamodb:Query", "arn:t", keys("models#1"), "", false},
		{"dynamodb:Query", "arn:t", nil, "Lists", true}, // ForAllValues is true without values, so policies must not allow scans
		{"dynamodb:UpdateItem", "arn:t", keys("budget#me"), "Counts", true},
		{"dynamodb:UpdateItem", "arn:t", keys("budget"), "", false},
		{"dynamodb:UpdateItem", "arn:t", map[string][]string{"dynamodb:LeadingKeys": {"budget#"}, "dynamodb:Select": {"COUNT"}}, "", false},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/a/b", nil, "Checkpoints", true},
		{"s3:PutObjectAcl", "arn:aws:s3:::b/checkpoints/a", nil, "Checkpoints", true},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints", nil, "", false},
		{"s3:GetObject", "arn:aws:s3:::b/Checkpoints/a", nil, "", false},
		{"s3:GetObject", "arn:aws:s3:::b2/checkpoints/a", nil, "", false},
		{"s3:GetObjectVersion", "arn:aws:s3:::b/checkpoints/a", nil, "", false},
		{"s3:DeleteObject", "arn:aws:s3:::b/checkpoints/a", nil, "", false},
		{"s3:PutObject", "arn:aws:s3:::b/checkpoints/kept/a", nil, "Kept", false},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/kept/a", nil, "Checkpoints", true},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/a", one("aws:SecureTransport", "false"), "Plain", false},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/a", one("AWS:securetransport", "true"), "Checkpoints", true},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/a", one("s3:TlsVersion", "1.1"), "Old", false},
		{"s3:GetObject", "arn:aws:s3:::b/checkpoints/a", one("s3:TlsVersion", "1.2"), "Checkpoints", true},
		{"s3:ListBucket", "arn:aws:s3:::b", one("s3:prefix", "checkpoints/x"), "Runs", true},
		{"s3:ListBucket", "arn:aws:s3:::b", one("s3:prefix", "uploads/"), "Runs", true},
		{"s3:ListBucket", "arn:aws:s3:::b", one("s3:prefix", "uploads/x"), "", false},
		{"s3:ListBucket", "arn:aws:s3:::b", one("s3:prefix", ""), "", false},
		{"s3:ListBucket", "arn:aws:s3:::b", nil, "", false},
		{"s3:ListBucket", "arn:aws:s3:::b/checkpoints/", one("s3:prefix", "checkpoints/"), "", false},
	} {
		a := Access{test.action, test.resource, test.context}
		allowed, by := Decide(list, a)
		sid := ""
		if by != nil {
			sid = by.Sid
		}
		if allowed != test.allowed || sid != test.by {
			t.Errorf("%s: %v by %q, want %v by %q", a, allowed, sid, test.allowed, test.by)
		}
	}
}

// TestOperators tests operators that no template uses yet.
func TestOperators(t *testing.T) {
	for _, test := range []struct {
		operator string
		got      []string
		want     string
		holds    bool
	}{
		{"StringNotEquals", []string{"a"}, "a", false}, {"StringNotEquals", []string{"b"}, "a", true}, {"StringNotEquals", nil, "a", true},
		{"StringNotLike", []string{"abc"}, "a*", false}, {"StringEquals", nil, "a", false}, {"StringEquals", []string{"a", "a"}, "a", false},
		{"ForAnyValue:StringEquals", []string{"b", "a"}, "a", true}, {"ForAnyValue:StringEquals", nil, "a", false},
		{"ForAllValues:StringNotEquals", []string{"b", "a"}, "a", false}, {"ForAllValues:StringNotEquals", []string{"b"}, "a", true},
		{"Null", nil, "true", true}, {"Null", []string{"a"}, "true", false}, {"Null", []string{"a"}, "false", true},
		{"BoolIfExists", nil, "false", true}, {"ArnLike", []string{"arn:aws:x:1"}, "arn:*:x:?", true}, {"NumericLessThan", []string{"x"}, "1", false},
	} {
		if holds(test.operator, test.got, test.got != nil, []string{test.want}) != test.holds {
			t.Errorf("%s of %q and %s", test.operator, test.got, test.want)
		}
	}
}

func TestPolicyRefused(t *testing.T) {
	const whole = `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "a:b", "Resource": "*"}}`
	for name, edit := range map[string][2]string{
		"an old version":      {"2012-10-17", "2008-10-17"},
		"no effect":           {`"Effect": "Allow", `, ``},
		"another effect":      {`Allow`, `Maybe`},
		"no action":           {`"Action": "a:b", `, ``},
		"both actions":        {`"Action"`, `"NotAction": "c:d", "Action"`},
		"an unknown element":  {`"Action"`, `"Colour": "red", "Action"`},
		"a principal":         {`"Action"`, `"Principal": {"AWS": "123456789012"}, "Action"`},
		"an unknown operator": {`"Action"`, `"Condition": {"DateLessThan": {"aws:CurrentTime": "2030-01-01"}}, "Action"`},
		"a variable":          {`"Action"`, `"Condition": {"StringLike": {"s3:prefix": "${aws:username}/*"}}, "Action"`},
		"an empty condition":  {`"Action"`, `"Condition": {"StringLike": {}}, "Action"`},
	} {
		var document any
		if err := json.Unmarshal([]byte(strings.Replace(whole, edit[0], edit[1], 1)), &document); err != nil {
			t.Fatal(err)
		}
		if list, err := ParsePolicy(document); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
	if _, err := ParsePolicy("*"); err == nil {
		t.Error("a text is a policy")
	}
}
