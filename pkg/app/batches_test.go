package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"glossa/pkg/account"
)

// sendFile uploads a file of requests and returns its id, or the error.
func sendFile(t *testing.T, h http.Handler, key, purpose, text string) (id string, status int, body string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("file", "in.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(file, text)
	if err := w.WriteField("purpose", purpose); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return posted(t, h, key, "/v1/files", w.FormDataContentType(), form.String())
}

// posted posts a body and returns the id in the answer.
func posted(t *testing.T, h http.Handler, key, path, kind, body string) (id string, status int, answer string) {
	t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var doc struct{ ID string }
	_ = json.Unmarshal(w.Body.Bytes(), &doc)
	return doc.ID, w.Code, w.Body.String()
}

func order(t *testing.T, h http.Handler, key, file, endpoint string) (id string, status int, body string) {
	t.Helper()
	return posted(t, h, key, "/v1/batches", "application/json", fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q,"completion_window":"24h"}`, file, endpoint))
}

// finished works until a batch has ended, and returns it.
func finished(t *testing.T, a *App, h http.Handler, key, id string) (b struct {
	Status        string
	Output        string         `json:"output_file_id"`
	Errors        string         `json:"error_file_id"`
	RequestCounts map[string]int `json:"request_counts"`
}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/v1/batches/"+id, key, nil))), &b); err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"completed", "failed", "cancelled", "expired"}, b.Status) {
			return b
		}
		if ctx.Err() != nil {
			t.Fatalf("it is %s after a minute", b.Status)
		}
		a.batches.step(ctx)
	}
}

func line(id, url, body string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":%q,"body":%s}`, id, url, body) + "\n"
}

// outputs returns the answers of a file by custom_id.
func outputs(t *testing.T, h http.Handler, key, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, l := range strings.Split(strings.TrimSpace(text(t, ask(h, "GET", "/v1/files/"+file+"/content", key, nil))), "\n") {
		var doc struct {
			CustomID *string `json:"custom_id"`
			Response *struct {
				Status int             `json:"status_code"`
				Body   json.RawMessage `json:"body"`
			}
			Error *struct{ Code string }
		}
		if err := json.Unmarshal([]byte(l), &doc); err != nil {
			t.Fatalf("%v in %q", err, l)
		}
		id, what := "?", ""
		if doc.CustomID != nil {
			id = *doc.CustomID
		}
		if doc.Response != nil {
			what = fmt.Sprint(doc.Response.Status, " ", string(doc.Response.Body))
		} else {
			what = doc.Error.Code
		}
		all[id] = what
	}
	return all
}

// TestBatches: the lines of a file are answered as requests are, by every endpoint, and broken
// ones are reported without stopping the others.
func TestBatches(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t), Batches: t.TempDir()})
	h, key := a.Handler(), secrets[account.Client]
	const chat = `{"model":"golden","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":3}`
	for endpoint, body := range map[string]string{
		"/v1/chat/completions": chat, "/v1/completions": `{"model":"golden","prompt":"a","temperature":0,"max_tokens":3}`,
		"/v1/responses": `{"model":"golden","input":"a","temperature":0,"max_output_tokens":16,"store":false}`, "/v1/embeddings": `{"model":"golden","input":"a"}`,
	} {
		other := map[bool]string{true: "/v1/completions", false: "/v1/chat/completions"}[endpoint == "/v1/chat/completions"]
		file, status, answer := sendFile(t, h, key, "batch", line("one", endpoint, body)+line("two", endpoint, `{"model":"nope"}`)+
			line("three", other, body)+"{broken\n"+line("four", endpoint, `{"model":"golden","stream":true}`)+line("one", endpoint, body))
		if status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		id, status, answer := order(t, h, key, file, endpoint)
		if status != 200 {
			t.Fatalf("%s: %d %s", endpoint, status, answer)
		}
		b := finished(t, a, h, key, id)
		if b.Status != "completed" || fmt.Sprint(b.RequestCounts) != "map[completed:1 failed:5 total:6]" {
			t.Errorf("%s: %+v", endpoint, b)
		}
		direct := text(t, ask(h, "POST", endpoint, key, strings.NewReader(body)))
		if got := outputs(t, h, key, b.Output); len(got) != 1 || !strings.HasPrefix(got["one"], "200 {") || endpoint != "/v1/embeddings" && words(t, got["one"][4:]) != words(t, direct) {
			t.Errorf("%s: %v, want %s", endpoint, got, direct)
		}
		if got := outputs(t, h, key, b.Errors); !strings.HasPrefix(got["two"], "404 ") && !strings.HasPrefix(got["two"], "400 ") || got["?"] == "" || got["three"] == "" || got["four"] == "" || got["one"] == "" {
			t.Errorf("%s: %v", endpoint, got)
		}
	}
}

