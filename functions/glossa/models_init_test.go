package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/app"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/deployment"
	"glossa/pkg/starter"
	"glossa/pkg/table/tabletest"
)

// A deployed is a table and a bucket, which the environment names, and the file of
// outputs that names them.
type deployed struct {
	table   *tabletest.Service
	bucket  *buckettest.Store
	outputs string
}

func deploy(t *testing.T) *deployed {
	t.Helper()
	d := &deployed{withTable(t), &buckettest.Store{}, filepath.Join(t.TempDir(), "outputs.json")}
	server := httptest.NewServer(d.bucket)
	t.Cleanup(server.Close)
	t.Setenv("GLOSSA_S3_ENDPOINT", server.URL)
	t.Setenv("GLOSSA_CHECKPOINTS", "")
	write(t, d.outputs, `{"glossa-dev-data": {"`+deployment.TableOutput+`": "glossa", "`+deployment.BucketOutput+`": "models", "Exports": "x"},
		"glossa-dev-api": {"`+deployment.APIOutput+`": "https://x/dev/"}}`)
	return d
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seed runs the command of make seed.
func (d *deployed) seed(t *testing.T, more ...string) (status int, out string) {
	t.Helper()
	return operate(t, append([]string{"models", "init", "--starters", "--outputs", d.outputs}, more...)...)
}

// serves returns the names of the models that a function serves, the default model first,
// and the problems.
func (d *deployed) serves(t *testing.T) (names []string, problems []error) {
	t.Helper()
	cfg, err := (&program{}).environment()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Auth, cfg.Table, cfg.Checkpoints = false, "glossa", "s3://models/"+deployment.Checkpoints
	a, err := app.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	entries, problems := a.Catalog().Entries(t.Context())
	for _, e := range entries {
		names = append(names, e.Name)
		if _, err := a.Catalog().Open(t.Context(), e.Name); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	return names, problems
}

// The first deployment adds the starters; a second one changes nothing.
func TestSeed(t *testing.T) {
	d := deploy(t)
	status, out := d.seed(t)
	if status != 0 || strings.Count(out, "published s3://models/checkpoints/") != len(starter.Names()) || !strings.Contains(out, "wrote models/all-models\n") {
		t.Fatalf("%d: %s", status, out)
	}
	if names, problems := d.serves(t); !slices.Equal(names, starter.Names()) || len(problems) > 0 {
		t.Errorf("served are %v; %v", names, problems)
	}
	before := d.bucket.Keyed("")
	d.table.Fault(func(op string) (int, string) {
		if op != "GetItem" && op != "Query" {
			t.Errorf("the second seed requests %s", op)
		}
		return 0, ""
	})
	d.bucket.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			t.Errorf("the second seed requests %s %s", r.Method, r.URL)
		}
		return false
	})
	status, out = d.seed(t)
	if status != 0 || strings.Contains(out, "wrote") || strings.Contains(out, "published") || !slices.Equal(d.bucket.Keyed(""), before) {
		t.Errorf("again, %d: %s", status, out)
	}
	for _, want := range []string{"left s3://models/checkpoints/novels as it is\n", "kept 41 records as they are\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
}

// An operator's changes and deletions stay, unless --force is set.
func TestSeedKeeps(t *testing.T) {
	d := deploy(t)
	d.bucket.Put("checkpoints/abc/packed.safetensors", []byte("mine"))
	if status, out := d.seed(t); status != 0 || !strings.Contains(out, "left s3://models/checkpoints/abc as it is\n") {
		t.Fatalf("%d: %s", status, out)
	}
	for _, key := range d.bucket.Keyed("checkpoints/chords/") {
		d.bucket.Delete(key)
	}
	if status, out := operate(t, "models", "remove", "chords", "--record", "--table-name", "glossa"); status != 0 {
		t.Fatal(out)
	}
	status, out := d.seed(t)
	if status != 0 || !strings.Contains(out, "left out models/local-chords: it was deleted\n") || len(d.bucket.Keyed("checkpoints/chords")) > 0 {
		t.Errorf("%d: %s", status, out)
	}
	if string(d.bucket.Get("checkpoints/abc/packed.safetensors")) != "mine" {
		t.Error("the model of before is gone")
	}
	if status, out := d.seed(t, "--force"); status != 0 || strings.Contains(out, "left") || strings.Contains(out, "kept") {
		t.Errorf("forced, %d: %s", status, out)
	}
	if names, problems := d.serves(t); len(names) != len(starter.Names()) || len(problems) > 0 {
		t.Errorf("forced, served are %v; %v", names, problems)
	}
}

