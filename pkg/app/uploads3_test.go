package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"glossa/pkg/account"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A site is an app that accepts uploads, with the means to inspect it.
type site struct {
	*App
	h  http.Handler
	s3 *buckettest.Store // nil: a directory
}

// sites runs a test with apps whose checkpoints are in a directory and in a bucket, like the
// family's function.
func sites(t *testing.T, each func(t *testing.T, s *site)) {
	t.Run("directory", func(t *testing.T) {
		a, err := New(Config{Keys: keys(t), Auth: true, Uploads: true, Checkpoints: t.TempDir(), Workers: 8, Records: fstest.MapFS{}})
		if err != nil {
			t.Fatal(err)
		}
		each(t, &site{a, a.Handler("alpha"), nil})
	})
	t.Run("bucket", func(t *testing.T) {
		each(t, inBucket(t, &buckettest.Store{}, Config{Keys: keys(t)}))
	})
}

// inStore returns an app with a store as S3.
func inStore(t testing.TB, s *buckettest.Store, cfg Config) *App {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg.Endpoints.S3 = server.URL
	if cfg.Records == nil {
		cfg.Records = fstest.MapFS{}
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.cloud.load = signer
	return a
}

// packOf packs a model.
func packOf(t testing.TB, m *arch.Model) []byte {
	t.Helper()
	b := &checkpointtest.File{}
	if err := arch.Pack(b, m, kernel.Best(), transformer.F32, func(_, _ int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return b.Data
}

func inBucket(t *testing.T, s3 *buckettest.Store, cfg Config) *site {
	t.Helper()
	signs, err := backendtest.Credentials().Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s3.Keys = map[string]string{signs.AccessKeyID: signs.SecretAccessKey}
	s3.Tokens = map[string]string{signs.AccessKeyID: signs.SessionToken}
	cfg.Auth, cfg.Uploads, cfg.Checkpoints, cfg.Workers = true, true, "s3://models/checkpoints", 8
	a := inStore(t, s3, cfg)
	return &site{a, a.Handler("alpha"), s3}
}

// call sends a request of a worker, and decodes the answer into v.
func (s *site) call(t testing.TB, method, path, body string, v any) int {
	t.Helper()
	return s.callAs(t, secrets[account.Worker], method, path, body, v)
}

func (s *site) callAs(t testing.TB, key, method, path, body string, v any) int {
	t.Helper()
	res := ask(s.h, method, path, key, strings.NewReader(body))
	raw := text(t, res)
	if err := json.Unmarshal([]byte(raw), v); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, raw)
	}
	return res.StatusCode
}

// greedy returns a model's greedy text.
func (s *site) greedy(t testing.TB, model string) (int, string) {
	t.Helper()
	var answer struct{ Text, Error string }
	status := s.call(t, "GET", "/api/generate?prompt=a&max_tokens=3&temperature=0&model="+model, "", &answer)
	return status, answer.Text + answer.Error
}

// An uploaded model is listed with all metadata of the run, and answers at once; in S3 it
// is one object.
func TestUploadIsListed(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		if status, _ := s.greedy(t, "sent"); status != 400 {
			t.Errorf("before the upload: %d", status)
		}
		var answer map[string]any
		if status := s.call(t, "POST", "/api/upload", upload(t, "sent"), &answer); status != 200 {
			t.Fatal(answer)
		}
		if status, got := s.greedy(t, "sent"); status != 200 || got != greedy {
			t.Errorf("%d %q", status, got)
		}
		var models []struct {
			ID, Name, RunID, Domain string
			Step                    int
			LastLoss                *float64
			ModelConfig             map[string]any
			TrainConfig             map[string]any
			Mtime                   float64
		}
		if status := s.call(t, "GET", "/api/models", "", &models); status != 200 || len(models) != 1 {
			t.Fatal(status, models)
		}
		m := models[0]
		if m.ID != "sent" || m.RunID != "gold-run" || m.Domain != "abc" || m.Step != 7 || m.ModelConfig["nEmbd"] != 4.0 || m.TrainConfig["iters"] != 7.0 ||
			m.LastLoss == nil || time.Since(time.UnixMilli(int64(m.Mtime))) > time.Minute {
			t.Errorf("%+v", m)
		}
		if status, got := s.greedy(t, "gold-run"); status != 200 || got != greedy {
			t.Errorf("by the run's name: %d %q", status, got)
		}
		if s.s3 != nil && !slices.Equal(s.s3.Keyed(""), []string{"checkpoints/sent/packed.safetensors"}) {
			t.Error(s.s3.Keyed(""))
		}
		if status := s.call(t, "DELETE", "/api/models?name=sent", "", &answer); status != 200 {
			t.Error(answer)
		}
		if status, _ := s.greedy(t, "sent"); status != 400 || s.s3 != nil && len(s.s3.Keyed("")) > 0 {
			t.Errorf("after it was deleted: %d", status)
		}
	})
}

