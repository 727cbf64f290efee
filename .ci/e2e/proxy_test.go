package e2e

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signed returns a call that the SDK's signer has signed.
func signed(t *testing.T, p *Principal, service, method, target, body string, header map[string]string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	hash := hexHash([]byte(body))
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	if service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", hash)
	}
	credentials := aws.Credentials{AccessKeyID: p.Key, SecretAccessKey: p.Secret, SessionToken: p.Token}
	if err := signer.SignHTTP(t.Context(), credentials, r, hash, service, region, time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

// guarded starts a proxy for a service that answers "served" to everything except
// /b/checkpoints/none.
func guarded(t *testing.T) (*Proxy, *Principal) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/none") {
			refuse(w, "s3", http.StatusNotFound, "NoSuchKey", "none")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "served")
	}))
	t.Cleanup(service.Close)
	u, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := NewProxy(map[string]*url.URL{"dynamodb": u, "s3": u, "bedrock": u, "sagemaker": u}, nil)
	t.Cleanup(p.Close)
	f := &Principal{Name: "fn", Statements: []Statement{
		{Sid: "Items", Actions: []string{"dynamodb:GetItem", "dynamodb:PutItem"}, Resources: []string{arnOf("dynamodb", region, account, "table/t")},
			Condition: map[string]map[string][]string{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": {"models"}}}},
		{Sid: "Objects", Actions: []string{"s3:GetObject", "s3:PutObject"}, Resources: []string{"arn:aws:s3:::b/checkpoints/*"}},
		{Sid: "Runs", Actions: []string{"s3:ListBucket"}, Resources: []string{"arn:aws:s3:::b"},
			Condition: map[string]map[string][]string{"StringLike": {"s3:prefix": {"checkpoints/*"}}}},
		{Sid: "Models", Actions: []string{"bedrock:InvokeModel"}, Resources: []string{
			"arn:aws:bedrock:*::foundation-model/anthropic.*", "arn:aws:bedrock:*:" + account + ":inference-profile/us.*"}},
		{Sid: "Endpoints", Actions: []string{"sagemaker:InvokeEndpoint"}, Resources: []string{arnOf("sagemaker", region, account, "endpoint/mine")}},
	}}
	p.Add(f)
	return p, f
}

func TestProxy(t *testing.T) {
	p, f := guarded(t)
	const get, put = `{"TableName":"t","Key":{"pk":{"S":"%s"},"sk":{"S":"x"}}}`, `{"TableName":"t","Item":{"pk":{"S":"%s"},"sk":{"S":"x"}}}`
	dynamo := func(operation string) map[string]string {
		return map[string]string{"X-Amz-Target": "DynamoDB_20120810." + operation, "Content-Type": "application/x-amz-json-1.0"}
	}
	query := `{"TableName":"t","KeyConditionExpression":"#k = :v AND begins_with(sk, :s)","ExpressionAttributeNames":{"#k":"pk"},"ExpressionAttributeValues":{":v":{"S":"models"},":s":{"S":"a"}}}`
	for _, test := range []struct {
		name, service, method, path, body string
		header                            map[string]string
		status                            int
		says                              string
	}{
		{"an item", "dynamodb", "POST", "/", fmt.Sprintf(get, "models"), dynamo("GetItem"), 200, "served"},
		{"an item of others", "dynamodb", "POST", "/", fmt.Sprintf(get, "accounts"), dynamo("GetItem"), 400, "#AccessDeniedException"},
		{"another table", "dynamodb", "POST", "/", strings.Replace(fmt.Sprintf(get, "models"), `"t"`, `"u"`, 1), dynamo("GetItem"), 400, "#AccessDeniedException"},
		{"a new item", "dynamodb", "POST", "/", fmt.Sprintf(put, "models"), dynamo("PutItem"), 200, "served"},
		{"a new item of others", "dynamodb", "POST", "/", fmt.Sprintf(put, "usage"), dynamo("PutItem"), 400, "#AccessDeniedException"},
		{"a query", "dynamodb", "POST", "/", query, dynamo("Query"), 400, "dynamodb:Query on resource"},
		{"all items", "dynamodb", "POST", "/", `{"TableName":"t"}`, dynamo("Scan"), 400, "dynamodb:Scan on resource"},
		{"an operation of tomorrow", "dynamodb", "POST", "/", `{}`, dynamo("Tomorrow"), 400, "ValidationException"},
		{"an object", "s3", "GET", "/b/checkpoints/a%20b%2Bc/d", "", nil, 200, "served"},
		{"an object of others", "s3", "GET", "/b/private/a", "", nil, 403, "<Code>AccessDenied</Code>"},
		{"a part", "s3", "PUT", "/b/checkpoints/a?partNumber=1&uploadId=u", "part", nil, 200, "served"},
		{"an end", "s3", "POST", "/b/checkpoints/a?uploadId=u", "<x/>", nil, 200, "served"},
		{"a deletion", "s3", "DELETE", "/b/checkpoints/a", "", nil, 403, "s3:DeleteObject on resource"},
		{"an upload given up", "s3", "DELETE", "/b/checkpoints/a?uploadId=u", "", nil, 403, "s3:AbortMultipartUpload on resource"},
		{"an old version", "s3", "GET", "/b/checkpoints/a?versionId=1", "", nil, 403, "s3:GetObjectVersion on resource"},
		{"a copy", "s3", "PUT", "/b/checkpoints/a", "", map[string]string{"X-Amz-Copy-Source": "/c/secret"}, 403, "arn:aws:s3:::c/secret"},
		{"a list", "s3", "GET", "/b?list-type=2&prefix=checkpoints%2F", "", nil, 200, "served"},
		{"a list of all", "s3", "GET", "/b?list-type=2", "", nil, 403, "s3:ListBucket on resource"},
		{"an object that is not there", "s3", "GET", "/b/checkpoints/none", "", nil, 403, "<Code>AccessDenied</Code>"},
		{"a model", "bedrock", "POST", "/model/anthropic.claude-v2%3A1/invoke", "{}", nil, 200, "served"},
		{"a conversation", "bedrock", "POST", "/model/anthropic.claude-v2/converse", "{}", nil, 200, "served"},
		{"a stream", "bedrock", "POST", "/model/anthropic.claude-v2/invoke-with-response-stream", "{}", nil, 403, "InvokeModelWithResponseStream"},
		{"a profile", "bedrock", "POST", "/model/us.anthropic.claude-v2/invoke", "{}", nil, 200, "served"},
		{"a profile to another model", "bedrock", "POST", "/model/us.meta.llama/invoke", "{}", nil, 403, "foundation-model/meta.llama"},
		{"another profile", "bedrock", "POST", "/model/eu.anthropic.claude-v2/invoke", "{}", nil, 403, "inference-profile/eu.anthropic.claude-v2"},
		{"a profile by its ARN", "bedrock", "POST", "/model/" + url.PathEscape("arn:aws:bedrock:us-east-1:"+account+":inference-profile/us.x") + "/invoke", "{}", nil, 200, "served"},
		{"an endpoint", "sagemaker", "POST", "/endpoints/mine/invocations-response-stream", "{}", nil, 200, "served"},
		{"another endpoint", "sagemaker", "POST", "/endpoints/yours/invocations", "{}", nil, 403, "endpoint/yours"},
		{"a component", "sagemaker", "POST", "/endpoints/mine/invocations", "{}", map[string]string{"X-Amzn-Sagemaker-Inference-Component": "c"}, 403, "inference-component/c"},
	} {
		r := signed(t, f, test.service, test.method, p.URL+test.path, test.body, test.header)
		if status, body := send(t, r); status != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s: %d %s, want %d %s", test.name, status, body, test.status, test.says)
		} else if test.service == "s3" && status == 403 && xml.Unmarshal([]byte(body), new(struct{})) != nil {
			t.Errorf("%s: %s", test.name, body)
		}
	}
	if len(p.strange) != 1 || p.used["fn Objects s3:PutObject"] != 3 || p.used["fn Runs s3:ListBucket"] != 1 {
		t.Errorf("%v, %v", p.strange, p.used)
	}
}

