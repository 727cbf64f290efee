package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/canary"
	"glossa/pkg/host"
)

// newCanaryFunction returns the canary's function with the functions of all families, whose versions are
// named FAMILY:1 and whose live ones FAMILY:live, and the hooks that it reports.
func newCanaryFunction(t *testing.T, text string) (f *canaryFunction, store account.Store, reports map[string]bool) {
	t.Helper()
	accounts := filepath.Join(t.TempDir(), "accounts.json")
	store = account.NewFile(accounts)
	secret, key, err := account.NewAPIKey("operator", account.Client, time.Now().Add(time.Hour))
	if err != nil || secret == "" {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Starters: os.DirFS("../starter/runs"), Accounts: accounts, Auth: true, Batches: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	f = &canaryFunction{versions: map[string]string{}, live: map[string]string{}, log: slog.New(slog.DiscardHandler)}
	adapters := map[string]*host.Adapter{}
	for _, family := range Families() {
		f.versions[family], f.live[family] = family+":1", family+":live"
		adapters[family] = host.New(a.Handler(family), host.Config{StreamREST: true, StreamURL: true})
	}
	reports = map[string]bool{}
	f.report = func(_ context.Context, deployment, execution string, succeeded bool) error {
		reports[deployment+" "+execution] = succeeded
		return nil
	}
	f.Canary = canary.Canary{
		Models: canary.Models{Text: text, Embedding: "sentences"}, Key: temporaryKey(store),
		Invoke: func(ctx context.Context, function string, event []byte) ([]byte, error) {
			family, version, _ := strings.Cut(function, ":")
			if version == "live" && family == "lamini" {
				return nil, errors.New("the function failed")
			}
			answer, err := adapters[family].Invoke(ctx, event)
			if err != nil {
				return nil, err
			}
			defer answer.Close()
			return io.ReadAll(answer)
		},
	}
	return f, store, reports
}

// Every family has a question, and a family that works answers it.
func TestCanaryFunction(t *testing.T) {
	f, store, reports := newCanaryFunction(t, "novels")
	if err := f.event(t.Context(), []byte(`{"DeploymentId":"d-1","LifecycleEventHookExecutionId":"e"}`)); err != nil {
		t.Error(err)
	}
	if err := f.Ask(t.Context(), f.versions); err != nil {
		t.Error(err)
	}
	if asked := slices.Sorted(maps.Keys(canary.Questions(f.Models))); !slices.Equal(asked, slices.Sorted(slices.Values(Families()))) {
		t.Errorf("questions of %v", asked)
	}
	if err := f.event(t.Context(), []byte(`{"canary":"live"}`)); err == nil || err.Error() != "lamini: the function failed" {
		t.Errorf("a function that is broken: %v", err)
	}
	list, err := store.List(t.Context(), account.APIKey)
	if err != nil || len(list) != 1 {
		t.Errorf("keys are left: %v %v", list, err)
	}
	if !maps.Equal(reports, map[string]bool{"d-1 e": true}) {
		t.Errorf("reports %v", reports)
	}
}

// A model that is not there makes a hook fail, with a reason.
func TestCanaryFunctionFails(t *testing.T) {
	f, _, reports := newCanaryFunction(t, "gone")
	if err := f.event(t.Context(), []byte(`{"DeploymentId":"d-1","LifecycleEventHookExecutionId":"e"}`)); err != nil {
		t.Error(err)
	}
	if !maps.Equal(reports, map[string]bool{"d-1 e": false}) {
		t.Errorf("reports %v", reports)
	}
	if err := f.Ask(t.Context(), f.versions); err == nil || !strings.Contains(err.Error(), `openai: POST /v1/chat/completions: status 404`) || strings.Contains(err.Error(), "embeddings:") {
		t.Errorf("%v", err)
	}
	for _, event := range []string{`{}`, `[]`, `{"canary":"new"}`, `{"DeploymentId":"d-1"}`} {
		if err := f.event(t.Context(), []byte(event)); err == nil {
			t.Errorf("the event %s is known", event)
		}
	}
}

func TestCanaryEnvironment(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	env := map[string]string{"GLOSSA_CANARY": "openai=f:7,alpha=g:1", "GLOSSA_CANARY_MODELS": "a,b", "GLOSSA_TABLE": "t"}
	f, err := newCanary(func(name string) string { return env[name] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.versions["openai"] != "f:7" || f.live["openai"] != "f:live" || f.live["alpha"] != "g:live" || f.Key == nil || f.Models.Embedding != "b" {
		t.Errorf("%+v", f)
	}
	env["GLOSSA_OPEN"] = "true"
	if f, err = newCanary(func(name string) string { return env[name] }, nil); err != nil || f.Key != nil {
		t.Errorf("where AWS checks callers there is a key: %v", err)
	}
	for name, bad := range map[string]string{"GLOSSA_CANARY": "openai=f", "GLOSSA_CANARY_MODELS": "a"} {
		good := env[name]
		env[name] = bad
		if _, err := newCanary(func(name string) string { return env[name] }, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, bad, err)
		}
		env[name] = good
	}
}
