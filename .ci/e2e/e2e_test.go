//go:build e2e

package e2e

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestDeployed runs the deployment of the templates: first the events of all dialects, then
// an operator's steps from an empty table and bucket.
func TestDeployed(t *testing.T) {
	if err := os.Remove(filepath.Join(root, ".cache/e2e/report.txt")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	t.Run("events", func(t *testing.T) {
		w := deploy(t, "events")
		events(t, w)
		w.report(t, false)
	})
	t.Run("walk", func(t *testing.T) {
		w := deploy(t, "walk")
		var key string
		if !t.Run("first answer", func(t *testing.T) { key = firstAnswer(t, w) }) {
			return
		}
		t.Run("strangers", func(t *testing.T) { strangers(t, w) })
		t.Run("remote", func(t *testing.T) { remote(t, w) })
		t.Run("streamed", func(t *testing.T) { streamed(t, w, key) })
		t.Run("everywhere", func(t *testing.T) { everywhere(t, w, key) })
		t.Run("limits", func(t *testing.T) { limits(t, w, key) })
		t.Run("page", func(t *testing.T) { t.Log(page(t, w)) })
		t.Run("log-in", func(t *testing.T) { w.note(t, "a token or a key has expired", logsIn(t, w)) })
		t.Run("withdrawn", func(t *testing.T) {
			for _, line := range withdrawn(t, w, key) {
				w.note(t, "a permission is missing", line)
			}
		})
		for _, fault := range []struct {
			name string
			play func(*testing.T, *World, string) string
		}{
			{"a model is added and removed", added},
			{"a checkpoint is published", published},
			{"texts are embedded and ranked", embedded},
			{"the canary asks, before and after a deployment", canaryAsks},
			{"a request is traced", spansArrive},
			{"a response is stored", storedResponses},
			{"a batch survives kills and throttling", batches},
			{"a budget is spent", spent},
			{"traffic is played and simulated", simulated},
			{"the function is killed in a stream", killed},
			{"the time of the function is over", outOfTime},
			{"the client leaves in a stream", left},
			{"a model is silent for longer than the API allows", silent},
			{"the upload is cut", uploadCut},
			{"an upload comes in parts", inParts},
			{"an upload comes too late", urlExpired},
			{"S3 cuts answers short", cutShort},
			{"S3 is slow", slow},
			{"S3 fails", storeDown},
			{"S3 has another version in the middle", replaced},
			{"DynamoDB throttles", throttledTable},
			{"DynamoDB is down", tableDown},
			{"DynamoDB hangs", tableHangs},
		} {
			t.Run(fault.name, func(t *testing.T) { w.note(t, fault.name, fault.play(t, w, key)) })
		}
		t.Run("throttled", func(t *testing.T) { w.note(t, "too many requests", throttled(t, w)) })
		w.report(t, flag.Lookup("test.run").Value.String() == "")
	})
}
