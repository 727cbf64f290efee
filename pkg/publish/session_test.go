package publish

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/llm"
)

// begin announces the golden checkpoint in parts of 500 bytes.
func begin(t testing.TB, p *place, name string, step int) (*Session, []byte) {
	t.Helper()
	u := upload(t, name, step)
	s, err := p.Begin(t.Context(), u, 500, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, golden(t)
}

// send sends a part to its URL, or through the server.
func (p *place) send(t testing.TB, s *Session, index int, data []byte) error {
	t.Helper()
	part := s.Parts[index]
	data = data[part.Offset : part.Offset+part.Size]
	if part.URL == "" {
		return p.Part(t.Context(), s.ID, index, bytes.NewReader(data))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, part.URL, bytes.NewReader(data))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%d: %s", answer.StatusCode, body)
	}
	return nil
}

// sendAll sends the missing parts in random order.
func (p *place) sendAll(t testing.TB, s *Session, data []byte) {
	t.Helper()
	for _, i := range rand.Perm(len(s.Parts)) {
		if s.Parts[i].Arrived {
			continue
		}
		if err := p.send(t, s, i, data); err != nil {
			t.Fatal(err)
		}
	}
}

// arrived returns the numbers of the stored parts.
func (p *place) arrived(t testing.TB, id string) (list []int) {
	t.Helper()
	s, err := p.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range s.Parts {
		if part.Arrived {
			list = append(list, part.Index)
		}
	}
	return list
}

// Parts arrive in any order, some twice, some through the server; an interrupted upload
// is resumed; the model is served only after completion; and completing it again changes
// nothing.
func TestSession(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "m", 1))
		s, data := begin(t, p, "m", 2)
		if len(s.Parts) != (len(data)+499)/500 || s.Size != int64(len(data)) || s.Done || len(s.ID) < 26 || (s.Parts[0].URL == "") != (p.dir != "") {
			t.Fatalf("%+v", s)
		}
		for _, i := range []int{3, 1} {
			if err := p.send(t, s, i, data); err != nil {
				t.Fatal(err)
			}
		}
		wrong := bytes.Repeat([]byte("x"), 500)
		if err := p.Part(t.Context(), s.ID, 0, bytes.NewReader(wrong)); err != nil { // to be sent again
			t.Fatal(err)
		}
		if got := p.arrived(t, s.ID); !slices.Equal(got, []int{0, 1, 3}) {
			t.Error(got)
		}
		_, _, err := p.Complete(t.Context(), s.ID)
		p.same(t, err, llm.Invalid, "parts", "m@1")
		if err == nil || !strings.Contains(err.Error(), "missing: 2, 4") {
			t.Error(err)
		}
		if err := p.send(t, s, 0, data); err != nil { // the duplicate replaces it
			t.Fatal(err)
		}
		again, err := p.Session(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		p.sendAll(t, again, data)
		for range 3 {
			name, step, err := p.Complete(t.Context(), s.ID)
			if err != nil || name != "m" || step != 2 {
				t.Fatal(name, step, err)
			}
			put(t, p, upload(t, "m", 3)) // the next completion does not replace it
		}
		if got := p.list(t); !slices.Equal(got, []string{"m@3"}) {
			t.Error(got)
		}
		if got := p.leftovers(t); len(got) != 1 || path.Base(got[0]) != doneFile {
			t.Errorf("left behind: %v", got)
		}
		if s, err := p.Session(t.Context(), s.ID); err != nil || !s.Done || len(p.arrived(t, s.ID)) != len(s.Parts) {
			t.Errorf("%+v %v", s, err)
		}
		p.same(t, p.Part(t.Context(), s.ID, 0, bytes.NewReader(wrong)), llm.Invalid, "id", "m@3")
		if err := p.Abort(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
		p.expect(t, p.Abort(t.Context(), s.ID), llm.NotFound, "id", "m@3")
	})
}