// A small packed model can be uploaded in one request too, and is stored unchanged.
func TestUploadOfAPack(t *testing.T) {
	m, err := arch.Open(os.DirFS("../engine/arch/testdata"), "gpt2")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	pack := packOf(t, m)
	sites(t, func(t *testing.T, s *site) {
		r := httptest.NewRequest("POST", "/api/upload", bytes.NewReader(pack))
		for name, value := range map[string]string{
			"Authorization": "Bearer " + secrets[account.Worker], "Content-Type": "application/octet-stream", "X-Checkpoint-Name": "sent", "X-Checkpoint-Step": "0",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.h.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		if m, err := s.Catalog().Open(t.Context(), "sent"); err != nil || m.Type != "GPT-2" || m.Run != nil {
			t.Errorf("%+v %v", m, err)
		}
		if s.s3 != nil && !bytes.Equal(s.s3.Get("checkpoints/sent/packed.safetensors"), pack) {
			t.Error("it is another one")
		}
	})
}

// A model is replaced repeatedly while it answers: every answer is of one version, and
// none fails.
func TestReplacedWhileGenerating(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		versions := []string{upload(t, "sent"), strings.ReplaceAll(upload(t, "sent"), `["\n","a","b"]`, `["\n","b","a"]`)}
		texts := map[string]bool{}
		send := func(body string) {
			var answer map[string]any
			if status := s.call(t, "POST", "/api/upload", body, &answer); status != 200 {
				t.Error(answer)
			}
		}
		for _, body := range versions {
			send(body)
			_, got := s.greedy(t, "sent")
			texts[got] = true
		}
		if len(texts) != 2 {
			t.Fatalf("the versions say %v", texts)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 20 {
				send(versions[i%2])
			}
		})
		for range 4 {
			wg.Go(func() {
				for range 60 {
					if status, got := s.greedy(t, "sent"); status != 200 || !texts[got] {
						t.Errorf("%d, %q", status, got)
					}
				}
			})
		}
		wg.Wait()
	})
}

// alph is the golden checkpoint as a trainer writes it.
func alph(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WriteALPH(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A session is the answer of the routes of uploads in parts.
type session struct {
	ID, Name, Error string
	Done            bool
	Parts           []struct {
		Index        int
		Offset, Size int64
		Arrived      bool
		URL          string
	}
}

// begin announces the golden checkpoint.
func (s *site) begin(t testing.TB, partSize int) (*session, []byte) {
	t.Helper()
	data, out := alph(t), &session{}
	body := fmt.Sprintf(`{"name":"sent","step":7,"size":%d,"partSize":%d,"config":%s}`, len(data), partSize, goldenConfig)
	if status := s.call(t, "POST", "/api/uploads", body, out); status != 200 {
		t.Fatal(status, out)
	}
	return out, data
}

// put sends a part to its URL, and returns the status.
func (s *site) put(t testing.TB, up *session, index int, data []byte) int {
	t.Helper()
	part := up.Parts[index]
	data = data[part.Offset : part.Offset+part.Size]
	if part.URL == "" {
		var answer map[string]any
		return s.call(t, "PUT", fmt.Sprintf("/api/uploads/%s/parts/%d", up.ID, index), string(data), &answer)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, part.URL, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// The three requests of an upload that is too large for one, and resumption after an
// interruption.
func TestUploadInParts(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		up, data := s.begin(t, 700)
		for i := range len(up.Parts) - 1 { // interrupted before the last part
			if status := s.put(t, up, i, data); status != 200 {
				t.Fatalf("part %d: %d", i, status)
			}
		}
		var answer map[string]any
		if status := s.call(t, "POST", "/api/uploads/"+up.ID+"/complete", "", &answer); status != 400 || !strings.Contains(fmt.Sprint(answer), "missing: 2") {
			t.Errorf("%d %v", status, answer)
		}
		if status, _ := s.greedy(t, "sent"); status != 400 {
			t.Error("half a model is served")
		}
		if status := s.call(t, "GET", "/api/uploads/"+up.ID, "", up); status != 200 {
			t.Fatal(up)
		}
		for _, part := range up.Parts {
			if part.Arrived {
				continue
			}
			if status := s.put(t, up, part.Index, data); status != 200 {
				t.Fatalf("part %d: %d", part.Index, status)
			}
		}
		for range 2 {
			if status := s.call(t, "POST", "/api/uploads/"+up.ID+"/complete", "", &answer); status != 200 || answer["name"] != "sent" || answer["step"] != 7.0 {
				t.Errorf("%d %v", status, answer)
			}
		}
		if status, got := s.greedy(t, "sent"); status != 200 || got != greedy {
			t.Errorf("%d %q", status, got)
		}
		if status := s.call(t, "DELETE", "/api/uploads/"+up.ID, "", &answer); status != 200 {
			t.Error(answer)
		}
		if s.s3 != nil && !slices.Equal(s.s3.Keyed(""), []string{"checkpoints/sent/packed.safetensors"}) {
			t.Error(s.s3.Keyed(""))
		}
	})
}

// Only workers and admins can use uploads, and paths cannot lead out of them.
func TestUploadRoutesAreGuarded(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		up, data := s.begin(t, 0)
		for _, r := range []struct{ method, path, body string }{
			{"POST", "/api/uploads", `{"name":"x","size":5}`}, {"GET", "/api/uploads/" + up.ID, ""}, {"DELETE", "/api/uploads/" + up.ID, ""},
			{"PUT", "/api/uploads/" + up.ID + "/parts/0", string(data)}, {"POST", "/api/uploads/" + up.ID + "/complete", ""},
			{"POST", "/api/upload/chunk", "x"}, {"POST", "/api/upload/assemble", `{}`},
		} {
			var answer map[string]any
			for key, want := range map[string]int{"": 401, "wrong": 401, secrets[account.Client]: 403, secrets[account.Monitor]: 403} {
				if status := s.callAs(t, key, r.method, r.path, r.body, &answer); status != want {
					t.Errorf("%s %s by %q: %d", r.method, r.path, key, status)
				}
			}
		}
		for _, path := range []string{
			"/api/uploads/..%2F..%2Fcheckpoints", "/api/uploads/%2E%2E", "/api/uploads/" + up.ID + "%2F..", "/api/uploads/x/parts/0", "/api/uploads/" + up.ID + "/parts/..%2F0",
			"/api/uploads/" + up.ID + "/parts/-1", "/api/uploads/" + up.ID + "/parts/9", "/api/uploads/" + up.ID + "/parts/99999999999999999999",
		} {
			var answer map[string]any
			method := "GET"
			if strings.Contains(path, "/parts/") {
				method = "PUT"
			}
			if status := s.call(t, method, path, "", &answer); status != 404 {
				t.Errorf("%s: %d %v", path, status, answer)
			}
		}
	})
}

