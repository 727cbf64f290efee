package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/account"
	"glossa/pkg/account/issuer"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/host"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/memory"
	"glossa/pkg/meter"
	"glossa/pkg/meter/emf"
	"glossa/pkg/meter/traces"
)

// Defaults of [Config].
const (
	DefaultWorkers = 8 // requests share the passes of a model: more workers add little
	WaitingPerWork = 8 // places in the queue for each worker
	// DefaultKeepAlive is what the HTML standard, 9.2.7, advises, and half of the shortest silence
	// after which common gateways end a stream: 30 s of CloudFront and of edge-optimised APIs of
	// API Gateway.
	DefaultKeepAlive = 15 * time.Second
)

// Bounds of [Config].KeepAlive: the longest is the silence after which API Gateway ends a
// stream.
const (
	minKeepAlive = 100 * time.Millisecond
	maxKeepAlive = 5 * time.Minute
)

// Config configures the models, the routes and the server. Its zero value serves the
// embedded records without keys; [FromEnv] requires keys unless GLOSSA_OPEN is set.
type Config struct {
	Records     fs.FS  // model records; nil: the embedded ones
	Table       string // DynamoDB table for the data that many machines share: model records, accounts, budgets; "": none
	ListedOnly  bool   // refuse remote models that are not listed; always so without Table and Records
	Starters    fs.FS  // embedded runs; nil: none
	Models      string // directory of models that nothing changes, such as those in an image; "": none
	Checkpoints string // directory of runs, or s3://bucket/prefix; "": none
	Uploads     bool   // uploads go to Checkpoints
	Quant       string // of weights in memory, one of catalog.Quants; "": stored
	Threads     int    // for computing one model; 0: all processors
	Kernel      string // instruction set; "": the fastest
	HubToken    string // of the account on the Hugging Face hub; "": none
	Workers     int    // generations at once; 0: [DefaultWorkers]
	Memory      int64  // bytes for the weights of open models; 0: no bound; [FromEnv] sets three quarters of the memory
	// Drafts are draft models by the names of local models, see [catalog.Config].
	Drafts map[string]string
	// RequestMemory is the memory of one request, bytes; 0: the engine's default.
	RequestMemory int64
	// BodyMemory is the memory of the bodies of all requests together, bytes; 0: the
	// default of [httpx.Bodies].
	BodyMemory int64
	// HeapLimit is the limit of the memory of Go's runtime, see [debug.SetMemoryLimit]; 0:
	// unchanged; [FromEnv] sets most of the memory of a container or a function.
	HeapLimit int64

	// Computer has the prices of this machine, for models of this process without prices of
	// their own; nil: unknown. [FromEnv] sets it in a Lambda function.
	Computer *meter.Computer

	Endpoints Endpoints // of AWS
	// BedrockToken is an API key of Amazon Bedrock, sent in place of signatures; "": none.
	BedrockToken string

	// PublicUpstreams refuses endpoints of records outside the public internet, unless a record
	// allows its own. [FromEnv] sets it in a Lambda function.
	PublicUpstreams bool
	// Getenv returns variables of the environment that hold keys of endpoints; nil: there are
	// none.
	Getenv func(name string) string

	// Defaults for requests of the API layer: drop unmapped keys, and write lines for
	// events without keys.
	IgnoreUnmapped, EmptyLines bool

	// AWS finds the AWS account; nil: the environment alone names it, as in functions.
	AWS func(*awshttp.BuildableClient) (aws.Config, error)
	// KeepResponses is the time for which responses are stored, in Table or, without one, in
	// this process; 0: the default of [responses.Config]; negative: they are not stored.
	KeepResponses time.Duration
	// Batches is the directory of files and batches, or s3://bucket/prefix; "": there are none.
	Batches string
	// Prefixes is the directory, or s3://bucket/prefix, of the beginnings of prompts that several
	// requests have had computed; "": they end with the process. A directory has at most
	// PrefixesSize bytes, 0: [DefaultPrefixesSize].
	Prefixes     string
	PrefixesSize int64
	// BatchFunctions is the number of functions that work on batches at once; 0:
	// [DefaultBatchFunctions].
	BatchFunctions int

	Auth     bool // all routes except the public ones need a key
	Keys     []account.Key
	Issuers  []issuer.Issuer // whose tokens are accepted beside the keys
	Accounts string          // file of users and API keys, in addition to Keys; the budgets are in the same directory; "": none

	// Hosts and Origins are those of [httpx.Browsers]. The Host header is checked by servers
	// without keys, except behind a gateway, and whenever Hosts is not empty.
	Hosts, Origins []string

	Log *slog.Logger // nil: nothing is logged
	// Metrics receives a line in CloudWatch's embedded metric format for each request, instead
	// of the request's line in Log; nil: no such lines.
	Metrics   io.Writer
	Namespace string // of these metrics; "": the namespace of API layer

	// KeepAlive is the silence after which a stream sends a keep-alive; 0: [DefaultKeepAlive];
	// negative: it sends none.
	KeepAlive time.Duration

	Level slog.Level // of [NewLog]
	Host  host.Config
	// Listen is the address for plain HTTP, host:port. The host is one of the server's names.
	Listen string

	// Meter returns the meter that observes each request; nil: none.
	Meter func(Measured) Meter
	// Traces are exported to an endpoint; the zero value: there are none.
	Traces traces.Settings
	// Activity serves the measurements of the last minutes at GET /activity. It is for a
	// process that answers alone: a function has many.
	Activity bool
}