// TestBatchesOfOwners: files and batches are their owner's alone, and lines run with the
// owner's rights of now.
func TestBatchesOfOwners(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t), Batches: t.TempDir()})
	h, key, other := a.Handler(), secrets[account.Client], secrets[account.Worker]
	file, _, _ := sendFile(t, h, key, "batch", line("one", "/v1/completions", `{"model":"golden","prompt":"a","max_tokens":1}`))
	id, _, _ := order(t, h, key, file, "/v1/completions")
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/files/" + file}, {"GET", "/v1/files/" + file + "/content"}, {"DELETE", "/v1/files/" + file},
		{"GET", "/v1/batches/" + id}, {"POST", "/v1/batches/" + id + "/cancel"},
	} {
		if res := ask(h, c.method, c.path, other, nil); res.StatusCode != 404 || !strings.Contains(text(t, res), `"there is no such `) {
			t.Errorf("%s %s: %d", c.method, c.path, res.StatusCode)
		}
		if res := ask(h, c.method, c.path, "", nil); res.StatusCode != 401 {
			t.Errorf("%s %s without a key: %d", c.method, c.path, res.StatusCode)
		}
	}
	if _, status, answer := order(t, h, other, file, "/v1/completions"); status != 404 {
		t.Errorf("a batch of another's file: %d %s", status, answer)
	}
	for _, path := range []string{"/v1/files", "/v1/batches"} {
		if got := text(t, ask(h, "GET", path, other, nil)); !strings.Contains(got, `"data":[]`) {
			t.Errorf("%s of another: %s", path, got)
		}
		if got := text(t, ask(h, "GET", path, key, nil)); !strings.Contains(got, `"data":[{`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if res := ask(h, "DELETE", "/v1/files/"+file, key, nil); res.StatusCode != 400 || !strings.Contains(text(t, res), "in use by a batch") {
		t.Errorf("its file is deleted while it runs: %d", res.StatusCode)
	}
	// The server starts anew, without the owner.
	rest := slices.DeleteFunc(keys(t), func(k account.Key) bool { return k.Name == string(account.Client) })
	b := golden(t, Config{Auth: true, Keys: rest, Batches: a.cfg.Batches})
	b.batches.step(t.Context())
	for range 10 {
		b.batches.step(t.Context())
	}
	c := golden(t, Config{Auth: true, Keys: keys(t), Batches: a.cfg.Batches})
	state := finished(t, c, c.Handler(), key, id)
	if got := outputs(t, c.Handler(), key, state.Errors); !strings.HasPrefix(got["one"], "401 ") {
		t.Errorf("without the owner: %v", got)
	}
	if res := ask(h, "DELETE", "/v1/files/"+file, key, nil); res.StatusCode != 200 {
		t.Errorf("%d", res.StatusCode)
	}
}

// TestOpenOwner: a server with keys says in its log why it does not run the batch of one without.
func TestOpenOwner(t *testing.T) {
	dir := t.TempDir()
	open := golden(t, Config{Batches: dir})
	file, _, _ := sendFile(t, open.Handler(), "", "batch", line("one", "/v1/completions", `{"model":"golden","prompt":"a","max_tokens":1}`))
	id, _, _ := order(t, open.Handler(), "", file, "/v1/completions")
	var log bytes.Buffer
	a := golden(t, Config{Auth: true, Keys: keys(t), Batches: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	a.batches.step(t.Context()) // plans it
	a.batches.step(t.Context())
	if got := log.String(); !strings.Contains(got, id) || !strings.Contains(got, errOpenOwner.Error()) {
		t.Errorf("the log is %q", got)
	}
}

// TestWorkers: the workers of a server take up a batch at once, and one that another server has
// left.
func TestWorkers(t *testing.T) {
	dir := t.TempDir()
	left := golden(t, Config{Batches: dir})
	file, _, _ := sendFile(t, left.Handler(), "", "batch", line("one", "/v1/completions", `{"model":"golden","prompt":"a","max_tokens":1}`))
	first, _, _ := order(t, left.Handler(), "", file, "/v1/completions")
	a := golden(t, Config{Batches: dir})
	stop := a.startBatches(t.Context())
	defer stop()
	second, _, _ := order(t, a.Handler(), "", file, "/v1/completions")
	for _, id := range []string{first, second} {
		for !strings.Contains(text(t, ask(a.Handler(), "GET", "/v1/batches/"+id, "", nil)), `"status":"completed"`) {
			if t.Context().Err() != nil {
				t.Fatal("it does not end")
			}
		}
	}
}

// TestBadBatches: what is wrong with a request is said, and nothing is kept of it.
func TestBadBatches(t *testing.T) {
	a := golden(t, Config{Batches: t.TempDir()})
	h := a.Handler()
	form := func(fields string) string {
		return strings.ReplaceAll(strings.ReplaceAll(fields, "|", "\r\n--b\r\nContent-Disposition: form-data; name="), "=>", "\r\n\r\n") + "\r\n--b--\r\n"
	}
	const multi = "multipart/form-data; boundary=b"
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", `{"purpose":"batch"}`, "the body must be a form"},
		{"multipart/form-data", "x", "the body must be a form"},
		{multi, "nothing of a form", "'file': is required"},
		{multi, "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ncut", "the file cannot be read"},
		{multi, "--b\r\nbroken", "the form cannot be read"},
		{multi, form(`|"purpose"=>batch`), "'file': is required"},
		{multi, form(`|"file"; filename="a"=>x`), "'purpose': is required"},
		{multi, form(`|"file"; filename="a"=>x|"purpose"=>vision`), "it must be batch"},
		{multi, form(`|"file"; filename="a"=>x|"file"; filename="b"=>x|"purpose"=>batch`), "'file': is sent twice"},
		{multi, form(`|"file"; filename="a"=>x|"purpose"=>batch|"expires_after[seconds]"=>9`), "Unsupported parameter 'expires_after[seconds]'"},
		{multi, form(`|"file"; filename="` + strings.Repeat("a", 300) + `"=>x|"purpose"=>batch`), "the name of the file is too long"},
	} {
		if _, status, answer := posted(t, h, "", "/v1/files", c.kind, c.body); status != 400 || !strings.Contains(answer, c.want) {
			t.Errorf("%s %.80q: %d %s", c.kind, c.body, status, answer)
		}
	}
	if got := text(t, ask(h, "GET", "/v1/files", "", nil)); !strings.Contains(got, `"data":[]`) {
		t.Errorf("something is kept: %s", got)
	}
	file, _, _ := sendFile(t, h, "", "batch", "")
	for body, want := range map[string]string{
		`{}`: "is required", `{"input_file_id":"x","endpoint":"/v1/x","completion_window":"24h"}`: "'endpoint'",
		`{"input_file_id":"x","endpoint":"/v1/completions","completion_window":"1h"}`:                                                      "'completion_window'",
		`{"input_file_id":"../x","endpoint":"/v1/completions","completion_window":"24h"}`:                                                  "there is no such file",
		`{"input_file_id":"x","endpoint":"/v1/completions","completion_window":"24h","x":1}`:                                               "Unrecognized request argument supplied: x",
		`{"input_file_id":"x","endpoint":"/v1/completions","completion_window":"24h","metadata":{"a":"` + strings.Repeat("x", 513) + `"}}`: "at most 512 characters",
	} {
		if _, status, answer := posted(t, h, "", "/v1/batches", "application/json", body); status/100 != 4 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	id, _, _ := order(t, h, "", file, "/v1/completions")
	if b := finished(t, a, h, "", id); b.Status != "failed" || !strings.Contains(text(t, ask(h, "GET", "/v1/batches/"+id, "", nil)), `"errors":{"object":"list","data":[{"code":`) {
		t.Errorf("an empty file: %+v", b)
	}
	for _, path := range []string{"/v1/batches?limit=0", "/v1/batches?limit=101", "/v1/files?after=file-x", "/v1/files?order=up", "/v1/batches/batch_..%2Fx", "/v1/files/file-x"} {
		if res := ask(h, "GET", path, "", nil); res.StatusCode/100 != 4 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// TestPagesOfBatches: pages join to the whole list.
func TestPagesOfBatches(t *testing.T) {
	a := golden(t, Config{Batches: t.TempDir()})
	h := a.Handler()
	file, _, _ := sendFile(t, h, "", "batch", "")
	var want []string
	for range 5 {
		id, _, _ := order(t, h, "", file, "/v1/completions")
		want = append([]string{id}, want...)
	}
	var got []string
	for after := ""; ; {
		var list struct {
			Data    []struct{ ID string }
			LastID  string `json:"last_id"`
			HasMore bool   `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/v1/batches?limit=2"+after, "", nil))), &list); err != nil {
			t.Fatal(err)
		}
		for _, b := range list.Data {
			got = append(got, b.ID)
		}
		if !list.HasMore {
			break
		}
		after = "&after=" + list.LastID
	}
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUploadedInParts uploads a file in parts and runs it, and checks what is wrong with uploads.
func TestUploadedInParts(t *testing.T) {
	a := golden(t, Config{Batches: t.TempDir()})
	h := a.Handler()
	whole := batchLines(3)
	begin := func(size int, more string) (string, int, string) {
		return posted(t, h, "", "/v1/uploads", "application/json", fmt.Sprintf(`{"bytes":%d,"filename":"in.jsonl","mime_type":"text/jsonl","purpose":"batch"%s}`, size, more))
	}
	id, status, answer := begin(len(whole), "")
	if status != 200 || !strings.Contains(answer, `"status":"pending","file":null`) {
		t.Fatal(answer)
	}
	part := func(text string) string {
		const boundary = "b"
		body := "--b\r\nContent-Disposition: form-data; name=\"data\"; filename=\"x\"\r\n\r\n" + text + "\r\n--b--\r\n"
		part, status, answer := posted(t, h, "", "/v1/uploads/"+id+"/parts", "multipart/form-data; boundary="+boundary, body)
		if status != 200 || !strings.Contains(answer, `"object":"upload.part"`) || !strings.Contains(answer, id) {
			t.Fatalf("%d %s", status, answer)
		}
		return part
	}
	second, first := part(whole[50:]), part(whole[:50])
	for body, want := range map[string]string{
		`{"part_ids":["` + first + `"]}`: "the parts have 50 bytes", `{}`: "part_ids", `{"part_ids":["` + first + `","` + second + `"],"md5":"x"}`: "MD5",
	} {
		if _, status, answer := posted(t, h, "", "/v1/uploads/"+id+"/complete", "application/json", body); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	_, status, answer = posted(t, h, "", "/v1/uploads/"+id+"/complete", "application/json", `{"part_ids":["`+first+`","`+second+`"]}`)
	var done struct{ File struct{ ID, Filename string } }
	if err := json.Unmarshal([]byte(answer), &done); err != nil || status != 200 || done.File.Filename != "in.jsonl" {
		t.Fatalf("%d %s", status, answer)
	}
	if got := text(t, ask(h, "GET", "/v1/files/"+done.File.ID+"/content", "", nil)); got != whole {
		t.Errorf("%q", got)
	}
	batch, _, _ := order(t, h, "", done.File.ID, "/v1/completions")
	if b := finished(t, a, h, "", batch); b.RequestCounts["completed"] != 3 {
		t.Errorf("%+v", b)
	}
	for _, c := range []struct {
		path, body, want string
		status           int
	}{
		{"/v1/uploads/" + id + "/cancel", "", "the upload is completed", 400},
		{"/v1/uploads/upload_x/cancel", "", "there is no such upload", 404},
		{"/v1/uploads/" + id + "/parts", "{}", "multipart/form-data with the field data", 400},
		{"/v1/uploads", `{"bytes":-1,"filename":"a","mime_type":"b","purpose":"batch"}`, "a file has 1 to", 400},
		{"/v1/uploads", `{"bytes":1,"filename":"` + strings.Repeat("a", 300) + `","mime_type":"b","purpose":"batch"}`, "at most 256 characters", 400},
		{"/v1/uploads", `{"bytes":1,"filename":"a","mime_type":"` + strings.Repeat("b", 300) + `","purpose":"batch"}`, "at most 256 characters", 400},
		{"/v1/uploads", `{"bytes":1,"filename":"a","mime_type":"b","purpose":"vision"}`, "purpose", 400},
		{"/v1/uploads", `{"bytes":1,"filename":"a","mime_type":"b","purpose":"batch","x":1}`, "x", 400},
	} {
		if _, status, answer := posted(t, h, "", c.path, "application/json", c.body); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
	}
}

// batchCalls checks the answers of files, uploads and batches against the document.
func batchCalls(t *testing.T, h http.Handler, doc *openapi3.T, answered map[string]bool) {
	t.Helper()
	key := secrets[account.Client]
	form := func(pattern, id, fields string, status int) (made string) {
		r := httptest.NewRequest("POST", strings.ReplaceAll(pattern, "{upload_id}", id), strings.NewReader(fields))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if err := fits(doc, "POST", pattern, w.Result(), w.Body.String()); err != nil || w.Code != status {
			t.Errorf("POST %s: %d %s %v", pattern, w.Code, w.Body, err)
		}
		if doc.Paths.Find(pattern).Post.RequestBody.Value.Content["multipart/form-data"] == nil {
			t.Errorf("POST %s has no form", pattern)
		}
		answered[fmt.Sprint("POST ", pattern, " ", w.Code)] = true
		var in struct{ ID string }
		_ = json.Unmarshal(w.Body.Bytes(), &in)
		return in.ID
	}
	const field = "--b\r\nContent-Disposition: form-data; name="
	const file = field + "\"file\"; filename=\"a\"\r\n\r\nx\r\n" + field + "\"purpose\"\r\n\r\nbatch\r\n--b--\r\n"
	id := form("/v1/files", "", file, 200)
	form("/v1/files", "", "", 400)
	try := func(method, pattern, id, body string, status int) (made string) {
		c := call{method, strings.NewReplacer("{file_id}", id, "{upload_id}", id, "{batch_id}", id).Replace(pattern), pattern, account.Client, body, status}
		c.check(t, h, doc)
		answered[fmt.Sprint(method, " ", pattern, " ", status)] = true
		if status == 200 && method == "POST" {
			_, _, text := posted(t, h, key, c.path, "application/json", body)
			var in struct{ ID string }
			_ = json.Unmarshal([]byte(text), &in)
			made = in.ID
		}
		return made
	}
	const oneFile, upload, one = "/v1/files/{file_id}", "/v1/uploads/{upload_id}", "/v1/batches/{batch_id}"
	try("GET", "/v1/files", "", "", 200)
	try("GET", oneFile, id, "", 200)
	try("GET", oneFile+"/content", id, "", 200)
	const begin = `{"bytes":1,"filename":"a","mime_type":"b","purpose":"batch"}`
	up := try("POST", "/v1/uploads", "", begin, 200)
	try("POST", "/v1/uploads", "", `{}`, 400)
	form(upload+"/parts", "upload_x", field+"\"data\"\r\n\r\nx\r\n--b--\r\n", 404)
	part := form(upload+"/parts", up, field+"\"data\"\r\n\r\nx\r\n--b--\r\n", 200)
	try("POST", upload+"/complete", up, `{"part_ids":["x"]}`, 400)
	try("POST", upload+"/complete", up, `{"part_ids":["`+part+`"]}`, 200)
	try("POST", upload+"/cancel", up, "", 400)
	up = try("POST", "/v1/uploads", "", begin, 200)
	c := call{"POST", "/v1/uploads/" + up + "/cancel", upload + "/cancel", account.Client, "", 200}
	c.check(t, h, doc)
	answered["POST "+upload+"/cancel 200"] = true
	order := `{"input_file_id":"` + id + `","endpoint":"/v1/completions","completion_window":"24h"}`
	b := try("POST", "/v1/batches", "", order, 200)
	try("POST", "/v1/batches", "", strings.Replace(order, id, "file-x", 1), 404)
	try("GET", "/v1/batches", "", "", 200)
	try("GET", one, b, "", 200)
	try("GET", one, "batch_x", "", 404)
	try("DELETE", oneFile, id, "", 400) // a batch uses it
	try("POST", one+"/cancel", b, "", 200)
	free := form("/v1/files", "", file, 200)
	try("DELETE", oneFile, free, "", 200)
	try("DELETE", oneFile, free, "", 404)
}
