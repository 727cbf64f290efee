//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/deployment"
)

// hooks is a stand-in of CodeDeploy: it keeps the status of hooks by their deployments.
type hooks struct {
	mu     sync.Mutex
	status map[string]string
}

func (h *hooks) start(t *testing.T) string {
	h.status = map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ DeploymentID, LifecycleEventHookExecutionID, Status string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.LifecycleEventHookExecutionID != "hook" {
			refuse(w, "codedeploy", http.StatusBadRequest, "InvalidLifecycleEventHookExecutionIdException", "there is no such hook")
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.status[in.DeploymentID] = in.Status
		fmt.Fprint(w, `{"lifecycleEventHookExecutionId":"hook"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (h *hooks) of(deployment string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status[deployment]
}

// timer returns the schedule of a family's function.
func (w *World) timer(t *testing.T, family string) Timer {
	t.Helper()
	list, err := timers(w.Stacks)
	if err != nil {
		t.Fatal(err)
	}
	for _, timer := range list {
		if f, err := w.Edge.api.fleetOf(timer.Target); err == nil && f == w.Fleets[family] {
			return timer
		}
	}
	t.Fatalf("no schedule of %s in %v", family, list)
	return Timer{}
}

// canaryAsks lets CodeDeploy ask before it shifts traffic, and the schedule afterwards: while all is
// well, when S3 fails, and when the canary may not make a key.
func canaryAsks(t *testing.T, w *World, _ string) string {
	f := w.Fleets[deployment.Canary]
	if f == nil {
		t.Fatal("the templates have no canary: make e2e writes them")
	}
	hook := func(deployment string) string {
		event := fmt.Sprintf(`{"DeploymentId":%q,"LifecycleEventHookExecutionId":"hook"}`, deployment)
		if err := f.invokeWhole(t.Context(), []byte(event)); err != nil {
			t.Errorf("%s: %v", deployment, err)
		}
		return w.Models.deploy.of(deployment)
	}
	w.fresh(t)
	if status := hook("d-good"); status != "Succeeded" {
		t.Errorf("new versions that are well: %q; the log says why: %s", status, w.log)
	}
	for _, r := range w.Of("AWS::CodeDeploy::DeploymentGroup") {
		if r.Text("DeploymentConfigName") != "CodeDeployDefault.LambdaCanary10Percent5Minutes" {
			t.Errorf("%s shifts traffic by %s", r.name, r.Text("DeploymentConfigName"))
		}
	}
	timer := w.timer(t, deployment.Canary)
	if err := f.invokeWhole(t.Context(), []byte(timer.Event)); err != nil {
		t.Errorf("the functions in use: %v", err)
	}
	keys := func() int { return strings.Count(w.glossa(t, "key", "list", "--table-name", w.Table), "canary") }
	if n := keys(); n != 0 {
		t.Errorf("%d keys of the canary are left", n)
	}

	w.fresh(t)
	mend := w.Proxy.Break(&Fault{Fits: of("s3"), Answer: func(w http.ResponseWriter, _ *http.Request, _ *Call) {
		refuse(w, "s3", 503, "SlowDown", "Please reduce your request rate.")
	}})
	status := hook("d-bad")
	err := f.invokeWhole(t.Context(), []byte(timer.Event))
	mend()
	if status != "Failed" || err == nil || !strings.Contains(err.Error(), "embeddings: POST /v1/embeddings: status ") {
		t.Errorf("while S3 fails: %q, %v", status, err)
	}
	if n := keys(); n != 0 {
		t.Errorf("%d keys of the canary are left", n)
	}

	giveBack := w.Proxy.Withdraw(f.Principal, "Keys")
	status = hook("d-keyless")
	if refused := giveBack(); status != "Failed" || len(refused) == 0 {
		t.Errorf("without a key: %q, %v", status, refused)
	}
	return "new versions that are well get traffic, others none, and the alarm would tell: " + strings.SplitN(fmt.Sprint(err), "; ", 2)[0]
}
