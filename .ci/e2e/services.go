//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/bucket/buckettest"
)

// dynaliteProgram runs dynalite on its own port until its standard input ends, at the
// latest when this process ends, for whatever reason.
const dynaliteProgram = `
const server = require(process.argv[1])({createTableMs: 0, updateTableMs: 0, deleteTableMs: 0});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();`

// startDynamo starts dynalite, which npm has installed in modules.
func startDynamo(t testing.TB, modules string) *url.URL {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(modules, "dynalite"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "-e", dynaliteProgram, path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		if err := cmd.Wait(); err != nil {
			t.Errorf("dynalite: %v", err)
		}
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dynalite does not start: npm ci in .ci/conformance installs it: %v", err)
	}
	return parseURL(t, "http://127.0.0.1:"+strings.TrimSpace(port))
}

func parseURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// createTable creates the template's table. Properties that dynalite does not support do
// not affect reads and writes.
func createTable(t testing.TB, dynamo *url.URL, table *Resource) {
	t.Helper()
	in := map[string]any{"TableName": table.ref()}
	for _, name := range []string{"KeySchema", "AttributeDefinitions", "BillingMode"} {
		in[name] = table.Properties[name]
	}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, dynamo.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.CreateTable")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=e2e/20260101/"+region+"/dynamodb/aws4_request, SignedHeaders=host, Signature=none")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("the table of the template: %s: %s", answer.Status, text)
	}
}

// startS3 starts a store with only the template's bucket.
func startS3(t testing.TB, bucket *Resource) (*buckettest.Store, *url.URL) {
	t.Helper()
	store, name := &buckettest.Store{}, bucket.ref()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if asked != name {
			refuse(w, "s3", http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist: "+asked)
			return
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return store, parseURL(t, server.URL)
}

// peakMemory returns the peak memory of a process, bytes; 0 if it is unknown.
// Source: proc_pid_status(5), VmHWM.
func peakMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kb int64
	_, _ = fmt.Sscan(cmp.Or(rest, "0"), &kb)
	return kb << 10
}
