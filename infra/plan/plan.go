// Package plan describes the deployment on AWS: a function for each family of routes, with
// its memory, timeout, environment and permissions, and the paths of the REST API. As much
// as possible is derived from the one route table. It does not know the CDK: names that
// exist only in a deployment are references, as in CloudFormation's Fn::Sub.
package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"glossa/pkg/app"
	"glossa/pkg/deployment"
	"glossa/pkg/httpx"
)

// Architecture is the architecture of all functions, and the name of its directory in dist.
const Architecture = "arm64"

const (
	// briefTimeout is for families that do not stream. The SDK of Lamini's service, one of
	// them, waits for 90 s; time beyond that would be billed without a waiting client.
	briefTimeout = 2 * time.Minute
	// longTimeout is for embeddings, which do not stream either. A request may have thousands
	// of texts, and OpenAI's SDKs wait for 10 minutes.
	longTimeout = 10 * time.Minute
)

// maxEnvironment is the largest size of a function's variables.
//
// Source: AWS Lambda Developer Guide, "Lambda quotas".
const maxEnvironment = 4096 // bytes

// Values from which alarms fire.
const (
	DurationShare = 0.9  // of a function's timeout
	ErrorShare    = 0.05 // of the API's requests, answered 5xx
)

// A Plan describes a deployment.
type Plan struct {
	Config    Config
	Functions []Function // of the families
	Canary    *Function  // asks the others; nil: none
	Paths     []Path
	Copy      bool // the plan is that of the second region
}

// A Function is one Lambda function.
type Function struct {
	Family      string
	Memory      int // MB
	Timeout     time.Duration
	Environment map[string]string
	Provisioned int // instances; 0: none
	Reserved    int // instances; 0: no limit
	Statements  []Statement
	Schedule    *Schedule // nil: none
	// Recursive functions invoke themselves, which Lambda would otherwise stop after a while.
	Recursive bool
}

// A Schedule sends a function an event from time to time.
type Schedule struct {
	Every  time.Duration // whole minutes, at least two
	Event  string        // JSON
	Reason string
}

// sweep is the time between two looks of the function of batches at those that nobody works on:
// an event or a process was lost, or a model was busy.
const sweep = 5 * time.Minute

// New returns the plan for an operator's settings.
func New(cfg Config) (*Plan, error) {
	var families []Family
	for _, name := range app.Families() {
		f, err := family(cfg, name)
		if err != nil {
			return nil, fmt.Errorf("family %s: %w", name, err)
		}
		families = append(families, f)
	}
	paths, err := Paths(families)
	if err != nil {
		return nil, err
	}
	p := &Plan{Config: cfg, Paths: paths, Canary: canaryFunction(cfg)}
	for _, f := range families {
		p.Functions = append(p.Functions, function(cfg, f))
	}
	return p, p.check()
}

// Dialects returns the dialects that metrics of requests are of. Families may share one.
func Dialects() []string { return app.Dialects() }

// placeholderRegion returns a placeholder region, without which no function starts. Nothing calls AWS
// here.
func placeholderRegion(*awshttp.BuildableClient) (aws.Config, error) {
	return aws.Config{Region: "us-east-1"}, nil
}

// family returns the routes of the function of a family in its deployed environment.
func family(cfg Config, name string) (Family, error) {
	env := environment(cfg)
	settings, err := app.FromEnv(func(variable string) string { return sample(env[variable]) })
	if err != nil {
		return Family{}, err
	}
	settings.Auth = false // authentication does not change the routes
	settings.AWS = placeholderRegion
	settings.Uploads = true // adds the routes of uploads where they exist
	a, err := app.New(settings)
	if err != nil {
		return Family{}, err
	}
	return Family{name, a.Routes(name)}, nil
}

func function(cfg Config, f Family) Function {
	timeout := briefTimeout
	streams := slices.ContainsFunc(f.Routes, func(r httpx.Route) bool { return r.Streams })
	switch {
	case streams || f.Name == batchFamily:
		timeout = deployment.MaxTimeout
	case f.Name == "embeddings" || f.Name == "ollama":
		timeout = longTimeout
	}
	fn := Function{
		Family: f.Name, Memory: cfg.Memory[f.Name], Timeout: timeout, Environment: environment(cfg),
		Provisioned: cfg.Provisioned[f.Name], Reserved: cfg.Reserved[f.Name], Statements: statements(cfg, f.Name, streams),
	}
	if f.Name == batchFamily {
		fn.Recursive, fn.Schedule = true, &Schedule{Every: sweep, Event: fmt.Sprintf(`{"batches":%q}`, deployment.StartBatches), Reason: "work that was left"}
	}
	return fn
}

