package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck breaks the manifest in many ways, and expects each to be reported.
func TestCheck(t *testing.T) {
	whole, err := os.ReadFile("../../infra/kubernetes/glossa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"":                                     "",
		"readinessProbe":                       "readynessProbe",
		"path: /ready":                         "path: /health",
		"runAsNonRoot: true":                   "runAsNonRoot: false",
		"readOnlyRootFilesystem: true":         "readOnlyRootFilesystem: false",
		"drop: [ALL]":                          "drop: [NET_RAW]",
		"terminationGracePeriodSeconds: 45":    "terminationGracePeriodSeconds: 30",
		"enableServiceLinks: false":            "enableServiceLinks: true",
		"automountServiceAccountToken: false":  "automountServiceAccountToken: true",
		"mountPath: /data":                     "mountPath: /models",
		"limits: {memory: 2Gi}":                "limits: {memory: 3Gi}",
		"containerPort: 8080":                  "containerPort: \"8080\"",
		"targetPort: http":                     "targetPort: 8081",
		"minReplicas: 2":                       "minReplicas: 1",
		"kind: PodDisruptionBudget":            "kind: PodSecurityPolicy",
		"apiVersion: autoscaling/v2":           "apiVersion: autoscaling/v2beta2",
		"maxUnavailable: 1\n":                  "maxUnavailable: 1\n  maxUnavailable: 2\n",
		"rollingUpdate: {maxUnavailable: 0, m": "rollingUpdate: {maxUnavailble: 0, m",
	} {
		if from != "" && !strings.Contains(string(whole), from) {
			t.Errorf("there is no %q", from)
		}
		name := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(whole), from, to)), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := check(name); (err != nil) != (from != "") || err == nil && n != 5 {
			t.Errorf("%q for %q: %d objects, %v", to, from, n, err)
		}
	}
}