// Measured is what a [Meter] measures besides requests, when it is asked.
type Measured struct {
	Queue   func() (running, waiting int)   // generations
	Known   func(model string) bool         // reports whether a model may become a label
	Experts func() map[string]llm.ExpertUse // of the models in memory whose experts stay in their files
}

// A Meter measures requests and may have its own routes.
type Meter interface {
	Observe(*httpx.Record)
	Routes() []httpx.Route
}

// Variables lists the environment variables that [FromEnv] reads, with their meaning.
func Variables() [][2]string {
	return [][2]string{
		{"GLOSSA_CHECKPOINTS", "directory of training runs and published models, or s3://bucket/prefix"},
		{"GLOSSA_MODELS", "directory of more models, which does not change while they are served, such as one in a container image"},
		{"GLOSSA_TABLE", "DynamoDB table of model records and, unless GLOSSA_ACCOUNTS names a file, of users, API keys and budgets"},
		{"GLOSSA_RESPONSE_DAYS", "days for which responses are stored, in the table or, outside of Lambda, in memory; default 30; 0: they are not stored"},
		{"GLOSSA_BATCHES", "directory of the files and batches of OpenAI's Batch API, or s3://bucket/prefix; none: no batches"},
		{"GLOSSA_PREFIXES", "directory or s3://bucket/prefix that keeps the beginnings which prompts have in common, encrypted, so that other processes need not compute them; default none"},
		{"GLOSSA_PREFIXES_SIZE", "maximum size of that directory, such as 4GiB, the default; a bucket's rules bound a bucket"},
		{"GLOSSA_BATCH_FUNCTIONS", "maximum functions that work on batches at once; default " + strconv.Itoa(DefaultBatchFunctions)},
		{"GLOSSA_WORKERS", "maximum concurrent generations"},
		{"GLOSSA_MEMORY", "memory for the weights of open models, such as 8GiB; default three quarters of the available memory"},
		{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "set by Lambda: the memory of the function in MB"},
		{"GLOSSA_LAMBDA_PRICES", "prices of Lambda in US dollars, for models that a function computes: of a GB-second and, after a comma, of a request; 0: unknown; default those of us-east-1 for the function's architecture"},
		{"GOMEMLIMIT", "memory limit of the Go runtime, such as 3GiB; default seven eighths of the memory of the container or function"},
		{"GLOSSA_QUANT", "format of weights in memory: stored (as in the file, the default),  " + strings.Join(dtype.Options(), ", ")},
		{"GLOSSA_DRAFTS", "draft models of local models whose records name none, MODEL=DRAFT, separated by commas: Qwen3-4B=Qwen3-0.6B"},
		{"GLOSSA_THREADS", "threads that compute a model; default one per processor"},
		{"GLOSSA_KERNEL", "instruction set: generic, avx2, avxvnni, avx512, avx512bf16, amx, neon, dotprod, i8mm"},
		{"GLOSSA_KEYS", "keys with their roles: role:key,role:key"},
		{"GLOSSA_ISSUERS", "OpenID Connect providers whose tokens are accepted: a JSON list, or the name of its file"},
		{"GLOSSA_ACCOUNTS", "file of users and API keys, which glossa user and glossa key change"},
		{"UPLOAD_SECRET", "a key with the role worker, for uploads"},
		{"HF_TOKEN", "Hugging Face token for glossa pull"},
		{"GLOSSA_RECORDS", "directory of model records; they add to the built-in records and replace those with the same file name"},
		{"GLOSSA_LISTED_ONLY", "true: unlisted remote models are rejected; by default, if GLOSSA_TABLE or GLOSSA_RECORDS is set, requests may name any remote model that a record or its group's record describes"},
		{"GLOSSA_IGNORE_UNMAPPED", "true: /invoke drops keys that a model does not support, unless the request or the model's record decides"},
		{"GLOSSA_EMPTY_LINES", "true: /invoke_stream writes {} for an event without keys, unless the request decides"},
		{"GLOSSA_BEDROCK_ENDPOINT", "base URL to use instead of Amazon Bedrock's"},
		{"AWS_BEARER_TOKEN_BEDROCK", "Amazon Bedrock API key, used instead of AWS credentials"},
		{"GLOSSA_SAGEMAKER_ENDPOINT", "base URL to use instead of Amazon SageMaker's"},
		{"GLOSSA_DYNAMODB_ENDPOINT", "base URL to use instead of DynamoDB's"},
		{"GLOSSA_S3_ENDPOINT", "base URL to use instead of S3's; the bucket is in its path"},
		{"GLOSSA_LOG_LEVEL", "debug, info, warn or error"},
		{"GLOSSA_NAMESPACE", "namespace of the metrics in CloudWatch; default " + emf.DefaultNamespace},
		{"GLOSSA_OPEN", "true: a function requires no key"},
		{"GLOSSA_STREAM_REST", "true: the REST API's integration streams"},
		{"GLOSSA_STREAM_URL", "true: the function URL streams"},
		{"GLOSSA_KEEP_ALIVE", "silence after which a stream sends a keep-alive, such as 30s; default " + DefaultKeepAlive.String() + "; 0: it sends none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "URL of a collector that gets spans of requests, such as http://localhost:4318; default none: there are no traces. OpenTelemetry's other variables configure the exporter, the sampler and the service's name"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "the same, with its whole path, such as that of AWS X-Ray: https://xray.eu-west-1.amazonaws.com/v1/traces, whose requests are signed"},
		{"GLOSSA_LISTEN", "host:port of a function that runs outside of Lambda; default localhost:8080"},
		{"GLOSSA_BASE_PATH", "base path of a custom domain"},
		{"GLOSSA_HOSTS", "host names of the server, separated by commas; without keys, requests for other names are rejected, except localhost and IP addresses; * for all"},
		{"GLOSSA_ORIGINS", "origins of other web pages that may use the server, separated by commas: https://app.example.com; * for all"},
	}
}

// noBatches is the value of GLOSSA_BATCHES without which a command chooses a directory.
const noBatches = "none"

// Environment returns the configuration of the process's environment.
func Environment() (Config, error) { return FromEnv(os.Getenv) }

// FromEnv returns the configuration of an environment. Its error names each invalid
// variable, and contains no secret.
func FromEnv(getenv func(string) string) (Config, error) {
	e := env{get: getenv}
	cfg := Config{
		Models:      getenv("GLOSSA_MODELS"),
		Checkpoints: getenv("GLOSSA_CHECKPOINTS"),
		Accounts:    getenv("GLOSSA_ACCOUNTS"),
		Table:       getenv("GLOSSA_TABLE"),
		Batches:     strings.TrimPrefix(getenv("GLOSSA_BATCHES"), noBatches), BatchFunctions: e.count("GLOSSA_BATCH_FUNCTIONS"),
		Prefixes:   getenv("GLOSSA_PREFIXES"),
		ListedOnly: e.flag("GLOSSA_LISTED_ONLY"),
		Kernel:     getenv("GLOSSA_KERNEL"),
		HubToken:   getenv("HF_TOKEN"),
		Workers:    e.count("GLOSSA_WORKERS"),
		Threads:    e.count("GLOSSA_THREADS"),
		Quant:      getenv("GLOSSA_QUANT"),
		Endpoints: Endpoints{
			Bedrock: e.address("GLOSSA_BEDROCK_ENDPOINT"), SageMaker: e.address("GLOSSA_SAGEMAKER_ENDPOINT"), DynamoDB: e.address("GLOSSA_DYNAMODB_ENDPOINT"),
			S3: e.address("GLOSSA_S3_ENDPOINT"),
		},
		BedrockToken:    getenv("AWS_BEARER_TOKEN_BEDROCK"),
		PublicUpstreams: getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") != "", // set by Lambda
		Getenv:          getenv,
		Auth:            !e.flag("GLOSSA_OPEN"),
		Listen:          cmp.Or(getenv("GLOSSA_LISTEN"), "localhost:8080"),
		Hosts:           e.list("GLOSSA_HOSTS", httpx.CheckNames),
		Origins:         e.list("GLOSSA_ORIGINS", httpx.CheckOrigins),
		IgnoreUnmapped:  e.flag("GLOSSA_IGNORE_UNMAPPED"), EmptyLines: e.flag("GLOSSA_EMPTY_LINES"),
		Host: host.Config{
			StreamREST: e.flag("GLOSSA_STREAM_REST"), StreamURL: e.flag("GLOSSA_STREAM_URL"),
			BasePath: getenv("GLOSSA_BASE_PATH"),
		},
	}
	if dir := getenv("GLOSSA_RECORDS"); dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			e.fail("GLOSSA_RECORDS", fmt.Errorf("%q is not a readable directory", dir))
		}
		cfg.Records = recordsIn(dir)
	}
	if days := getenv("GLOSSA_RESPONSE_DAYS"); days == "0" {
		cfg.KeepResponses = -1
	} else {
		cfg.KeepResponses = time.Duration(e.count("GLOSSA_RESPONSE_DAYS")) * 24 * time.Hour
	}
	cfg.KeepAlive = e.keepAlive("GLOSSA_KEEP_ALIVE")
	var err error
	if cfg.Traces, err = traces.ReadSettings(getenv); err != nil {
		e.errs = append(e.errs, err)
	}
	limits := memory.Detect(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	if getenv("GOMEMLIMIT") == "" { // Go's runtime reads it itself
		cfg.HeapLimit = limits.Heap()
	}
	if size := getenv("GLOSSA_PREFIXES_SIZE"); size != "" {
		if cfg.PrefixesSize, err = memory.ParseSize(size); err != nil {
			e.fail("GLOSSA_PREFIXES_SIZE", err)
		}
	}
	if cfg.Memory = limits.Weights(); getenv("GLOSSA_MEMORY") != "" {
		if cfg.Memory, err = memory.ParseSize(getenv("GLOSSA_MEMORY")); err != nil {
			e.fail("GLOSSA_MEMORY", err)
		}
	}
	cfg.Computer = e.computer("GLOSSA_LAMBDA_PRICES", getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	cfg.BodyMemory = limits.Bodies()
	cfg.RequestMemory = limits.Request(cfg.Memory, cmp.Or(cfg.Workers, DefaultWorkers))
	if list := getenv("GLOSSA_ISSUERS"); list != "" {
		if cfg.Issuers, err = ReadIssuers(list); err != nil {
			e.fail("GLOSSA_ISSUERS", err)
		}
	}
	if cfg.Keys, err = account.ParseKeys(getenv("GLOSSA_KEYS")); err != nil {
		e.fail("GLOSSA_KEYS", err)
	}
	if secret := getenv("UPLOAD_SECRET"); secret != "" {
		key, err := account.NewKey("UPLOAD_SECRET", account.Worker, secret)
		if err != nil {
			e.fail("UPLOAD_SECRET", err)
		} else {
			cfg.Keys = append(cfg.Keys, key)
		}
	}
	if cfg.Drafts, err = ParseDrafts(getenv("GLOSSA_DRAFTS")); err != nil {
		e.fail("GLOSSA_DRAFTS", err)
	}
	if level := getenv("GLOSSA_LOG_LEVEL"); level != "" {
		if err := cfg.Level.UnmarshalText([]byte(level)); err != nil {
			e.fail("GLOSSA_LOG_LEVEL", fmt.Errorf("must be debug, info, warn or error, not %q", level))
		}
	}
	cfg.Namespace = getenv("GLOSSA_NAMESPACE")
	if err := emf.CheckNamespace(cfg.Namespace); err != nil {
		e.fail("GLOSSA_NAMESPACE", err)
	}
	return cfg, errors.Join(e.errs...)
}

// env reads typed variables and collects errors.
type env struct {
	get  func(string) string
	errs []error
}

func (e *env) fail(name string, err error) { e.errs = append(e.errs, fmt.Errorf("%s: %w", name, err)) }

func (e *env) count(name string) int {
	value := e.get(name)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		e.fail(name, fmt.Errorf("must be a positive integer, not %q", value))
	}
	return n
}