// environment returns the variables of the functions. All integrations stream, including
// those of routes that do not: they also pass answers in one piece, and the function cannot
// tell from an event how its answer is passed on.
func environment(cfg Config) map[string]string {
	env := map[string]string{
		"GLOSSA_TABLE":       "${Table}",
		"GLOSSA_CHECKPOINTS": "s3://${Bucket}/" + deployment.Checkpoints,
		"GLOSSA_BATCHES":     "s3://${Bucket}/" + deployment.Batches,
		"GLOSSA_NAMESPACE":   cfg.Namespace,
		"GLOSSA_STREAM_REST": "true",
		"GLOSSA_STREAM_URL":  "true",
	}
	if days := strconv.Itoa(cfg.ResponseDays); days != defaultOf("response-days") {
		env["GLOSSA_RESPONSE_DAYS"] = days
	}
	if len(cfg.Origins) > 0 {
		env["GLOSSA_ORIGINS"] = strings.Join(cfg.Origins, ",")
	}
	if cfg.Auth == IAM { // AWS then uses the Authorization header
		env["GLOSSA_OPEN"] = "true"
	}
	if cfg.Prefixes {
		env["GLOSSA_PREFIXES"] = "s3://${Bucket}/" + deployment.Prefixes
	}
	if cfg.Issuers != "" {
		env["GLOSSA_ISSUERS"] = cfg.Issuers
	}
	if cfg.Traces != "" {
		env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], env["OTEL_SERVICE_NAME"] = cfg.tracesURL(), "glossa-"+cfg.Stage
	}
	for _, name := range cfg.Settings {
		env[variable(name)] = "true"
	}
	return env
}

// check returns the rules that a plan breaks.
func (p *Plan) check() error {
	var errs []error
	alarms := Alarms()
	if err := alarms.check(); err != nil {
		errs = append(errs, fmt.Errorf("topic: statement %s: %w", alarms.Sid, err))
	}
	for _, s := range append(p.Shift(), p.Replication()...) {
		if err := s.check(); err != nil {
			errs = append(errs, fmt.Errorf("statement %s: %w", s.Sid, err))
		}
	}
	errs = append(errs, p.checkDoors())
	for _, f := range p.All() {
		for _, s := range f.Statements {
			if err := s.check(); err != nil {
				errs = append(errs, fmt.Errorf("function %s: statement %s: %w", f.Family, s.Sid, err))
			}
		}
		size := 0
		for name, value := range f.Environment {
			size += len(name) + len(value)
			if names := unknown(value); names != nil {
				errs = append(errs, fmt.Errorf("function %s: %s: unknown references %v", f.Family, name, names))
			}
		}
		if size > maxEnvironment {
			errs = append(errs, fmt.Errorf("function %s: its variables have %d bytes, more than the %d of Lambda: shorten the contexts issuers and origins", f.Family, size, maxEnvironment))
		}
		if s := f.Schedule; s != nil && (s.Every < 2*time.Minute || s.Every%time.Minute != 0 || s.Reason == "" || !json.Valid([]byte(s.Event))) {
			errs = append(errs, fmt.Errorf("function %s: the schedule %+v", f.Family, *s))
		}
		if f.Timeout <= 0 || f.Timeout > deployment.MaxTimeout {
			errs = append(errs, fmt.Errorf("function %s: a timeout of %s", f.Family, f.Timeout))
		}
	}
	return errors.Join(errs...)
}

func hasWildcard(s string) bool { return strings.ContainsAny(s, "*?") }

// HasWildcard reports whether the statement has a wildcard.
func (s *Statement) HasWildcard() bool {
	for _, list := range [][]string{s.Actions, s.Resources} {
		for _, v := range list {
			if hasWildcard(v) || v == "${LogGroupArn}" { // its value ends in one
				return true
			}
		}
	}
	for _, keys := range s.Condition {
		for _, values := range keys {
			for _, v := range values {
				if hasWildcard(v) {
					return true
				}
			}
		}
	}
	return false
}

func (s *Statement) check() error {
	if s.Sid == "" || s.Reason == "" || len(s.Actions) == 0 || len(s.Resources) == 0 {
		return errors.New("a name, a reason, an action or a resource is missing")
	}
	if s.HasWildcard() != (s.Wildcards != "") {
		return errors.New("a wildcard needs a reason, and a reason a wildcard")
	}
	for _, action := range s.Actions {
		if hasWildcard(action) {
			return fmt.Errorf("the action %s is not a single action", action)
		}
	}
	for _, r := range s.Resources {
		if r == "*" && !slices.ContainsFunc(s.Actions, func(action string) bool { return strings.HasPrefix(action, "xray:") }) {
			return errors.New("it allows all resources")
		}
		if names := unknown(r); names != nil {
			return fmt.Errorf("nothing is called %v", names)
		}
	}
	return nil
}
