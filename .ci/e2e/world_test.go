//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/deployment"
	"glossa/pkg/table"
)

const (
	root    = "../.."
	modules = "../conformance/node_modules"
	// checkpoints is the prefix of models in the bucket.
	checkpoints = deployment.Checkpoints + "/"
)

// A World is a deployment of the templates with its AWS services.
type World struct {
	*Stacks
	Proxy    *Proxy
	Store    *buckettest.Store
	Bucket   string
	Table    string
	Items    *table.Table      // with the operator's access
	Fleets   map[string]*Fleet // by family
	Operator *Principal
	Client   *http.Client
	Edge     *Edge
	Queue    *Queue
	Models   *models
	faults   []string // results of the injected faults
	secrets  []string // must not be printed
	log      string   // directory of the functions' output
}

// deploy starts a deployment of the templates, which ends with the test.
func deploy(t *testing.T, name string) *World {
	t.Helper()
	s, err := Load(filepath.Join(root, "infra/cdk.out"))
	if err != nil {
		t.Fatalf("make synth writes the templates: %v", err)
	}
	tables, buckets := s.Of("AWS::DynamoDB::Table"), s.Of("AWS::S3::Bucket")
	if len(tables) != 1 || len(buckets) != 1 {
		t.Fatalf("%d tables and %d buckets", len(tables), len(buckets))
	}
	w := &World{Stacks: s, Table: tables[0].ref(), Bucket: buckets[0].ref(), Fleets: map[string]*Fleet{}, Operator: &Principal{Name: "operator", all: true}}
	w.log = filepath.Join(root, ".cache/e2e", name)
	if err := errors.Join(os.RemoveAll(w.log), os.MkdirAll(w.log, 0o755)); err != nil {
		t.Fatal(err)
	}
	dynamo := startDynamo(t, modules)
	createTable(t, dynamo, tables[0])
	var s3 *url.URL
	w.Store, s3 = startS3(t, buckets[0])
	w.Models = startModels(t)
	queue, lambda := startLambda(t, func(arn string) (*Fleet, error) { return w.Edge.api.fleetOf(arn) })
	w.Queue = queue
	w.Proxy = NewProxy(map[string]*url.URL{
		"dynamodb": dynamo, "s3": s3, "bedrock": parseURL(t, w.Models.bedrock), "sagemaker": parseURL(t, w.Models.sagemaker),
		"secretsmanager": parseURL(t, w.Models.secrets), "ssm": parseURL(t, w.Models.secrets), "lambda": parseURL(t, lambda), "codedeploy": parseURL(t, w.Models.deploy.start(t)), "xray": parseURL(t, w.Models.spans.start(t)),
	}, bucketPolicy(t, s, buckets[0]))
	t.Cleanup(w.Proxy.Close)
	w.Proxy.Add(w.Operator)
	client, err := awsrest.New(awsrest.DynamoDB(), aws.Config{
		Region: region, Credentials: credentials.NewStaticCredentialsProvider(w.Operator.Key, w.Operator.Secret, ""),
	}, w.Proxy.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	w.Items = table.New(client, w.Table)
	w.startFunctions(t)
	return w
}

// bucketPolicy returns the bucket's own policy.
func bucketPolicy(t *testing.T, s *Stacks, bucket *Resource) (list []Statement) {
	t.Helper()
	for _, r := range s.Of("AWS::S3::BucketPolicy") {
		if r.Text("Bucket") != bucket.ref() {
			continue
		}
		more, err := ParsePolicy(r.Get("PolicyDocument"))
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		list = append(list, more...)
	}
	return list
}

// startFunctions makes the functions of the templates and their entry points.
func (w *World) startFunctions(t *testing.T) {
	t.Helper()
	byName := map[string]*Fleet{}
	for _, fn := range w.Of("AWS::Lambda::Function") {
		family, binary, err := programs(w.Stacks, fn, filepath.Join(root, "dist"), runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		by := &Principal{Name: family, Statements: rolePolicy(t, w.Stacks, fn)}
		w.Proxy.Add(by)
		log, err := os.Create(filepath.Join(w.log, family+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		f, err := newFleet(context.WithoutCancel(t.Context()), fn, family, binary, by, w.Proxy.URL, log)
		if err != nil {
			t.Fatal(err)
		}
		w.Fleets[family], byName[fn.stack+"/"+fn.name] = f, f
		w.grantLogs(t, fn, by)
	}
	edge, err := newEdge(w.Stacks, byName)
	if err != nil {
		t.Fatal(err)
	}
	w.Edge, w.Client = edge, edge.Client()
	t.Cleanup(func() {
		w.Client.CloseIdleConnections()
		w.Queue.Close()
		edge.Close()
		for _, f := range w.Fleets {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// rolePolicy returns the policy of a function's role. AWS managed policies are not
// supported.
func rolePolicy(t *testing.T, s *Stacks, fn *Resource) (list []Statement) {
	t.Helper()
	role := s.By("AWS::IAM::Role", func(r *Resource) bool { arn, _ := r.attribute("Arn"); return arn == fn.Text("Role") })
	if role == nil || len(role.List("ManagedPolicyArns")) > 0 {
		t.Fatalf("the role %s of %s", fn.Text("Role"), fn.name)
	}
	for _, v := range role.List("Policies") {
		policy, _ := v.(map[string]any)
		more, err := ParsePolicy(policy["PolicyDocument"])
		if err != nil {
			t.Fatalf("%s: %v", role.name, err)
		}
		list = append(list, more...)
	}
	for _, policy := range s.Of("AWS::IAM::Policy") {
		if !slices.Contains(policy.List("Roles"), any(role.ref())) {
			continue
		}
		more, err := ParsePolicy(policy.Get("PolicyDocument"))
		if err != nil {
			t.Fatalf("%s: %v", policy.name, err)
		}
		list = append(list, more...)
	}
	if len(s.Of("AWS::IAM::ManagedPolicy")) > 0 {
		t.Fatal("a managed policy is not known here")
	}
	return list
}

// grantLogs checks the permission that Lambda itself needs to write the function's logs. Source: AWS Lambda Developer Guide, "Using CloudWatch Logs with Lambda".
func (w *World) grantLogs(t *testing.T, fn *Resource, by *Principal) {
	t.Helper()
	stream := arnOf("logs", region, account, "log-group:"+fn.Text("LoggingConfig", "LogGroup")+":log-stream:2026/01/01/[1]e2e")
	for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents"} {
		if denied := w.Proxy.denied(by, []Access{{action, stream, nil}}); denied != nil {
			t.Errorf("%s cannot write its log: %s", by.Name, denied)
		}
	}
}

// fresh ends all instances, so that the next requests reach new ones without caches.
func (w *World) fresh(t *testing.T) {
	t.Helper()
	for _, f := range w.Fleets {
		if err := f.Fresh(); err != nil {
			t.Error(err)
		}
	}
}

// glossa runs the operator's command and returns its output.
func (w *World) glossa(t *testing.T, args ...string) string {
	t.Helper()
	return w.glossaWith(t, "", args...)
}

func (w *World) glossaWith(t *testing.T, input string, args ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin/glossa"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdin = root, strings.NewReader(input)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_REGION=" + region, "AWS_ENDPOINT_URL=" + w.Proxy.URL,
		"AWS_ACCESS_KEY_ID=" + w.Operator.Key, "AWS_SECRET_ACCESS_KEY=" + w.Operator.Secret,
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("glossa %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), problems.Bytes())
	}
	if args[0] == "key" {
		w.secrets = append(w.secrets, strings.TrimSpace(out.String()))
	}
	return strings.TrimSpace(out.String())
}

// put writes an object to the bucket as the operator.
func (w *World) put(key string, content []byte) { w.Store.Put(checkpoints+key, content) }

// api returns the URL of a path of the REST API.
func (w *World) api(path string) string {
	return strings.TrimSuffix(w.Outputs[deployment.APIOutput], "/") + path
}

// url returns the URL of a path of a family's function.
func (w *World) url(family, path string) string {
	return strings.TrimSuffix(w.Outputs[deployment.URLOutput(family)], "/") + path
}

// A request is a client's request.
type request struct {
	method, url, key, body string
	header                 http.Header
}

// An answer is a client's answer.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (a answer) String() string { return fmt.Sprintf("%d %.400s %v", a.status, a.body, a.err) }

// open sends a request and returns the answer before its body is read. The body is closed at
// the latest with the test.
func (w *World) open(t *testing.T, r request) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.method, http.MethodGet), r.url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	res, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// ask sends a request and reads the answer.
func (w *World) ask(t *testing.T, r request) answer {
	t.Helper()
	res := w.open(t, r)
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	return answer{res.StatusCode, res.Header, string(text), err}
}

// until polls a condition for at most limit and returns how long it took.
func until(t *testing.T, limit time.Duration, so func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !so() {
		if time.Since(begun) > limit {
			t.Fatalf("it is not so after %s", limit)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(begun)
}

// models holds the fakes of Bedrock and SageMaker.
type models struct {
	bedrock, sagemaker string
	upstream, secrets  string // an endpoint that speaks OpenAI's API, and where its key is
	deploy             hooks
	spans              spans
	gate               chan struct{} // releases the second token of a slow answer
}

// startModels starts the fakes. They repeat the prompt, embed texts or rank documents. A prompt
// with "slowly" gets its answer in two halves, the second when the test releases it.
func startModels(t *testing.T) *models {
	m := &models{gate: make(chan struct{})}
	m.bedrock = backendtest.NewService(t, "bedrock", func(i int, r *backendtest.Request, w *backendtest.Reply) {
		switch {
		case r.Body["inputText"] != nil: // Titan
			w.Whole(`{"embedding": [0.6, 0.8], "inputTextTokenCount": 3}`)
			return
		case r.Body["documents"] != nil: // Amazon Rerank
			w.Whole(`{"results": [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]}`)
			return
		case !strings.Contains(fmt.Sprint(r.Body), "slowly") || !r.Stream:
			backendtest.Claude(i, r, w)
			return
		}
		w.Event(`{"completion":" one","stop_reason":null,"stop":null}`)
		select {
		case <-m.gate:
		case <-r.Gone:
			return
		}
		w.Event(`{"completion":" two","stop_reason":"stop_sequence","stop":"\n\nHuman:"}`)
	}).URL
	m.sagemaker = backendtest.NewService(t, "sagemaker", func(i int, r *backendtest.Request, w *backendtest.Reply) {
		if list, ok := r.Body["inputs"].([]any); ok { // Text Embeddings Inference
			vectors, _ := json.Marshal(slices.Repeat([][]float32{{0.6, 0.8}}, len(list)))
			w.Whole(string(vectors))
			return
		}
		backendtest.TGI(i, r, w)
	}).URL
	m.upstream = startUpstream(t, "the-key-of-the-endpoint")
	m.secrets = startSecrets(t, "the-key-of-the-endpoint")
	return m
}

// release releases the second half of an answer, for which a function must be waiting.
func (m *models) release(t *testing.T) {
	t.Helper()
	select {
	case m.gate <- struct{}{}:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody waits for the model")
	}
}