// A key that expires during an upload does no harm: another one completes it, in another
// process. An expired URL is renewed.
func TestUploadOutlivesKeys(t *testing.T) {
	s3 := &buckettest.Store{}
	first := inBucket(t, s3, Config{Keys: keys(t)})
	up, data := first.begin(t, 0)
	s3.Now = func() time.Time { return time.Now().Add(7 * time.Hour) }
	if status := first.put(t, up, 0, data); status != 403 {
		t.Errorf("a URL of seven hours ago: %d", status)
	}
	s3.Now = nil
	other, err := account.NewKey("other", account.Admin, "other-key")
	if err != nil {
		t.Fatal(err)
	}
	second := inBucket(t, s3, Config{Keys: []account.Key{other}})
	var answer map[string]any
	if status := second.call(t, "POST", "/api/uploads/"+up.ID+"/complete", "", &answer); status != 401 {
		t.Errorf("with a key that is no more: %d", status)
	}
	if status := second.callAs(t, "other-key", "GET", "/api/uploads/"+up.ID, "", up); status != 200 {
		t.Fatal(up)
	}
	if status := second.put(t, up, 0, data); status != 200 {
		t.Errorf("%d", status)
	}
	if status := second.callAs(t, "other-key", "POST", "/api/uploads/"+up.ID+"/complete", "", &answer); status != 200 {
		t.Error(answer)
	}
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) { // the first process lists every few seconds
		if status, got := first.greedy(t, "sent"); status == 200 && got == greedy {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("it is not served by another process")
		}
	}
}

// If S3 rejects a request or fails, the answer says so in words and the model stays.
func TestUploadRefusedByS3(t *testing.T) {
	s := inBucket(t, &buckettest.Store{}, Config{Keys: keys(t)})
	var answer map[string]any
	if status := s.call(t, "POST", "/api/upload", upload(t, "sent"), &answer); status != 200 {
		t.Fatal(answer)
	}
	for code, c := range map[string]struct {
		status, want int
		says         string
	}{"SlowDown": {503, 503, "SlowDown"}, "AccessDenied": {403, 502, "denied this server permission"}, "ExpiredToken": {400, 502, "ExpiredToken"}, "BadDigest": {400, 502, "BadDigest"}} {
		s.s3.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				buckettest.Refuse(w, c.status, code)
			}
			return r.Method == http.MethodPut
		}
		var said struct{ Error string }
		for _, r := range [][2]string{{"/api/upload", upload(t, "sent")}, {"/api/uploads", `{"name":"sent","size":5000}`}} {
			if status := s.call(t, "POST", r[0], r[1], &said); status != c.want || !strings.Contains(said.Error, c.says) {
				t.Errorf("%s %s: %d %s", r[0], code, status, said.Error)
			}
		}
		if status, got := s.greedy(t, "sent"); status != 200 || got != greedy {
			t.Errorf("%d %q", status, got)
		}
	}
}

