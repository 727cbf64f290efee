package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// accesses returns the accesses that IAM checks for a call of the SDK. All must be allowed.
func accesses(service, region string, r *http.Request, body []byte) ([]Access, error) {
	switch service {
	case "dynamodb":
		return dynamoAccess(region, r, body)
	case "s3":
		return s3Access(r)
	case "bedrock":
		return bedrockAccess(region, r)
	case "sagemaker":
		return sagemakerAccess(region, r)
	case "secretsmanager", "ssm":
		return secretAccess(service, region, r, body)
	case "lambda":
		return lambdaAccess(region, r)
	case "codedeploy":
		return deployAccess(region, r)
	case "xray":
		if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
			return nil, fmt.Errorf("%s %s", r.Method, r.URL.Path)
		}
		return []Access{{"xray:PutSpans", "*", nil}}, nil
	}
	return nil, fmt.Errorf("the service %s is not known here", service)
}

func arnOf(service, region, account, rest string) string {
	return strings.Join([]string{"arn", partition, service, region, account, rest}, ":")
}

// dynamoAccess parses a call of DynamoDB: the operation is the action, and its partition
// keys are the leading keys. Source: Amazon DynamoDB Developer Guide, "Using
// IAM policy conditions for fine-grained access control".
func dynamoAccess(region string, r *http.Request, body []byte) ([]Access, error) {
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if !ok {
		return nil, fmt.Errorf("the target %q", r.Header.Get("X-Amz-Target"))
	}
	type values = map[string]map[string]any
	var in struct {
		TableName                 string
		Key, Item                 values
		KeyConditionExpression    string
		ExpressionAttributeNames  map[string]string
		ExpressionAttributeValues values
		ReturnValues, Select      string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	context := map[string][]string{}
	switch operation {
	case "GetItem", "DeleteItem", "UpdateItem":
		context["dynamodb:LeadingKeys"] = []string{fmt.Sprint(in.Key["pk"]["S"])}
	case "PutItem":
		context["dynamodb:LeadingKeys"] = []string{fmt.Sprint(in.Item["pk"]["S"])}
	case "Query":
		found := partitionKey.FindStringSubmatch(in.KeyConditionExpression)
		if found == nil || found[1] != "pk" && in.ExpressionAttributeNames[found[1]] != "pk" {
			return nil, fmt.Errorf("no partition key in %q", in.KeyConditionExpression)
		}
		context["dynamodb:LeadingKeys"] = []string{fmt.Sprint(in.ExpressionAttributeValues[found[2]]["S"])}
	case "Scan", "DescribeTable": // without keys
	default:
		return nil, fmt.Errorf("the operation %s is not known here", operation)
	}
	for key, value := range map[string]string{"dynamodb:ReturnValues": in.ReturnValues, "dynamodb:Select": in.Select} {
		if value != "" {
			context[key] = []string{value}
		}
	}
	return []Access{{"dynamodb:" + operation, arnOf("dynamodb", region, account, "table/"+in.TableName), context}}, nil
}

var partitionKey = regexp.MustCompile(`(#?\w+)\s*=\s*(:\w+)`)

// s3Access parses a path-style call of S3. Source: Service
// Authorization Reference, "Actions, resources, and condition keys for Amazon S3", and
// Amazon S3 User Guide, "Required permissions for Amazon S3 API operations".
func s3Access(r *http.Request) ([]Access, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q, context := r.URL.Query(), map[string][]string{"aws:SecureTransport": {"true"}, "s3:TlsVersion": {"1.3"}}
	resource := "arn:" + partition + ":s3:::" + bucket
	if key == "" {
		action := "s3:ListBucket"
		switch {
		case r.Method == http.MethodGet && q.Has("uploads"):
			action = "s3:ListBucketMultipartUploads"
		case r.Method == http.MethodGet && q.Has("versions"):
			action = "s3:ListBucketVersions"
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			return nil, fmt.Errorf("%s of a bucket is not known here", r.Method)
		}
		for _, name := range []string{"prefix", "delimiter", "max-keys"} {
			if q.Has(name) {
				context["s3:"+name] = []string{q.Get(name)}
			}
		}
		return []Access{{action, resource, context}}, nil
	}
	action, err := objectAction(r.Method, q)
	list := []Access{{action, resource + "/" + key, context}}
	if from := r.Header.Get("X-Amz-Copy-Source"); from != "" {
		from, _ = url.PathUnescape(strings.TrimPrefix(from, "/"))
		list = append(list, Access{"s3:GetObject", "arn:" + partition + ":s3:::" + from, context})
	}
	return list, err
}

func objectAction(method string, q url.Values) (string, error) {
	upload, version := q.Has("uploadId"), q.Has("versionId")
	switch {
	case (method == http.MethodGet || method == http.MethodHead) && !upload && version:
		return "s3:GetObjectVersion", nil
	case (method == http.MethodGet || method == http.MethodHead) && !upload:
		return "s3:GetObject", nil
	case method == http.MethodGet:
		return "s3:ListMultipartUploadParts", nil
	case method == http.MethodPut, method == http.MethodPost && (upload || q.Has("uploads")):
		return "s3:PutObject", nil
	case method == http.MethodDelete && upload:
		return "s3:AbortMultipartUpload", nil
	case method == http.MethodDelete && version:
		return "s3:DeleteObjectVersion", nil
	case method == http.MethodDelete:
		return "s3:DeleteObject", nil
	}
	return "", fmt.Errorf("%s of an object is not known here", method)
}

// profileRegions lists some destination regions of the inference profiles of a geography.
// Source: Amazon Bedrock User Guide, "Supported Regions and models for inference profiles".
var profileRegions = map[string][]string{
	"us": {"us-east-1", "us-east-2", "us-west-2"}, "eu": {"eu-central-1", "eu-west-1", "eu-west-3"},
	"apac": {"ap-northeast-1", "ap-south-1"}, "global": {"", "eu-west-1"},
}

// bedrockAccess parses a call of a model: a foundation model of the region, or an inference
// profile, which requires access to itself and to the model in each destination region. Source:
// Amazon Bedrock User Guide, "Prerequisites for inference profiles"; the conversations
// need what the plain calls need (API Reference, Converse).
func bedrockAccess(region string, r *http.Request) ([]Access, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	action := map[string]string{
		"invoke": "bedrock:InvokeModel", "converse": "bedrock:InvokeModel",
		"invoke-with-response-stream": "bedrock:InvokeModelWithResponseStream", "converse-stream": "bedrock:InvokeModelWithResponseStream",
	}[parts[len(parts)-1]]
	id, err := url.PathUnescape(strings.Join(parts[1:len(parts)-1], "/"))
	if action == "" || parts[0] != "model" || err != nil {
		return nil, errors.Join(err, fmt.Errorf("the path %s", r.URL.Path))
	}
	var list []Access
	if g := r.Header.Get("X-Amzn-Bedrock-Guardrailidentifier"); g != "" {
		if !strings.HasPrefix(g, "arn:") {
			g = arnOf("bedrock", region, account, "guardrail/"+g)
		}
		list = append(list, Access{"bedrock:ApplyGuardrail", g, nil})
	}
	if strings.HasPrefix(id, "arn:") {
		return append(list, Access{action, id, nil}), nil
	}
	geography, model, _ := strings.Cut(id, ".")
	if regions := profileRegions[geography]; regions != nil {
		list = append(list, Access{action, arnOf("bedrock", region, account, "inference-profile/"+id), nil})
		for _, to := range regions {
			list = append(list, Access{action, arnOf("bedrock", to, "", "foundation-model/"+model), nil})
		}
		return list, nil
	}
	return append(list, Access{action, arnOf("bedrock", region, "", "foundation-model/"+id), nil}), nil
}

// sagemakerAccess parses a call of an endpoint. Source: Amazon SageMaker API Reference,
// InvokeEndpointWithResponseStream, which needs the permission of InvokeEndpoint.
func sagemakerAccess(region string, r *http.Request) ([]Access, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if len(parts) != 3 || parts[0] != "endpoints" || !slices.Contains([]string{"invocations", "invocations-response-stream"}, parts[2]) {
		return nil, fmt.Errorf("the path %s", r.URL.Path)
	}
	list := []Access{{"sagemaker:InvokeEndpoint", arnOf("sagemaker", region, account, "endpoint/"+strings.ToLower(parts[1])), nil}}
	if component := r.Header.Get("X-Amzn-Sagemaker-Inference-Component"); component != "" {
		list = append(list, Access{"sagemaker:InvokeEndpoint", arnOf("sagemaker", region, account, "inference-component/"+component), nil})
	}
	return list, nil
}

// secretAccess parses the reading of a secret, whose ARN has a suffix of its own, or of a
// parameter. Source: Service Authorization Reference, "Actions, resources, and condition keys"
// for AWS Secrets Manager and AWS Systems Manager.
func secretAccess(service, region string, r *http.Request, body []byte) ([]Access, error) {
	var in struct {
		SecretID string `json:"SecretId"`
		Name     string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	switch target := r.Header.Get("X-Amz-Target"); {
	case service == "secretsmanager" && target == "secretsmanager.GetSecretValue":
		return []Access{{"secretsmanager:GetSecretValue", arnOf(service, region, account, "secret:"+in.SecretID+"-AbCdEf"), nil}}, nil
	case service == "ssm" && target == "AmazonSSM.GetParameter":
		return []Access{{"ssm:GetParameter", arnOf(service, region, account, "parameter/"+strings.TrimPrefix(in.Name, "/")), nil}}, nil
	default:
		return nil, fmt.Errorf("the target %q", target)
	}
}

// lambdaAccess parses the invocation of a function, by its ARN or by NAME:QUALIFIER. Source: AWS
// Lambda API Reference, Invoke.
func lambdaAccess(region string, r *http.Request) ([]Access, error) {
	path, _ := url.PathUnescape(r.URL.EscapedPath())
	name, ok := strings.CutPrefix(path, "/2015-03-31/functions/")
	name, whole := strings.CutSuffix(name, "/invocations")
	if !ok || !whole || r.Method != http.MethodPost || !strings.Contains(name, ":") {
		return nil, fmt.Errorf("the path %s", r.URL.Path)
	}
	if !strings.HasPrefix(name, "arn:") {
		name = arnOf("lambda", region, account, "function:"+name)
	}
	return []Access{{"lambda:InvokeFunction", name, nil}}, nil
}

// deployAccess parses the report of a hook. Source: Service Authorization Reference, "Actions,
// resources, and condition keys for AWS CodeDeploy".
func deployAccess(region string, r *http.Request) ([]Access, error) {
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "CodeDeploy_20141006.")
	if !ok || operation != "PutLifecycleEventHookExecutionStatus" {
		return nil, fmt.Errorf("the target %q", r.Header.Get("X-Amz-Target"))
	}
	return []Access{{"codedeploy:" + operation, arnOf("codedeploy", region, account, "deploymentgroup:glossa-dev/some-group"), nil}}, nil
}

// refuse answers with an error in a service's format.
func refuse(w http.ResponseWriter, service string, status int, code, message string) {
	h := w.Header()
	h.Set("X-Amzn-Requestid", "e2e")
	switch service {
	case "s3":
		h.Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message><RequestId>e2e</RequestId></Error>", code, xmlText(message))
	case "dynamodb":
		h.Set("Content-Type", "application/x-amz-json-1.0")
		if status == http.StatusForbidden { // DynamoDB does not use 403
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#%s","Message":%s}`, code, strconv.Quote(message))
	default:
		h.Set("Content-Type", "application/json")
		h.Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"message":%s}`, strconv.Quote(message))
	}
}

func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
