package alpha

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// noUpload is the error of an upload that the publisher does not have.
func noUpload(id string) error {
	if id == "known" {
		return nil
	}
	return &llm.Error{Code: llm.NotFound, Param: "id", Message: "no upload"}
}

func (s *fakePublisher) Begin(_ context.Context, file *Announced) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced = file
	return s.Session(context.Background(), "known")
}

func (s *fakePublisher) Session(_ context.Context, id string) (*Session, error) {
	return &Session{
		ID: id, Name: "new", Step: 7, Size: 9, PartSize: 5, Expires: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		Parts: []Part{{Index: 0, Size: 5, Arrived: true}, {Index: 1, Offset: 5, Size: 4, URL: "https://s3/x?a=b&c=<d>"}},
	}, noUpload(id)
}

func (s *fakePublisher) Sessions(context.Context) ([]*Session, error) {
	one, err := s.Session(context.Background(), "known")
	one.Arrived = 5
	return []*Session{one}, err
}

func (s *fakePublisher) Part(_ context.Context, id string, index int, body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.part = fmt.Sprintf("%d:%s", index, data)
	return noUpload(id)
}

func (s *fakePublisher) Complete(_ context.Context, id string) (string, int, error) {
	return "new", 7, noUpload(id)
}

func (s *fakePublisher) Abort(_ context.Context, id string) error { return noUpload(id) }

func (s *fakePublisher) Chunk(_ context.Context, id string, index, total int, body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.part = fmt.Sprintf("%s %d/%d:%s", id, index, total, data)
	return nil
}

func (s *fakePublisher) Assemble(ctx context.Context, id string, total int, u *Upload) error {
	s.part = fmt.Sprintf("%s of %d", id, total)
	return s.Publish(ctx, u)
}

// TestParts compares the exact answers of the routes of uploads in parts.
func TestParts(t *testing.T) {
	const known = `{"id":"known","name":"new","step":7,"size":9,"partSize":5,"done":false,"expires":"2026-11-22T09:00:00Z",` +
		`"parts":[{"index":0,"offset":0,"size":5,"arrived":true},{"index":1,"offset":5,"size":4,"arrived":false,"url":"https://s3/x?a=b&c=<d>"}]}`
	const assembly = `{"uploadId":"u-1","totalChunks":3,"name":"new","step":7,"config":{"domain":"abc"},"metrics":"m","trainingData":"t"}`
	chunk := []string{"X-Upload-Id", "u-1", "X-Chunk-Index", "2", "X-Total-Chunks", "3"}
	for _, test := range []struct {
		method, target, body string
		headers              []string
		status               int
		want                 string
	}{
		{"POST", "/api/uploads", `{"name":"new","step":7,"size":9,"partSize":5,"config":{"domain":"abc"}}`, nil, 200, known},
		{"GET", "/api/uploads/known", "", nil, 200, known},
		{"GET", "/api/uploads", "", nil, 200, `{"uploads":[{"id":"known","name":"new","step":7,"size":9,"arrived":5,"expires":"2026-11-22T09:00:00Z"}]}`},
		{"PUT", "/api/uploads/known/parts/1", "data", nil, 200, `{"ok":true,"part":1}`},
		{"POST", "/api/uploads/known/complete", "", nil, 200, `{"ok":true,"name":"new","step":7}`},
		{"DELETE", "/api/uploads/known", "", nil, 200, `{"ok":true,"deleted":"known"}`},
		{"POST", "/api/upload/chunk", "data", chunk, 200, `{"ok":true,"chunk":2,"total":3}`},
		{"POST", "/api/upload/assemble", assembly, nil, 200, `{"ok":true,"name":"new","step":7}`},

		{"GET", "/api/uploads/other", "", nil, 404, `{"error":"id: no upload"}`},
		{"PUT", "/api/uploads/other/parts/1", "", nil, 404, `{"error":"id: no upload"}`},
		{"PUT", "/api/uploads/known/parts/x", "", nil, 404, `{"error":"part: must be the number of a part"}`},
		{"POST", "/api/uploads/other/complete", "", nil, 404, `{"error":"id: no upload"}`},
		{"DELETE", "/api/uploads/other", "", nil, 404, `{"error":"id: no upload"}`},
		{"POST", "/api/uploads", `{}`, nil, 400, `{"error":"name: is required"}`},
		{"POST", "/api/uploads", `{"name":"x","size":1.5}`, nil, 400, `{"error":"size: must be an integer, not number 1.5"}`},
		{"POST", "/api/uploads", `{"name":"x","size":1,"partSize":-1}`, nil, 400, `{"error":"partSize: must not be negative"}`},
		{"POST", "/api/uploads", `{"name":"x","size":1,"config":[]}`, nil, 400, `{"error":"config: must be an object"}`},
		{"POST", "/api/uploads", `{"name":"x","size":1,"checkpoint":{}}`, nil, 400, `{"error":"checkpoint: unknown parameter"}`},
		{"POST", "/api/uploads", ``, nil, 400, `{"error":"the body is empty: a JSON object is expected"}`},
		{"PUT", "/api/uploads", "", nil, 405, `{"error":"this path supports only POST, GET"}`},
		{"POST", "/api/upload/chunk", "data", chunk[:4], 400, `{"error":"Missing X-Upload-Id, X-Chunk-Index or X-Total-Chunks headers"}`},
		{"POST", "/api/upload/chunk", "data", []string{"X-Upload-Id", "u", "X-Chunk-Index", "one", "X-Total-Chunks", "3"}, 400, `{"error":"Missing X-Upload-Id, X-Chunk-Index or X-Total-Chunks headers"}`},
		{"POST", "/api/upload/chunk", "", chunk, 400, `{"error":"the body is empty: a chunk is expected"}`},
		{"POST", "/api/upload/assemble", strings.Replace(assembly, `"step":7,`, "", 1), nil, 400, `{"error":"Missing required fields: uploadId, name, step, totalChunks, config"}`},
		{"POST", "/api/upload/assemble", strings.Replace(assembly, `{"domain":"abc"}`, `"x"`, 1), nil, 400, `{"error":"config: must be an object"}`},
		{"POST", "/api/upload/assemble", strings.Replace(assembly, `"step":7`, `"step":-7`, 1), nil, 400, `{"error":"step: must not be negative"}`},
	} {
		f := newFixture()
		w := ask(f, test.method, test.target, test.body, test.headers...)
		if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != test.want {
			t.Errorf("%s %s %s: got %d %s", test.method, test.target, test.body, w.Code, got)
		}
		none := httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{}})}
		if w := ask(none.Handler(), test.method, test.target, test.body, test.headers...); w.Code != 405 && !strings.Contains(w.Body.String(), "stores no checkpoints") {
			t.Errorf("%s %s without a publisher: %d %s", test.method, test.target, w.Code, w.Body)
		}
	}
}

