package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write creates a directory of templates.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, artifacts := t.TempDir(), []string{`"tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}}`}
	for name := range files {
		artifacts = append(artifacts, fmt.Sprintf(`%q: {"type": "aws:cloudformation:stack", "properties": {"templateFile": "%[1]s.template.json"}}`, name))
	}
	manifest := `{"artifacts": {` + strings.Join(artifacts, ", ") + "}}"
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".template.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// two holds two stacks, of which one imports from the other.
var two = map[string]string{
	"data": `{"Resources": {"Table1": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "records"}}, "Box": {"Type": "AWS::S3::Bucket"}},
		"Outputs": {
			"TableName": {"Value": {"Ref": "Table1"}},
			"E1": {"Value": {"Fn::GetAtt": ["Table1", "Arn"]}, "Export": {"Name": "data:Table"}}}}`,
	"api": `{"Resources": {
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"Table": {"Fn::ImportValue": "data:Table"}, "List": [{"Ref": "AWS::Region"}, 1, true]}},
		"Fn": {"Type": "AWS::Lambda::Function", "Properties": {
			"Role": {"Fn::GetAtt": ["Role", "Arn"]},
			"Plain": {"Fn::Sub": "arn:${AWS::Partition}:x:${AWS::AccountId}:${!Kept}/${Role.Arn}"},
			"Own": {"Fn::Sub": ["${T}/*", {"T": {"Fn::ImportValue": "data:Table"}}]},
			"Read": {"Fn::GetStackOutput": {"StackName": "data", "Region": {"Ref": "AWS::Region"}, "OutputName": "TableName"}},
			"Joined": {"Fn::Join": ["-", ["a", {"Ref": "Live"}, {"Ref": "AWS::StackName"}]]}}},
		"Live": {"Type": "AWS::Lambda::Alias", "Properties": {"Name": "live", "FunctionName": {"Ref": "Fn"}}}}}`,
}

func TestLoad(t *testing.T) {
	s, err := Load(write(t, two))
	if err != nil {
		t.Fatal(err)
	}
	fn, role, box := s.Of("AWS::Lambda::Function")[0], s.Of("AWS::IAM::Role")[0], s.Of("AWS::S3::Bucket")[0]
	arn, _ := role.attribute("Arn")
	for got, want := range map[string]string{
		role.Text("Table"):     "arn:aws:dynamodb:eu-west-1:123456789012:table/records",
		fn.Text("Role"):        arn,
		fn.Text("Plain"):       "arn:aws:x:123456789012:${Kept}/" + arn,
		fn.Text("Own"):         "arn:aws:dynamodb:eu-west-1:123456789012:table/records/*",
		fn.Text("Read"):        "records",
		fn.Text("Joined"):      "a-arn:aws:lambda:eu-west-1:123456789012:function:" + fn.ref() + ":live-api",
		s.Outputs["TableName"]: "records",
		role.Text("List"):      "[eu-west-1 1 true]",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if s.Outputs["E1"] != "" || strings.ToLower(box.ref()) != box.ref() || len(box.ref()) > 63 {
		t.Errorf("%v, %s", s.Outputs, box.ref())
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, edit := range map[string][2]string{
		"an unknown function":  {`{"Ref": "AWS::Region"}`, `{"Fn::Base64": "x"}`},
		"an unknown name":      {`{"Ref": "AWS::Region"}`, `{"Ref": "Nobody"}`},
		"an unknown attribute": {`["Role", "Arn"]`, `["Role", "Colour"]`},
		"an unknown resource":  {`["Role", "Arn"]`, `["Rule", "Arn"]`},
		"an unknown export":    {`"List"`, `"More": {"Fn::ImportValue": "data:Chair"}, "List"`},
		"an unknown output":    {`"OutputName": "TableName"`, `"OutputName": "ChairName"`},
		"an unknown part":      {`${T}/*`, `${U}/*`},
		"an open part":         {`${T}/*`, `${T/*`},
		"no JSON":              {`"List"`, `List`},
	} {
		files := maps.Clone(two)
		if files["api"] = strings.Replace(files["api"], edit[0], edit[1], 1); files["api"] == two["api"] {
			t.Fatalf("%s is no change", name)
		}
		if _, err := Load(write(t, files)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, dir := range map[string]string{"no manifest": t.TempDir(), "no stacks": write(t, nil)} {
		if _, err := Load(dir); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
