package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"glossa/pkg/account"
)

// generate returns the status and a model's greedy text after "a".
func generate(t testing.TB, h http.Handler, model string) (int, string) {
	t.Helper()
	res := ask(h, "GET", "/api/generate?prompt=a&max_tokens=3&temperature=0&model="+model, "", nil)
	var answer struct{ Text string }
	if err := json.Unmarshal([]byte(text(t, res)), &answer); err != nil {
		t.Error(err)
	}
	return res.StatusCode, answer.Text
}

func TestUploadIsServedAtOnce(t *testing.T) {
	h := golden(t, Config{Keys: keys(t)}).Handler()
	send := func(body string) int {
		return ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(body)).StatusCode
	}
	if status, _ := generate(t, h, "sent"); status != 400 {
		t.Errorf("before the upload: %d", status)
	}
	if status := send(upload(t, "sent")); status != 200 {
		t.Fatalf("the upload: %d", status)
	}
	if status, got := generate(t, h, "sent"); status != 200 || got != greedy {
		t.Errorf("after the upload: %d, %q", status, got)
	}
	// A second upload under the name: what was token a is now token b.
	if status := send(strings.ReplaceAll(upload(t, "sent"), `["\n","a","b"]`, `["\n","b","a"]`)); status != 200 {
		t.Fatalf("the second upload: %d", status)
	}
	_, swapped := generate(t, h, "sent")
	if swapped == greedy {
		t.Error("the second upload is not served")
	}
	for name, bad := range map[string]string{
		"cut short":   upload(t, "sent")[:900],
		"lying shape": strings.Replace(upload(t, "sent"), `"shape":[3,4]`, `"shape":[4,3]`, 1),
		"no weights":  `{"name":"sent","step":9,"config":` + goldenConfig + `,"checkpoint":{"modelConfig":{},"params":{}}}`,
		"a path":      upload(t, "../../sent"),
	} {
		if status := send(bad); status != 400 {
			t.Errorf("%s: %d", name, status)
		}
		if status, got := generate(t, h, "sent"); status != 200 || got != swapped {
			t.Errorf("after an upload that is %s: %d, %q", name, status, got)
		}
	}
	if res := ask(h, "DELETE", "/api/models?name=sent", secrets[account.Worker], nil); res.StatusCode != 200 {
		t.Errorf("delete: %d", res.StatusCode)
	}
	if status, _ := generate(t, h, "sent"); status != 400 {
		t.Errorf("after it was deleted: %d", status)
	}
}

// Alpha's server answers 500 if no secret is set. Here it is 403 with the same words: nothing
// failed, and clients retry 500.
func TestUploadNeedsItsSecret(t *testing.T) {
	for want, test := range map[string]struct {
		cfg Config
		key string
	}{
		"403 UPLOAD_SECRET not configured": {Config{}, "any"},
		"401 Unauthorized":                 {Config{Keys: keys(t)}, ""},
		"403 ":                             {Config{Keys: keys(t)}, secrets[account.Client]},
	} {
		res := ask(golden(t, test.cfg).Handler(), "POST", "/api/upload", test.key, strings.NewReader(upload(t, "sent")))
		var answer struct{ Error string }
		if err := json.Unmarshal([]byte(text(t, res)), &answer); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(res.Status[:3] + " " + answer.Error); !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestUploadUnderTheNameOfAStarter(t *testing.T) {
	dir := t.TempDir()
	goldenRun(t, dir, "starter")
	starters := fstest.MapFS{}
	for _, file := range []string{"config.json", "checkpoint-7.json"} {
		b, err := os.ReadFile(filepath.Join(dir, "starter", file))
		if err != nil {
			t.Fatal(err)
		}
		starters["starter/"+file] = &fstest.MapFile{Data: b}
	}
	h := golden(t, Config{Keys: keys(t), Starters: starters}).Handler()
	res := ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(upload(t, "starter")))
	if body := text(t, res); res.StatusCode != 400 || !strings.Contains(body, "starter is already a name of the model starter of starters") {
		t.Errorf("%d, %s", res.StatusCode, body)
	}
	if status, got := generate(t, h, "starter"); status != 200 || got != greedy {
		t.Errorf("%d, %q", status, got)
	}
}

// An upload cannot take over the requests for a remote model, or for a model with that
// alias.
func TestUploadUnderTheNameOfAnother(t *testing.T) {
	remote := remoteModels[0]
	remote.name = "claude"
	records := catalogue(t, remote).(fstest.MapFS)
	records["golden.json"] = &fstest.MapFile{Data: []byte(`{"pk":"models","sk":"local-golden","schema":{"checkpoint":"golden","aliases":["other"]}}`)}
	h := golden(t, Config{Keys: keys(t), Records: records}).Handler()
	for name, of := range map[string]string{"claude": "model claude of the family bedrock", "other": "model golden of"} {
		for _, route := range []string{"/api/upload", "/api/uploads"} {
			body := upload(t, name)
			if route == "/api/uploads" {
				body = `{"name": "` + name + `", "size": 5000}`
			}
			res := ask(h, "POST", route, secrets[account.Worker], strings.NewReader(body))
			if body := text(t, res); res.StatusCode != 400 || !strings.Contains(body, of) {
				t.Errorf("%s as %s: %d, %s", route, name, res.StatusCode, body)
			}
		}
	}
	if res := ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(upload(t, "golden"))); res.StatusCode != 200 {
		t.Errorf("the model's own name: %d, %s", res.StatusCode, text(t, res))
	}
}

// TestUploadsWhileGenerating replaces a model repeatedly while it answers: every
// answer is of one version, and none fails.
func TestUploadsWhileGenerating(t *testing.T) {
	h := golden(t, Config{Keys: keys(t), Workers: 8}).Handler()
	versions := []string{upload(t, "sent"), strings.ReplaceAll(upload(t, "sent"), `["\n","a","b"]`, `["\n","b","a"]`)}
	texts := map[string]bool{}
	send := func(body string) {
		if res := ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(body)); res.StatusCode != 200 {
			t.Errorf("upload: %s", text(t, res))
		}
	}
	for _, body := range versions {
		send(body)
		_, got := generate(t, h, "sent")
		texts[got] = true
	}
	if len(texts) != 2 {
		t.Fatalf("the versions say %v", texts)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 10 {
			send(versions[i%2])
		}
	})
	for range 4 {
		wg.Go(func() {
			for range 40 {
				if status, got := generate(t, h, "sent"); status != 200 || !texts[got] {
					t.Errorf("%d, %q", status, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestFamiliesDescribeThemselves(t *testing.T) {
	a := golden(t, Config{})
	for family, test := range map[string]struct{ has, not string }{
		"openai": {"/v1/models/{id}", "/api/upload"}, "alpha": {"/api/upload", "/v1/models/{id}"},
		"textsynth": {"/v1/engines/{engine_id}/translate", "/v1/models/{id}"},
	} {
		var doc struct{ Paths map[string]any }
		if err := json.Unmarshal([]byte(text(t, ask(a.Handler(family), "GET", "/openapi.json", "", nil))), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Paths[test.has] == nil || doc.Paths[test.not] != nil || doc.Paths["/openapi.json"] == nil || doc.Paths["/health"] == nil {
			t.Errorf("%s: %v", family, doc.Paths)
		}
	}
}