// An invalid upload is rejected at the beginning; unknown ids and parts are not found,
// whatever their form.
func TestSessionRefuses(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		for param, change := range map[string]func(u *Upload, partSize *int64, sum *string){
			"size":       func(u *Upload, _ *int64, _ *string) { u.Size = 0 },
			"partSize":   func(_ *Upload, n *int64, _ *string) { *n = 1 },
			"sha256":     func(_ *Upload, _ *int64, sum *string) { *sum = "abc" },
			"quant":      func(u *Upload, _ *int64, _ *string) { u.Quant = "int3" },
			"step":       func(u *Upload, _ *int64, _ *string) { u.Step = -1 },
			"checkpoint": func(u *Upload, _ *int64, _ *string) { u.Size = -5 },
		} {
			u, partSize, sum := upload(t, "m", 1), int64(0), ""
			change(&u, &partSize, &sum)
			_, err := p.Begin(t.Context(), u, partSize, sum)
			p.expect(t, err, llm.Invalid, param)
		}
		u := upload(t, "m", 1)
		p.MaxBytes = 20 << 30
		for _, size := range []int64{21 << 30, 6 << 30} {
			u.Size = size
			_, err := p.Begin(t.Context(), u, 0, "")
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Invalid {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		s, data := begin(t, p, "m", 1)
		for _, id := range []string{"", ".", "..", "../" + s.ID, s.ID + "/..", s.ID + "/", strings.ToLower(s.ID), s.ID[1:], s.ID + "0000000000000000", "a/b", "chunks-x", "chunks-" + strings.Repeat("0", 64) + s.ID[len(s.ID)-17:], strings.Repeat("A", 26) + "-1"} {
			_, err := p.Session(t.Context(), id)
			p.same(t, err, llm.NotFound, "id")
			_, _, err = p.Complete(t.Context(), id)
			p.same(t, err, llm.NotFound, "id")
			p.same(t, p.Part(t.Context(), id, 0, strings.NewReader("x")), llm.NotFound, "id")
			p.same(t, p.Abort(t.Context(), id), llm.NotFound, "id")
		}
		for _, index := range []int{-1, len(s.Parts), 1 << 40} {
			p.same(t, p.Part(t.Context(), s.ID, index, strings.NewReader("x")), llm.NotFound, "part")
		}
		one, err := p.Begin(t.Context(), upload(t, "m", 1), math.MaxInt64, "")
		if err != nil || one.PartSize != one.Size || len(one.Parts) != 1 {
			t.Errorf("%+v %v", one, err)
		}
		for _, index := range []int{1, 2, 3} {
			p.same(t, p.Part(t.Context(), one.ID, index, bytes.NewReader(append(data, 0, 0))), llm.NotFound, "part")
		}
		last := len(s.Parts) - 1
		for what, body := range map[string]io.Reader{
			"short": bytes.NewReader(data[:499]), "long": bytes.NewReader(data[:501]), "none": strings.NewReader(""),
			"cut": io.MultiReader(bytes.NewReader(data[:300]), iotest.ErrReader(io.ErrUnexpectedEOF)),
		} {
			p.same(t, p.Part(t.Context(), s.ID, 0, body), llm.Invalid, "part")
			if got := p.arrived(t, s.ID); len(got) != 0 {
				t.Errorf("%s: %v", what, got)
			}
		}
		p.same(t, p.Part(t.Context(), s.ID, last, bytes.NewReader(data[:500])), llm.Invalid, "part")
		tooLarge := iotest.ErrReader(llm.Errorf(llm.TooLong, "the body is larger than 5 bytes"))
		p.same(t, p.Part(t.Context(), s.ID, 0, tooLarge), llm.TooLong, "")
	})
}