// stubborn rejects every body before it reads it.
type stubborn struct{ *fakePublisher }

var errFull = &llm.Error{Code: llm.Full, Message: "the disk is full"}

func (stubborn) Spool(context.Context, io.Reader, int64) (Spool, error)       { return nil, errFull }
func (stubborn) Part(context.Context, string, int, io.Reader) error           { return errFull }
func (stubborn) Chunk(context.Context, string, int, int, io.Reader) error     { return errFull }
func (stubborn) HoldTexts(context.Context, int64) (release func(), err error) { return nil, errFull }
func (stubborn) Assemble(context.Context, string, int, *Upload) error         { return errFull }
func (stubborn) Complete(context.Context, string) (name string, step int, err error) {
	return "", 0, errFull
}

// A body that is rejected early is read to its end, because clients that are still sending
// would otherwise lose the answer.
func TestRefusalsAreHeard(t *testing.T) {
	mux := httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{}, Publisher: stubborn{&fakePublisher{}}})}
	for path, method := range map[string]string{
		"/api/upload": "POST", "/api/uploads": "POST", "/api/upload/assemble": "POST", "/api/upload/chunk": "POST", "/api/uploads/known/parts/1": "PUT",
	} {
		body := strings.NewReader(strings.Repeat("x", 1<<20))
		r := httptest.NewRequest(method, path, body)
		for i, key := range []string{"X-Upload-Id", "X-Chunk-Index", "X-Total-Chunks"} {
			r.Header.Set(key, fmt.Sprint(i))
		}
		w := httptest.NewRecorder()
		mux.Handler().ServeHTTP(w, r)
		if w.Code != 507 || strings.TrimSpace(w.Body.String()) != `{"error":"the disk is full"}` || body.Len() != 0 {
			t.Errorf("%s: %d %s, %d bytes are not read", path, w.Code, w.Body, body.Len())
		}
	}
}

// The publisher receives all fields of requests.
func TestPartsArrive(t *testing.T) {
	f := newFixture()
	want := &Announced{
		Upload: Upload{Name: "new", Step: 7, Config: json.RawMessage(`{"domain":"abc"}`), Metrics: "m", TrainingData: "t"},
		Size:   9, PartSize: 5, SHA256: "abc", Quant: "q8_0",
	}
	ask(f, "POST", "/api/uploads", `{"name":"new","step":7,"size":9,"partSize":5,"sha256":"abc","quant":"q8_0","config": {"domain":"abc"} ,"metrics":"m","trainingData":"t"}`)
	if !reflect.DeepEqual(f.shelf.announced, want) {
		t.Errorf("%+v", f.shelf.announced)
	}
	ask(f, "POST", "/api/uploads", `{"name":"new","size":9,"config":null}`)
	if got := f.shelf.announced; got.Config != nil || got.Step != 0 || got.PartSize != 0 {
		t.Errorf("%+v", got)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("data"))
	z.Close()
	ask(f, "PUT", "/api/uploads/known/parts/12", zipped.String(), "Content-Encoding", "gzip")
	if f.shelf.part != "12:data" {
		t.Error(f.shelf.part)
	}
	ask(f, "POST", "/api/upload/chunk", "data", "X-Upload-Id", "u-1", "X-Chunk-Index", "2", "X-Total-Chunks", "3")
	if f.shelf.part != "u-1 2/3:data" {
		t.Error(f.shelf.part)
	}
	ask(f, "POST", "/api/upload/assemble", `{"uploadId":"u-1","totalChunks":3,"name":"new","step":0,"config":{},"metrics":"m","trainingData":"t"}`)
	if got := f.shelf.uploads["new"]; f.shelf.part != "u-1 of 3" || got.Metrics != "m" || got.TrainingData != "t" || string(got.Config) != "{}" {
		t.Error(f.shelf.part, got)
	}
	r := httptest.NewRequest("PUT", "/api/uploads/known/parts/0", io.LimitReader(strings.NewReader(""), 0))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if w.Code != 200 || f.shelf.part != "0:" {
		t.Error(w.Code, f.shelf.part)
	}
}