func (e *env) keepAlive(name string) time.Duration {
	value := e.get(name)
	if value == "" {
		return 0
	}
	every, err := time.ParseDuration(value)
	if err != nil {
		e.fail(name, fmt.Errorf("must be a time such as 30s, not %q", value))
		return 0
	}
	if every, err = ParseKeepAlive(every); err != nil {
		e.fail(name, err)
	}
	return every
}

// ParseKeepAlive returns the value of [Config].KeepAlive for a setting, in which 0 means none.
func ParseKeepAlive(setting time.Duration) (time.Duration, error) {
	switch {
	case setting == 0:
		return -1, nil
	case setting < minKeepAlive || setting > maxKeepAlive:
		return 0, fmt.Errorf("must be 0 or from 100ms to 5m, not %v", setting)
	}
	return setting, nil
}

// address parses a base URL.
func (e *env) address(name string) string {
	value := e.get(name)
	if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		e.fail(name, fmt.Errorf("must be a URL such as https://host, not %q", value))
	}
	return value
}

// list parses a list with [ParseList].
func (e *env) list(name string, check func([]string) error) []string {
	list, err := ParseList(e.get(name), check)
	if err != nil {
		e.fail(name, err)
	}
	return list
}

// ParseList splits a text at commas; the result is nil if it is empty.
func ParseList(text string, check func([]string) error) (list []string, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return list, check(list)
}

// ParseDrafts returns the value of [Config].Drafts for a setting, MODEL=DRAFT,MODEL=DRAFT; nil if it
// is empty.
func ParseDrafts(setting string) (map[string]string, error) {
	list, err := ParseList(setting, func([]string) error { return nil })
	if err != nil || list == nil {
		return nil, err
	}
	drafts := map[string]string{}
	for _, part := range list {
		model, draft, ok := strings.Cut(part, "=")
		switch {
		case !ok || model == "" || draft == "":
			return nil, fmt.Errorf("%q must be MODEL=DRAFT", part)
		case drafts[model] != "":
			return nil, fmt.Errorf("%q has two draft models", model)
		}
		drafts[model] = draft
	}
	return drafts, nil
}

func (e *env) flag(name string) bool {
	value := e.get(name)
	if value == "" {
		return false
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		e.fail(name, fmt.Errorf("must be true or false, not %q", value))
	}
	return on
}