// A file that differs from the announcement, or is invalid, is rejected on completion; the
// parts stay and can be replaced.
func TestCompleteRefuses(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		put(t, p, upload(t, "m", 1))
		data := golden(t)
		s, err := p.Begin(t.Context(), upload(t, "m", 2), 0, fmt.Sprintf("%X", sha256.Sum256(data)))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.send(t, s, 0, append(bytes.Clone(data[:len(data)-1]), 9)); err != nil {
			t.Fatal(err)
		}
		_, _, err = p.Complete(t.Context(), s.ID)
		p.same(t, err, llm.Invalid, "sha256", "m@1")
		if err := p.send(t, s, 0, data); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Complete(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
		s, _ = begin(t, p, "m", 3)
		p.sendAll(t, s, bytes.Repeat([]byte("ALPH"), len(data)))
		_, _, err = p.Complete(t.Context(), s.ID)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Invalid || e.Param != "checkpoint" {
			t.Error(err)
		}
		if got := p.arrived(t, s.ID); len(got) != len(s.Parts) {
			t.Error(got)
		}
		p.sendAll(t, &Session{ID: s.ID, Parts: s.Parts}, data)
		if _, _, err = p.Complete(t.Context(), s.ID); err != nil || !slices.Equal(p.list(t), []string{"m@3"}) {
			t.Error(err, p.list(t))
		}
	})
}