// A bucket that consists only of models has no place for uploads.
func TestUploadsNeedAPrefix(t *testing.T) {
	for _, url := range []string{"s3://models", "s3://models/uploads"} {
		a := inStore(t, &buckettest.Store{}, Config{Keys: keys(t), Uploads: true, Checkpoints: url})
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/api/upload", strings.NewReader(upload(t, "sent")))
		r.Header.Set("Authorization", "Bearer "+secrets[account.Worker])
		a.Handler().ServeHTTP(w, r)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "s3://models/checkpoints") {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}

// A model that is replaced between two requests of a listing, or of opening it, is
// always available.
func TestReplacedWhileLookedAt(t *testing.T) {
	s := inBucket(t, &buckettest.Store{}, Config{Keys: keys(t)})
	const key = "checkpoints/sent/packed.safetensors"
	version := func(i int) []byte { // a version that nobody has read
		m, err := arch.FromAlpha(checkpointtest.Golden(), "")
		if err != nil {
			t.Fatal(err)
		}
		m.Run = &arch.Run{Config: []byte(goldenConfig), Step: i}
		return packOf(t, m)
	}
	for when := 1; ; when++ { // the request before which it is replaced once more
		reads := 0
		var mu sync.Mutex
		s.s3.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			if r.Header.Get("Range") != "" {
				if reads++; reads == when {
					s.s3.Put(key, version(2*when+1))
				}
			}
			return false
		}
		s.s3.Put(key, version(2*when)) // the previous version is served
		s.local.Invalidate(s.root)
		s.catalog.Refresh()
		if status, got := s.greedy(t, "sent"); status != 200 || got != greedy {
			t.Errorf("replaced before read %d: %d %q", when, status, got)
		}
		s.s3.Fault = nil
		if reads < when {
			if when < 2 {
				t.Error("nothing was read")
			}
			return
		}
	}
}

// checkUploads tests the routes of uploads in parts, whose requests depend on answers.
func checkUploads(t *testing.T, h http.Handler, doc *openapi3.T, answered map[string]bool) {
	t.Helper()
	data := string(alph(t))
	try := func(method, pattern, id, body string, status int) string {
		r := httptest.NewRequest(method, strings.NewReplacer("{id}", id, "{part}", "0").Replace(pattern), strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+secrets[account.Worker])
		for name, value := range map[string]string{"X-Upload-Id": id, "X-Chunk-Index": "0", "X-Total-Chunks": "1"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer := w.Body.String()
		if err := fits(doc, method, pattern, w.Result(), answer); err != nil || w.Code != status {
			t.Errorf("%s %s: %d %s %v", method, pattern, w.Code, answer, err)
		}
		if op := doc.Paths.Find(pattern).GetOperation(method); strings.HasPrefix(body, "{") && status == 200 {
			if err := matches(op.RequestBody.Value.Content["application/json"].Schema, body); err != nil {
				t.Errorf("%s %s: the request %s: %v", method, pattern, body, err)
			}
		}
		answered[fmt.Sprint(method, " ", pattern, " ", w.Code)] = true
		return answer
	}
	const one = "/api/uploads/{id}"
	var up session
	begin := fmt.Sprintf(`{"name":"sent","step":7,"size":%d,"partSize":0,"quant":"f32","config":%s}`, len(data), goldenConfig)
	if err := json.Unmarshal([]byte(try("POST", "/api/uploads", "", begin, 200)), &up); err != nil {
		t.Fatal(err)
	}
	try("POST", "/api/uploads", "", `{"name":"sent"}`, 400)
	for _, id := range []string{up.ID, "none"} {
		status := 200
		if id == "none" {
			status = 404
		}
		try("GET", one, id, "", status)
		try("PUT", one+"/parts/{part}", id, data, status)
		try("POST", one+"/complete", id, "", status)
		try("GET", one, id, "", status)
		try("DELETE", one, id, "", status)
	}
	assemble := `{"uploadId":"u-1","totalChunks":1,"name":"sent","step":7,"config":` + goldenConfig + `}`
	try("POST", "/api/upload/assemble", "u-1", assemble, 404)
	try("POST", "/api/upload/chunk", "u-1", data, 200)
	try("POST", "/api/upload/chunk", "u/1", data, 400)
	try("POST", "/api/upload/assemble", "u-1", assemble, 200)
}