// A seed that is cut off at any write to the bucket is completed by the next.
func TestSeedCut(t *testing.T) {
	for cut := 1; ; cut++ {
		d := deploy(t)
		var mu sync.Mutex
		writes := 0
		d.bucket.Break(func(w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet {
				return false
			}
			if writes++; writes >= cut {
				buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
				return true
			}
			return false
		})
		status, out := d.seed(t)
		if status == 0 {
			break
		}
		if !strings.Contains(out, "AccessDenied") {
			t.Errorf("cut at %d: %s", cut, out)
		}
		d.bucket.Break(nil)
		if status, out := d.seed(t); status != 0 {
			t.Errorf("after a cut at %d: %s", cut, out)
		}
		if names, problems := d.serves(t); !slices.Equal(names, starter.Names()) || len(problems) > 0 {
			t.Errorf("after a cut at %d served are %v; %v", cut, names, problems)
		}
	}
}

// Errors name the missing input.
func TestSeedRefused(t *testing.T) {
	d := deploy(t)
	other := filepath.Join(t.TempDir(), "outputs.json")
	for _, step := range []struct {
		outputs string // content of the file; "": no file
		args    []string
		status  int
		want    string
	}{
		{"", nil, 1, "make deploy writes it"},
		{"{", nil, 1, "outputs.json: unexpected end"},
		{`{"glossa-dev-api": {"ApiUrl": "x"}}`, nil, 1, "names no TableName and BucketName"},
		{`{"a": {"TableName": "x", "BucketName": "y"}, "b": {"TableName": "z", "BucketName": "y"}}`, nil, 1, "holds several deployments"},
		{`{"a": {"TableName": "glossa", "BucketName": "y"}}`, []string{"--table-name", "t"}, 2, "--outputs names the table"},
		{`{"a": {"TableName": "nowhere", "BucketName": "models"}}`, nil, 1, "no such table: nowhere in eu-west-1"},
		{`{"a": {"TableName": "glossa", "BucketName": "Models"}}`, nil, 1, "not an S3 location"},
	} {
		os.Remove(other)
		if step.outputs != "" {
			write(t, other, step.outputs)
		}
		status, out := operate(t, append([]string{"models", "init", "--starters", "--outputs", other}, step.args...)...)
		if status != step.status || !strings.Contains(out, step.want) {
			t.Errorf("%s %q: %d %s, want %q", step.outputs, step.args, status, out, step.want)
		}
	}
	if status, out := operate(t, "models", "init", "--starters", "--table-name", "glossa"); status != 2 || !strings.Contains(out, "no place for the starters") {
		t.Errorf("%d: %s", status, out)
	}
	for code, refusal := range map[string]int{"NoSuchBucket": http.StatusNotFound, "AccessDenied": http.StatusForbidden} {
		d.bucket.Break(func(w http.ResponseWriter, _ *http.Request) bool {
			buckettest.Refuse(w, refusal, code)
			return true
		})
		if status, out := d.seed(t); status != 1 || !strings.Contains(out, code) || strings.Contains(out, "wrote") {
			t.Errorf("%s: %d %s", code, status, out)
		}
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	if status, out := d.seed(t); status != 1 || !strings.Contains(out, "no AWS credentials") {
		t.Errorf("without credentials: %d %s", status, out)
	}
}