// zip compresses data with gzip.
func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Compressed files are decompressed; truncated ones and bombs are rejected.
func TestCompleteUnzips(t *testing.T) {
	data := zip(t, golden(t))
	each(t, func(t *testing.T, p *place) {
		p.unzipped = 1 << 20
		for what, file := range map[string][]byte{"whole": data, "cut": data[:len(data)-20], "bomb": zip(t, make([]byte, p.unzipped+1))} {
			s, err := p.Begin(t.Context(), upload(t, "m", 2).of(file), 0, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := p.send(t, s, 0, file); err != nil {
				t.Fatal(err)
			}
			_, _, err = p.Complete(t.Context(), s.ID)
			if e, ok := errors.AsType[*llm.Error](err); (what == "whole") != (err == nil) || ok && e.Code != llm.Invalid {
				t.Errorf("%s: %v", what, err)
			}
			if what == "bomb" && (err == nil || !strings.Contains(err.Error(), "when decompressed")) {
				t.Errorf("a bomb: %v", err)
			}
		}
		if got := p.list(t); !slices.Equal(got, []string{"m@2"}) {
			t.Error(got)
		}
	})
}

// age makes all blobs of uploads older.
func (p *place) age(t testing.TB, by time.Duration) {
	t.Helper()
	if p.s3 != nil {
		p.s3.Now = func() time.Time { return time.Now().Add(-by) }
		for _, key := range p.s3.Keyed("uploads/") {
			p.s3.Put(key, p.s3.Get(key))
		}
		p.s3.Now = nil
		return
	}
	for _, name := range p.leftovers(t) {
		old := time.Now().Add(-by)
		if err := os.Chtimes(filepath.Join(p.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// A list of parts that was read while another call published the upload and deleted them lacks
// some, and the file that says so.
func TestCompleteByTornList(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		s, data := begin(t, p, "m", 2)
		p.sendAll(t, s, data)
		r, list, err := p.kept(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		torn := slices.DeleteFunc(list, func(b blob) bool { return b.key == partKey(s.ID, 0) })
		sizes := slices.Repeat([]int64{-1}, len(torn))
		if err := p.complete(t.Context(), s.ID, torn, r, sizes); err == nil || !strings.Contains(err.Error(), "are missing: 0") {
			t.Errorf("of an upload in progress: %v", err)
		}
		if _, _, err := p.Complete(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		if err := p.complete(t.Context(), s.ID, torn, r, sizes); err != nil {
			t.Errorf("of a published upload: %v", err)
		}
	})
}

// Of concurrent completions one succeeds; the others must retry, and then get its result. A
// lock left by a crash expires.
func TestCompleteAtOnce(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		s, data := begin(t, p, "m", 2)
		p.sendAll(t, s, data)
		var group sync.WaitGroup
		var done atomic.Int64
		for range 4 {
			group.Go(func() {
				for {
					_, _, err := p.Complete(t.Context(), s.ID)
					e, ok := errors.AsType[*llm.Error](err)
					switch {
					case err == nil:
						done.Add(1)
						return
					case !ok || e.Code != llm.Overloaded || e.RetryAfter == 0:
						t.Error(err)
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		group.Wait()
		if got := p.list(t); done.Load() != 4 || !slices.Equal(got, []string{"m@2"}) {
			t.Errorf("%d, %v", done.Load(), got)
		}
		s, _ = begin(t, p, "m", 3)
		p.sendAll(t, s, data)
		if err := p.blobs.put(t.Context(), path.Join(s.ID, lockFile), strings.NewReader("dead"), 4, true); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.Complete(t.Context(), s.ID)
		p.same(t, err, llm.Overloaded, "id", "m@2")
		p.same(t, p.Part(t.Context(), s.ID, 0, bytes.NewReader(data[:500])), llm.Overloaded, "id", "m@2")
		p.age(t, lockLasts+time.Minute)
		if _, _, err := p.Complete(t.Context(), s.ID); err != nil || !slices.Equal(p.list(t), []string{"m@3"}) {
			t.Error(err, p.list(t))
		}
	})
}

// A part that is replaced during the completion does not mix with the old one.
func TestPartReplacedWhileCompleted(t *testing.T) {
	s3 := &buckettest.Store{}
	p := inBucket(t, s3)
	s, data := begin(t, p, "m", 2)
	p.sendAll(t, s, data)
	var once atomic.Bool
	s3.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" && strings.HasSuffix(r.URL.Path, "/00000") && !once.Swap(true) {
			s3.Put(strings.TrimPrefix(r.URL.Path, "/b/"), bytes.Repeat([]byte("x"), 500))
		}
		return false
	}
	_, _, err := p.Complete(t.Context(), s.ID)
	p.same(t, err, llm.Invalid, "id")
	if err := p.send(t, s, 0, data); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Complete(t.Context(), s.ID); err != nil || !slices.Equal(p.list(t), []string{"m@2"}) {
		t.Error(err)
	}
	d := open(t, t.TempDir())
	s, data = begin(t, d, "m", 2)
	d.sendAll(t, s, data)
	list, err := d.blobs.list(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	d.age(t, time.Minute) // another file has another time
	if j, err := d.join(list, s.ID, []int64{500}); err != nil {
		t.Error(err)
	} else if _, err := j.ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a part that was replaced is read")
	}
}

// A completion that dies after any of its requests succeeds when it is repeated.
func TestCompleteDies(t *testing.T) {
	for die := 1; ; die++ {
		s3 := &buckettest.Store{}
		p := inBucket(t, s3)
		put(t, p, upload(t, "m", 1))
		s, data := begin(t, p, "m", 2)
		p.sendAll(t, s, data)
		var asked atomic.Int64
		s3.Fault = func(w http.ResponseWriter, _ *http.Request) bool {
			if asked.Add(1) < int64(die) {
				return false
			}
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		_, _, err := p.Complete(t.Context(), s.ID)
		s3.Fault = nil
		if e, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || e.Code != llm.Upstream) {
			t.Errorf("dead at request %d: %v", die, err)
		}
		if got := p.list(t); !slices.Equal(got, []string{"m@1"}) && !slices.Equal(got, []string{"m@2"}) {
			t.Errorf("dead at request %d: %v", die, got)
		}
		p.age(t, lockLasts+time.Minute)
		if _, _, err := p.Complete(t.Context(), s.ID); err != nil || !slices.Equal(p.list(t), []string{"m@2"}) {
			t.Errorf("dead at request %d, and then: %v", die, err)
		}
		if asked.Load() < int64(die) {
			if die < 10 {
				t.Errorf("%d requests in all", die)
			}
			return
		}
	}
}

// Chunks name their upload themselves, arrive in any order and repeatedly, and their file
// may be compressed.
func TestChunks(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		for step, data := range map[int][]byte{1: golden(t), 2: zip(t, golden(t)), 3: golden(t)} {
			const size = 300
			total := (len(data) + size - 1) / size
			chunk := func(i int) error {
				part := data[i*size : min(len(data), (i+1)*size)]
				return p.Chunk(t.Context(), "run-7.x", i, total, bytes.NewReader(part))
			}
			u := upload(t, "m", step)
			for _, i := range append(rand.Perm(total)[1:], 0, 0) {
				if err := chunk(i); err != nil {
					t.Fatal(err)
				}
			}
			for i := range total {
				if err := chunk(i); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := p.Assemble(t.Context(), "run-7.x", total, u); err != nil {
					t.Fatal(err)
				}
			}
			for _, other := range []Upload{upload(t, "other", step), upload(t, "m", step+1)} { // other uploads than the one made of these chunks
				p.same(t, p.Assemble(t.Context(), "run-7.x", total, other), llm.Invalid, "uploadId", fmt.Sprintf("m@%d", step))
			}
			if got := p.list(t); !slices.Equal(got, []string{fmt.Sprintf("m@%d", step)}) {
				t.Error(got)
			}
		}
		if got := p.leftovers(t); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
	})
}

func TestChunksRefused(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		data := golden(t)
		chunk := func(id string, i, total int) error {
			return p.Chunk(t.Context(), id, i, total, bytes.NewReader(data[i*100:i*100+100]))
		}
		for _, id := range []string{"", "..", "a/b", "../../x", ".x", "a\x00", strings.Repeat("a", 129)} {
			p.expect(t, chunk(id, 0, 1), llm.Invalid, "uploadId")
			p.expect(t, p.Assemble(t.Context(), id, 1, upload(t, "m", 1)), llm.Invalid, "uploadId")
		}
		p.expect(t, chunk("x", 1, 1), llm.Invalid, "chunkIndex")
		p.expect(t, chunk("x", 0, 0), llm.Invalid, "totalChunks")
		p.expect(t, chunk("x", 0, maxChunks+1), llm.Invalid, "totalChunks")
		p.expect(t, p.Assemble(t.Context(), "x", 1, upload(t, "m", 1)), llm.NotFound, "uploadId")
		for _, i := range []int{0, 1, 3} {
			if err := chunk("x", i, 4); err != nil {
				t.Fatal(err)
			}
		}
		for total, param := range map[int]string{0: "totalChunks", 1: "totalChunks", 3: "totalChunks", 4: "parts", 5: "parts"} {
			p.same(t, p.Assemble(t.Context(), "x", total, upload(t, "m", 1)), llm.Invalid, param)
		}
		if err := chunk("x", 2, 4); err != nil {
			t.Fatal(err)
		}
		p.same(t, p.Assemble(t.Context(), "x", 4, upload(t, "m", 1)), llm.Invalid, "checkpoint") // a short file
	})
}

// More parts than a listing may have are rejected at the beginning, and the description
// of an upload is never longer than can be read again.
func TestSessionBounds(t *testing.T) {
	s3 := &buckettest.Store{}
	p := inBucket(t, s3)
	for i := range maxBlobs - 1 {
		s3.Put(fmt.Sprintf("uploads/chunks-%d/%05d", i/maxChunks, i%maxChunks), nil)
	}
	for i, code := range []llm.Code{"", llm.Overloaded} {
		err := p.Chunk(t.Context(), "x", i, 3, strings.NewReader("x"))
		if e, ok := errors.AsType[*llm.Error](err); ok != (code != "") || ok && e.Code != code {
			t.Errorf("chunk %d: %v", i, err)
		}
	}
	d := open(t, t.TempDir())
	u := upload(t, "m", 1)
	u.TrainingData = strings.Repeat("\x01", maxRecord/6) // six bytes each in JSON
	_, err := d.Begin(t.Context(), u, 0, "")
	d.expect(t, err, llm.Invalid, "trainingData")
}

// A request for an upload that is completed at the same moment gets the result.
func TestSessionAsItEnds(t *testing.T) {
	s3 := &buckettest.Store{}
	p := inBucket(t, s3)
	s, _ := begin(t, p, "m", 2)
	key := "uploads/" + s.ID + "/"
	s3.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/b/"+key+recordFile && s3.Get(key+recordFile) != nil {
			s3.Put(key+doneFile, s3.Get(key+recordFile))
			s3.Delete(key + recordFile)
		}
		return false
	}
	if now, err := p.Session(t.Context(), s.ID); err != nil || !now.Done {
		t.Errorf("%+v %v", now, err)
	}
	s3.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/b/"+key+doneFile {
			s3.Delete(key + doneFile)
		}
		return false
	}
	other := inBucket(t, s3) // it has not read the record yet
	_, err := other.Session(t.Context(), s.ID)
	other.expect(t, err, llm.NotFound, "id")
}