func send(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestSignatures changes requests after they were signed.
func TestSignatures(t *testing.T) {
	p, f := guarded(t)
	for name, change := range map[string]func(*http.Request){
		"nothing":    func(*http.Request) {},
		"the path":   func(r *http.Request) { r.URL.Path += "x" },
		"the query":  func(r *http.Request) { r.URL.RawQuery = "partNumber=2" },
		"the method": func(r *http.Request) { r.Method = "GET" },
		"the body":   func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("BODY")) },
		"a header":   func(r *http.Request) { r.Header.Set("X-Amz-Meta-A", "2") },
		"the time":   func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") },
		"the token":  func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "another") },
		"the key": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), f.Key, "ASIANOBODY", 1))
		},
		"the region": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), region, "us-east-1", 1))
		},
		"no signature": func(r *http.Request) { r.Header.Del("Authorization") },
	} {
		r := signed(t, f, "s3", "PUT", p.URL+"/b/checkpoints/a%20b?partNumber=1&uploadId=u%2F", "body", map[string]string{"X-Amz-Meta-A": "1  and"})
		change(r)
		if status, body := send(t, r); (status == 200) != (name == "nothing") {
			t.Errorf("%s changed: %d %s", name, status, body)
		}
	}
}

// TestPresigned tests requests with the signature in the query.
func TestPresigned(t *testing.T) {
	p, f := guarded(t)
	sign := func(expires string, at time.Time) *url.URL {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPut, p.URL+"/b/checkpoints/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = "X-Amz-Expires=" + expires
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		target, _, err := signer.PresignHTTP(t.Context(), aws.Credentials{AccessKeyID: f.Key, SecretAccessKey: f.Secret, SessionToken: f.Token},
			r, "UNSIGNED-PAYLOAD", "s3", region, at)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for name, test := range map[string]struct {
		url *url.URL
		ok  bool
	}{
		"good": {sign("60", time.Now()), true}, "late": {sign("60", time.Now().Add(-2*time.Minute)), false}, "for ever": {sign("9999999", time.Now()), false},
		"another key": {func() *url.URL { u := sign("60", time.Now()); u.Path = "/b/checkpoints/b"; return u }(), false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, test.url.String(), bytes.NewReader([]byte("any body")))
		if err != nil {
			t.Fatal(err)
		}
		if status, body := send(t, r); (status == 200) != test.ok {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// TestWithdraw removes a statement and restores it.
func TestWithdraw(t *testing.T) {
	p, f := guarded(t)
	ask := func() int {
		status, _ := send(t, signed(t, f, "s3", "GET", p.URL+"/b/checkpoints/a", "", nil))
		return status
	}
	giveBack := p.Withdraw(f, "Objects")
	if status := ask(); status != 403 {
		t.Errorf("without the statement: %d", status)
	}
	if refused := giveBack(); len(refused) != 1 || len(p.refused) != 0 || ask() != 200 {
		t.Errorf("%v, %v", refused, p.refused)
	}
	mend := p.Break(&Fault{Fits: func(c *Call) bool { return c.Is("s3:GetObject") }, Answer: func(w http.ResponseWriter, _ *http.Request, c *Call) {
		refuse(w, c.Service, 503, "SlowDown", "slowly")
	}})
	if status := ask(); status != 503 {
		t.Errorf("with a fault: %d", status)
	}
	if mend(); ask() != 200 {
		t.Error("the fault is still active")
	}
}
