//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/app"
)

// say writes a line of the report, which is also kept after a successful test.
func (w *World) say(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	file, err := os.OpenFile(filepath.Join(root, ".cache/e2e/report.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(file, line)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// note records the result of a fault for the list at the end.
func (w *World) note(t *testing.T, fault, result string) {
	t.Helper()
	if t.Failed() {
		result = "FAILED: " + result
	}
	w.faults = append(w.faults, fmt.Sprintf("%-38s %s", fault, strings.ReplaceAll(result, "\n", " ")))
}

// printed checks a function's output: lines of JSON without secrets, of which those of
// requests are metrics in the template's namespace.
func (w *World) printed(t *testing.T, family string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.log, family+".log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var metrics struct {
			Msg string
			AWS struct{ CloudWatchMetrics []struct{ Namespace string } } `json:"_aws"`
		}
		if err := json.Unmarshal([]byte(line), &metrics); err != nil {
			t.Errorf("%s prints %.300q", family, line)
			continue
		}
		for _, m := range metrics.AWS.CloudWatchMetrics {
			if want := "GLOSSA_NAMESPACE=" + m.Namespace; !slices.Contains(w.Fleets[family].options.Env, want) {
				t.Errorf("%s measures in %s", family, m.Namespace)
			}
		}
		for _, secret := range w.secrets {
			if strings.Contains(line, secret) {
				t.Errorf("%s prints a secret: %.300q", family, strings.ReplaceAll(line, secret, "SECRET"))
			}
		}
	}
}

// unneeded lists permissions that this test does not use, with the reason.
var unneeded = map[string]string{
	"alpha Publish: s3:AbortMultipartUpload":                   "no model here is so large that it is stored in parts, and none such fails",
	"batches Batches: s3:AbortMultipartUpload":                 "no file here is so large that it is stored in parts, and none such fails",
	"messages Bedrock: bedrock:InvokeModel":                    "no remote model here takes chats",
	"messages Bedrock: bedrock:InvokeModelWithResponseStream":  "no remote model here takes chats",
	"messages SageMaker: sagemaker:InvokeEndpoint":             "no remote model here takes chats",
	"responses Bedrock: bedrock:InvokeModel":                   "no remote model here takes chats",
	"responses Bedrock: bedrock:InvokeModelWithResponseStream": "no remote model here takes chats",
	"responses SageMaker: sagemaker:InvokeEndpoint":            "no remote model here takes chats",
}

func init() {
	for _, family := range app.Families() {
		for _, action := range []string{"PutTelemetryRecords", "PutTraceSegments"} {
			unneeded[family+" Spans: xray:"+action] = "Lambda itself sends its segments"
		}
		unneeded[family+" Roles: sts:AssumeRole"] = "no record here names a role of another account"
	}
	for _, family := range []string{"batches", "messages", "responses", "embeddings", "ollama"} {
		unneeded[family+" Guardrails: bedrock:ApplyGuardrail"] = "no model here with a guardrail is asked by it"
	}
}

// report prints memory, denials and unused permissions, which are errors if all tests ran.
func (w *World) report(t *testing.T, all bool) {
	t.Helper()
	for _, line := range w.faults {
		w.say(t, "%s", line)
	}
	w.Proxy.mu.Lock()
	defer w.Proxy.mu.Unlock()
	for _, err := range w.Proxy.strange {
		t.Errorf("a call that cannot be understood: %v", err)
	}
	for _, r := range w.Proxy.refused {
		t.Errorf("%s may not do what it needs: %s", r.Principal, r.Access)
	}
	for _, family := range slices.Sorted(maps.Keys(w.Fleets)) {
		f := w.Fleets[family]
		peak := f.Peak()
		w.say(t, "%-38s %d processes, half of them ready in %d ms, each took at most %d MB of %d",
			family, f.Starts(), f.Init().Milliseconds(), peak>>20, f.Memory)
		w.printed(t, family)
		if peak > int64(f.Memory)<<20 {
			t.Errorf("%s takes %d bytes of %d MB", family, peak, f.Memory)
		}
		var unused []string
		for _, s := range f.Principal.Statements {
			for _, action := range s.Actions {
				if w.Proxy.used[family+" "+s.Sid+" "+action] == 0 {
					unused = append(unused, fmt.Sprintf("%s: %s", s.Sid, action))
				}
			}
		}
		for _, what := range unused {
			switch reason := unneeded[family+" "+what]; {
			case all && reason != "":
				w.say(t, "%-38s nobody needed %s: %s", family, what, reason)
			case all:
				t.Errorf("%s may do what nobody needs: %s", family, what)
			}
		}
	}
}
