package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// layouts returns everything that may have the name m in a bucket, with the key that
// replaces a packed model.
func layouts(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile("../engine/arch/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	run := map[string][]byte{"m/config.json": []byte(config), "m/checkpoint-1.json": golden(t), "m/metrics.jsonl": []byte("{}")}
	crashed := map[string][]byte{"m/" + PackName: packOf(t)} // after the packed model was stored
	for key, data := range run {
		crashed[key] = data
	}
	return map[string]map[string][]byte{
		"nothing":            {},
		"a run":              run,
		"a crash":            crashed,
		"Hugging Face's":     {"m/config.json": read("gpt2/config.json"), "m/model.safetensors": read("gpt2/model.safetensors"), "m/tokenizer.json": read("gpt2/tokenizer.json")},
		"GGUF":               {"m/x.gguf": ggufOf(t)},
		"a packed one":       {"m/other.safetensors": packOf(t)},
		"a packed one above": {"m.safetensors": packOf(t)},
		"two packed ones":    {"m/a.safetensors": packOf(t), "m/b.safetensors": packOf(t)},
	}
}

// A model of the files that training wrote has another form, until Put replaces it.
func TestHasOther(t *testing.T) {
	s3 := &buckettest.Store{}
	s3.Put("checkpoints/run/config.json", []byte(config))
	s3.Put("checkpoints/run/checkpoint-1.json", golden(t))
	dir := open(t, t.TempDir())
	putRun(t, dir.dir, "run")
	for what, p := range map[string]*place{"directory": dir, "bucket": inBucket(t, s3)} {
		put(t, p, upload(t, "packed", 2))
		for name, want := range map[string]bool{"run": true, "packed": false, "none": false} {
			if other, err := p.HasOther(t.Context(), name); other != want || err != nil {
				t.Errorf("%s: %s: %v, %v", what, name, other, err)
			}
		}
		put(t, p, upload(t, "run", 2))
		if other, err := p.HasOther(t.Context(), "run"); other || err != nil {
			t.Errorf("%s: replaced: %v, %v", what, other, err)
		}
	}
}

// Anything with the name in a bucket is replaced completely. A reader between two requests
// finds the old model or the new one; a process that dies there leaves one of them, which
// the next upload replaces.
func TestReplaceInBucket(t *testing.T) {
	for name, objects := range layouts(t) {
		t.Run(name, func(t *testing.T) {
			for die := 0; ; die++ { // after this many write requests; 0: never
				s3 := &buckettest.Store{}
				for key, data := range objects {
					s3.Put("checkpoints/"+key, data)
				}
				s3.Put("checkpoints/m2/"+PackName, packOf(t)) // another model
				p := inBucket(t, s3)
				was := []string{}
				if name != "two packed ones" {
					was = p.list(t)
				}
				var writes atomic.Int64
				died := false
				s3.Fault = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPut && r.Method != http.MethodDelete || die == 0 {
						return false
					}
					if writes.Add(1) >= int64(die) {
						died = true
						buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
						return true
					}
					return false
				}
				err := p.Put(t.Context(), upload(t, "m", 2))
				s3.Fault = nil
				now := []string{"m2@-1", "m@2"}
				if die == 0 || !died {
					if got := p.list(t); err != nil || !slices.Equal(got, now) || len(s3.Keyed("checkpoints/m")) != 2 {
						t.Fatalf("%v: %v %v", err, got, s3.Keyed(""))
					}
					if die > 0 {
						return
					}
					continue
				}
				if name != "two packed ones" {
					if got := p.list(t); !slices.Equal(got, now) && !slices.Equal(got, was) {
						t.Errorf("dead at write %d: %v, %v", die, got, s3.Keyed(""))
					}
				}
				p.same(t, err, llm.Upstream, "", p.list(t)...)
				put(t, p, upload(t, "m", 3))
				if got := p.list(t); !slices.Equal(got, []string{"m2@-1", "m@3"}) || len(s3.Keyed("checkpoints/m")) != 2 {
					t.Errorf("dead at write %d, and then: %v, %v", die, got, s3.Keyed(""))
				}
			}
		})
	}
}

// Delete removes models of any kind, and nothing else.
func TestDeleteInBucket(t *testing.T) {
	for name, objects := range layouts(t) {
		s3 := &buckettest.Store{}
		for key, data := range objects {
			s3.Put("checkpoints/"+key, data)
		}
		s3.Put("checkpoints/m2/"+PackName, packOf(t))
		p := inBucket(t, s3)
		err := p.Delete(t.Context(), "m")
		if name == "nothing" {
			p.expect(t, err, llm.NotFound, "name", "m2@-1")
		} else if got := p.list(t); err != nil || !slices.Equal(got, []string{"m2@-1"}) || len(s3.Keyed("")) != 1 {
			t.Errorf("%s: %v %v", name, err, s3.Keyed(""))
		}
	}
	for _, key := range []string{"photos/cat.jpg", "photos/m/config.json", "photos/m/packed.safetensors", "photos/a/b/x.gguf"} {
		s3 := &buckettest.Store{}
		s3.Put("checkpoints/"+key, []byte("cat"))
		p := inBucket(t, s3)
		p.expect(t, p.Put(t.Context(), upload(t, "photos", 1)), llm.Invalid, "name")
		p.expect(t, p.Delete(t.Context(), "photos"), llm.Invalid, "name")
		if string(s3.Get("checkpoints/"+key)) != "cat" {
			t.Errorf("%s, which is no model, was deleted or replaced", key)
		}
	}
}

// Of concurrent uploads of one name in several processes one wins completely, and readers
// always see a whole model.
func TestTwoProcesses(t *testing.T) {
	s3 := &buckettest.Store{}
	put(t, inBucket(t, s3), upload(t, "m", 0))
	var group sync.WaitGroup
	for i := range 3 {
		p := inBucket(t, s3)
		group.Go(func() {
			for k := range 5 {
				u := upload(t, "m", 1+i*5+k)
				u.Metrics = fmt.Sprintf(`{"loss":%d}`, u.Step) + strings.Repeat("\n", u.Step)
				if err := p.Put(t.Context(), u); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for range 20 {
			data := s3.Get("checkpoints/m/" + PackName)
			if _, err := arch.Describe(fstest.MapFS{"m.safetensors": {Data: data}}, "m.safetensors"); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if keys := s3.Keyed(""); !slices.Equal(keys, []string{"checkpoints/m/" + PackName}) {
		t.Error(keys)
	}
}

// An error of the store is reported in words, and leaves the model.
func TestBucketRefuses(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		want   llm.Code
		says   string
	}{
		"AccessDenied": {403, llm.Upstream, "S3 denied this server permission to store models (403 AccessDenied)"},
		"NoSuchBucket": {404, llm.Upstream, "S3 rejected the model (404 NoSuchBucket)"},
		"ExpiredToken": {400, llm.Upstream, "S3 rejected the model (400 ExpiredToken)"},
		"SlowDown":     {503, llm.Unavailable, "S3 is not accepting data now (503 SlowDown)"},
		"BadDigest":    {400, llm.Upstream, "S3 rejected the model (400 BadDigest)"},
	} {
		s3 := &buckettest.Store{}
		p := inBucket(t, s3)
		put(t, p, upload(t, "m", 1))
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			s3.Fault = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != method {
					return false
				}
				buckettest.Refuse(w, c.status, code)
				return true
			}
			err := p.Put(t.Context(), upload(t, "m", 2))
			s3.Fault = nil
			p.expect(t, err, c.want, "", "m@1")
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, fs.ErrExist) {
				t.Errorf("%v, want %s", err, c.says)
			}
		}
	}
}
