// Package e2e runs the synthesised templates on this machine: their functions from their
// own programs with their own environments and permissions, their API, their table and
// their bucket. It supports CloudFormation, IAM and the entry points of Lambda as far as the
// templates use them, and rejects everything else. It does not know what the functions do.
package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The region and account of the deployment. No code may assume another region.
const (
	region    = "eu-west-1"
	account   = "123456789012"
	partition = "aws"
)

// A Resource is a resource of a template. Its properties contain no references.
type Resource struct {
	Type       string
	Properties map[string]any
	Metadata   map[string]any

	stack, name string
}

// Stacks are the templates of a deployment.
type Stacks struct {
	dir       string
	resources map[string]*Resource // by stack and logical name: stack/name
	outputs   map[string]any       // by stack and name
	exports   map[string]any
	Outputs   map[string]string            // by name, without exports
	deployed  map[string]map[string]string // the same by stack and name
}

// Load reads the templates of the last synthesis in a directory, infra/cdk.out, which may
// also hold templates of other stages.
func Load(dir string) (*Stacks, error) {
	s := &Stacks{dir: dir, resources: map[string]*Resource{}, exports: map[string]any{}, outputs: map[string]any{}, Outputs: map[string]string{}, deployed: map[string]map[string]string{}}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Artifacts map[string]struct {
			Type       string
			Properties struct{ TemplateFile string }
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("%s/manifest.json: %w", dir, err)
	}
	for _, artifact := range manifest.Artifacts {
		if artifact.Type != "aws:cloudformation:stack" {
			continue
		}
		if err := s.read(filepath.Join(dir, artifact.Properties.TemplateFile)); err != nil {
			return nil, err
		}
	}
	if len(s.resources) == 0 {
		return nil, fmt.Errorf("%s/manifest.json names no stacks", dir)
	}
	for _, name := range slices.Sorted(maps.Keys(s.resources)) {
		r := s.resources[name]
		v, err := s.resolve(r.stack, r.Properties)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Properties, _ = v.(map[string]any)
	}
	for name, value := range s.outputs {
		stack, name, _ := strings.Cut(name, "/")
		v, err := s.resolve(stack, value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		s.Outputs[name] = fmt.Sprint(v)
		if s.deployed[stack] == nil {
			s.deployed[stack] = map[string]string{}
		}
		s.deployed[stack][name] = fmt.Sprint(v)
	}
	return s, nil
}

// read adds one template.
func (s *Stacks) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var t struct {
		Resources map[string]*Resource
		Outputs   map[string]struct {
			Value  any
			Export struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	stack := strings.TrimSuffix(filepath.Base(file), ".template.json")
	for name, r := range t.Resources {
		r.stack, r.name = stack, name
		s.resources[stack+"/"+name] = r
	}
	for name, out := range t.Outputs {
		if out.Export.Name != "" {
			s.exports[out.Export.Name] = reference{stack, out.Value}
			continue
		}
		s.outputs[stack+"/"+name] = out.Value
	}
	return nil
}

// reference is a value with the stack in which it is resolved.
type reference struct {
	stack string
	value any
}

// Of returns the resources of a type, sorted by name.
func (s *Stacks) Of(kind string) (list []*Resource) {
	for _, name := range slices.Sorted(maps.Keys(s.resources)) {
		if r := s.resources[name]; r.Type == kind {
			list = append(list, r)
		}
	}
	return list
}

// By returns the matching resource of a type.
func (s *Stacks) By(kind string, fits func(*Resource) bool) *Resource {
	for _, r := range s.Of(kind) {
		if fits(r) {
			return r
		}
	}
	return nil
}

// Get follows the keys into the properties. It returns nil if a key is missing.
func (r *Resource) Get(keys ...string) any {
	var v any = r.Properties
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// Text returns a property that is a string, "" if it is missing.
func (r *Resource) Text(keys ...string) string {
	if v := r.Get(keys...); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// List returns a property that is a list.
func (r *Resource) List(keys ...string) []any {
	l, _ := r.Get(keys...).([]any)
	return l
}

// id makes an unpredictable id of letters and digits, as AWS does.
func (r *Resource) id(n int) string {
	sum := sha256.Sum256([]byte(r.stack + "/" + r.name))
	return hex.EncodeToString(sum[:])[:n]
}

// ref returns the value of Ref. Source: AWS CloudFormation, "AWS resource and property types
// reference", Return values.
func (r *Resource) ref() string {
	own := func(property string) (string, bool) { v, ok := r.Properties[property].(string); return v, ok }
	switch r.Type {
	case "AWS::S3::Bucket":
		if name, ok := own("BucketName"); ok {
			return name
		}
		return strings.ToLower(r.stack + "-" + r.name + "-" + r.id(12))
	case "AWS::DynamoDB::Table":
		if name, ok := own("TableName"); ok {
			return name
		}
	case "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Resource", "AWS::ApiGateway::Deployment":
		return r.id(10)
	case "AWS::ApiGateway::Stage":
		name, _ := own("StageName")
		return name
	}
	return r.stack + "-" + r.name + "-" + strings.ToUpper(r.id(12))
}

// refOf returns Ref of a resource, whose value may contain references to others.
func (s *Stacks) refOf(r *Resource) (any, error) {
	if r.Type != "AWS::Lambda::Alias" && r.Type != "AWS::Lambda::Version" {
		return r.ref(), nil
	}
	fn, err := s.resolve(r.stack, r.Properties["FunctionName"])
	qualifier := "1"
	if r.Type == "AWS::Lambda::Alias" {
		qualifier = fmt.Sprint(r.Properties["Name"])
	}
	return fmt.Sprintf("arn:%s:lambda:%s:%s:function:%v:%s", partition, region, account, fn, qualifier), err
}

// attribute returns the value of Fn::GetAtt.
func (r *Resource) attribute(name string) (string, error) {
	arn := func(service, place, rest string) string {
		return strings.Join([]string{"arn", partition, service, place, rest}, ":")
	}
	here := region + ":" + account
	switch r.Type + " " + name {
	case "AWS::DynamoDB::Table Arn":
		return arn("dynamodb", here, "table/"+r.ref()), nil
	case "AWS::S3::Bucket Arn":
		return arn("s3", ":", r.ref()), nil
	case "AWS::Lambda::Function Arn":
		return arn("lambda", here, "function:"+r.ref()), nil
	case "AWS::IAM::Role Arn":
		return arn("iam", ":"+account, "role/"+r.ref()), nil
	case "AWS::Logs::LogGroup Arn":
		return arn("logs", here, "log-group:"+r.ref()+":*"), nil
	case "AWS::Events::Rule Arn":
		return arn("events", here, "rule/"+r.ref()), nil
	case "AWS::WAFv2::WebACL Arn":
		return arn("wafv2", here, "regional/webacl/"+r.ref()), nil
	case "AWS::CloudFront::Distribution DomainName":
		return r.id(14) + ".cloudfront.net", nil
	case "AWS::CloudFront::OriginAccessControl Id":
		return strings.ToUpper(r.id(14)), nil
	case "AWS::CloudFront::Function FunctionARN":
		return arn("cloudfront", ":"+account, "function/"+r.ref()), nil
	case "AWS::Lambda::Version Version":
		return "1", nil
	case "AWS::Lambda::Url FunctionUrl":
		return "https://" + r.id(32) + ".lambda-url." + region + ".on.aws/", nil
	case "AWS::ApiGateway::RestApi RootResourceId":
		return "root" + r.id(6), nil
	}
	return "", fmt.Errorf("nothing is known of %s of a %s", name, r.Type)
}
