package arn

import (
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]ARN{
		"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2:1":     {"aws", "bedrock", "us-east-1", "", "foundation-model/anthropic.claude-v2:1"},
		"arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/x": {"aws-us-gov", "bedrock", "us-gov-west-1", "123456789012", "inference-profile/x"},
		"arn:aws-iso-b:sagemaker:us-isob-east-1:123456789012:endpoint/e":        {"aws-iso-b", "sagemaker", "us-isob-east-1", "123456789012", "endpoint/e"},
		"arn:aws:s3:::bucket/a?b": {"aws", "s3", "", "", "bucket/a?b"},
		"arn:aws-eusc:bedrock:eusc-de-east-1:123456789012:provisioned-model/0abc:1": {"aws-eusc", "bedrock", "eusc-de-east-1", "123456789012", "provisioned-model/0abc:1"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// hostile lists ARNs whose parts would become another host, or more than one element of a path.
func hostile() map[string]string {
	return map[string]string{
		"arn:aws:bedrock:x.evil.example/y?::foundation-model/m":          "region",
		"arn:aws:bedrock:x.evil.example/y?:123456789012:m":               "region",
		"arn:aws:bedrock:evil.example#:123456789012:m":                   "region",
		"arn:aws:bedrock:a@evil.example/:123456789012:m":                 "region",
		"arn:aws:bedrock:us-east-1.evil.example:123456789012:m":          "region",
		"arn:aws:bedrock:us-east-1/:123456789012:m":                      "region",
		"arn:aws:bedrock:us-east-1\\:123456789012:m":                     "region",
		"arn:aws:bedrock:us-east-1\n:123456789012:m":                     "region",
		"arn:aws:bedrock: us-east-1:123456789012:m":                      "region",
		"arn:aws:bedrock:US-EAST-1:123456789012:m":                       "region",
		"arn:aws:bedrock:us_east_1:123456789012:m":                       "region",
		"arn:aws:bedrock:-us-east-1:123456789012:m":                      "region",
		"arn:aws:bedrock:us-east-1-:123456789012:m":                      "region",
		"arn:aws:bedrock:us%2deast-1:123456789012:m":                     "region",
		"arn:aws:bedrock:ｕs-east-1:123456789012:m":                       "region",
		"arn:aws:bedrock:" + strings.Repeat("x", 64) + ":123456789012:m": "region",
		"arn:evil:bedrock:us-east-1:123456789012:m":                      "partition",
		"arn:aws.evil.example:bedrock:us-east-1:123456789012:m":          "partition",
		"arn::bedrock:us-east-1:123456789012:m":                          "partition",
		"arn:aws:bedrock.evil/:us-east-1:123456789012:m":                 "service",
		"arn:aws:bedrock:us-east-1:1/../2:m":                             "account",
		"arn:aws:bedrock:us-east-1:1234567890123:m":                      "account",
		"arn:aws:bedrock:us-east-1:123456789012:":                        "resource",
		"arn:aws:bedrock:us-east-1:123456789012:a b":                     "resource",
		"arn:aws:bedrock:us-east-1:123456789012:a\r\nHost: b":            "resource",
		"arn:aws:bedrock:us-east-1:123456789012":                         "ARN",
		"arn:":                                                           "ARN", "": "ARN", "aws:bedrock": "ARN",
	}
}

func TestHostile(t *testing.T) {
	for text, part := range hostile() {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %+v, %v, want %s", text, got, err, part)
		}
	}
}

// FuzzParse checks that each accepted region is one label of a host name.
func FuzzParse(f *testing.F) {
	for text := range hostile() {
		f.Add(text)
	}
	f.Add("arn:aws:bedrock:us-east-1::foundation-model/m")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil || a.Region == "" {
			return
		}
		const suffix = ".example.com"
		u, err := url.Parse("https://x." + a.Region + suffix)
		if err != nil || u.Host != "x."+a.Region+suffix || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Port() != "" ||
			strings.Count(u.Host, ".") != 3 || len(a.Region) > 63 {
			t.Errorf("%q: the region %q is more than a label: %v, %v", text, a.Region, u, err)
		}
	})
}
