package catalog

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/schemas"
)

func TestFind(t *testing.T) {
	items := []Item{{Name: "a", JSON: []byte(group("a", ""))}, {Name: "b", JSON: []byte("{")}}
	if got, none := Find(items, Bedrock, "a.b"), Find(items, Bedrock, "b"); got != "bedrock-a" || none != "" {
		t.Errorf("%q, %q", got, none)
	}
}

func TestKeys(t *testing.T) {
	claude := []string{"bedrock-anthropic.claude-v2:1", "bedrock-anthropic.claude-v2", "bedrock-anthropic.claude", "bedrock-anthropic"}
	for _, c := range []struct {
		family, name string
		want         []string
	}{
		{Bedrock, "anthropic.claude-v2:1", claude},
		{Bedrock, "us.anthropic.claude-v2:1", append([]string{"bedrock-us.anthropic.claude-v2:1"}, claude...)},
		{Bedrock, "us-gov.anthropic.claude-v2:1", append([]string{"bedrock-us-gov.anthropic.claude-v2:1"}, claude...)},
		{Bedrock, "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2:1",
			append([]string{"bedrock-arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2:1"}, claude...)},
		{Bedrock, "arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-v2:1",
			append([]string{"bedrock-arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-v2:1"}, claude...)},
		{Bedrock, "usa.x", []string{"bedrock-usa.x", "bedrock-usa"}},
		{SageMaker, "us.tgi-1", []string{"sagemaker-us.tgi-1", "sagemaker-us.tgi", "sagemaker-us"}},
		{SageMaker, "tgi-1", []string{"sagemaker-tgi-1", "sagemaker-tgi"}},
		{Local, "a.b-c", []string{"local-a.b-c"}},
		{Bedrock, "", []string{"bedrock-"}},
		{Bedrock, ".-x", []string{"bedrock-.-x", "bedrock-."}},
	} {
		if got := Keys(c.family, c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.family, c.name, got, c.want)
		}
	}
}

// The models in the fixtures of the shipped records find these records, with and
// without a geography or an ARN.
func TestShippedRecordsAreFound(t *testing.T) {
	items, err := Files{schemas.Files()}.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if problems := Check(items, nil); len(problems) > 0 {
		t.Error(problems)
	}
	var r reader
	all, _ := r.index(items, nil)
	for _, it := range items {
		key := strings.TrimSuffix(it.Name, ".json")
		family, _, _ := strings.Cut(key, "-")
		if family != Bedrock && family != SageMaker {
			continue
		}
		var fixture struct{ Models []string }
		b, err := os.ReadFile("../schema/testdata/records/" + it.Name)
		if err == nil {
			err = json.Unmarshal(b, &fixture)
		}
		if err != nil || len(fixture.Models) == 0 {
			t.Fatalf("%s: %v, %v", it.Name, fixture.Models, err)
		}
		for _, name := range fixture.Models {
			forms := []string{name}
			if family == Bedrock && !strings.HasPrefix(name, "us.") {
				forms = append(forms, "eu."+name, "arn:aws:bedrock:eu-west-1:1:inference-profile/eu."+name, "arn:aws:bedrock:eu-west-1::foundation-model/"+name)
			}
			for _, name := range forms {
				if got := all.find(family, name); got != all[key] {
					t.Errorf("%s is for %s, not %s", name, got.SK, key)
				}
			}
		}
	}
}
