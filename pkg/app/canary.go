package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/backend/awsrest"
	"glossa/pkg/canary"
	"glossa/pkg/deployment"
	"glossa/pkg/host"
)

// Canary is the main function of the function that asks the others. It ends the process.
func Canary() {
	log := NewLog(os.Stderr, slog.LevelInfo)
	c, err := newCanary(os.Getenv, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "glossa:", err)
		os.Exit(1)
	}
	slog.SetDefault(log) // the library prints errors of invocations with the standard log
	host.StartEvents(c.event)
}

var errNoCanaryEvent = errors.New("the event is not that of a deployment or of a schedule")

// A canaryFunction answers the events of the canary's function.
type canaryFunction struct {
	canary.Canary
	versions, live map[string]string // functions by family
	report         func(ctx context.Context, deployment, execution string, succeeded bool) error
	log            *slog.Logger
}

// A canaryEvent is an event of CodeDeploy, or that of the schedule.
type canaryEvent struct {
	Deployment string `json:"DeploymentId"`
	Execution  string `json:"LifecycleEventHookExecutionId"`
	Canary     string `json:"canary"`
}

// keyLifetime is the time that the canary's key is valid, should it not be revoked.
const keyLifetime = 15 * time.Minute

// newCanary reads the environment: GLOSSA_CANARY has the version of each function,
// FAMILY=NAME:VERSION,..., and GLOSSA_CANARY_MODELS the models that are asked.
func newCanary(getenv func(string) string, log *slog.Logger) (*canaryFunction, error) {
	models, err := canary.ParseModels(getenv("GLOSSA_CANARY_MODELS"))
	if err != nil {
		return nil, fmt.Errorf("GLOSSA_CANARY_MODELS: %w", err)
	}
	f := &canaryFunction{versions: map[string]string{}, live: map[string]string{}, log: log}
	for field := range strings.SplitSeq(getenv("GLOSSA_CANARY"), ",") {
		family, function, _ := strings.Cut(field, "=")
		name, version, ok := strings.Cut(function, ":")
		if !ok || family == "" || name == "" || version == "" {
			return nil, fmt.Errorf("GLOSSA_CANARY: %q is not FAMILY=NAME:VERSION", field)
		}
		f.versions[family], f.live[family] = function, name+":"+deployment.Live
	}
	cfg, err := FromEnv(getenv)
	if err != nil {
		return nil, err
	}
	cloud := newCloud(cfg)
	lambda, err := cloud.client(awsrest.Lambda(), "", "", "")
	if err != nil {
		return nil, err
	}
	deploy, err := cloud.client(awsrest.CodeDeploy(), "", "", "")
	if err != nil {
		return nil, err
	}
	f.report = deploy.ReportHook
	f.Canary = canary.Canary{Models: models, Invoke: lambda.Invoke}
	if !cfg.Auth {
		return f, nil
	}
	t, err := cloud.table(cfg.Table)
	if err != nil {
		return nil, err
	}
	f.Key = temporaryKey(account.NewTable(t))
	return f, nil
}

// temporaryKey returns what makes a key in a store, valid for a while.
func temporaryKey(store account.Store) func(context.Context) (string, func(context.Context) error, error) {
	return func(ctx context.Context) (string, func(context.Context) error, error) {
		secret, key, err := account.NewAPIKey("canary", account.Client, time.Now().Add(keyLifetime))
		if err != nil {
			return "", nil, err
		}
		return secret, func(ctx context.Context) error { return store.Delete(ctx, account.APIKey, key.ID) }, store.Add(ctx, key)
	}
}

// event asks the new versions, and reports the result to CodeDeploy, or those in use. The
// invocation fails if something is wrong with those in use.
func (f *canaryFunction) event(ctx context.Context, payload []byte) error {
	var e canaryEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return errNoCanaryEvent
	}
	switch {
	case e.Canary == deployment.AskLive:
		return f.Ask(ctx, f.live)
	case e.Deployment != "" && e.Execution != "":
		err := f.Ask(ctx, f.versions)
		if err != nil {
			f.log.LogAttrs(ctx, slog.LevelError, "canary", slog.String("deployment", e.Deployment), slog.String("problem", err.Error()))
		}
		return f.report(ctx, e.Deployment, e.Execution, err == nil)
	}
	return errNoCanaryEvent
}
