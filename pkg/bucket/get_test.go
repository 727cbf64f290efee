package bucket_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"

	"glossa/pkg/bucket"
	"glossa/pkg/bucket/buckettest"
)

// Get returns any range of an object, whatever its size, and errors for missing and replaced
// objects.
func TestGet(t *testing.T) {
	s := &buckettest.Store{}
	b := signed(t, s)
	objects := map[string][]byte{"empty": nil, "small": noise(100), "chunk": noise(1 << 20), "large": noise(11 << 20), "error": []byte("<Error><Code>InternalError</Code></Error>")}
	for key, data := range objects {
		s.Put("some/prefix/"+key, data)
		for _, r := range [][2]int64{{0, -1}, {0, 0}, {0, 1}, {1, 98}, {99, 10}, {7, -1}, {1 << 20, 5}, {3 << 20, 6 << 20}, {20 << 20, 1}} {
			want := data[min(r[0], int64(len(data))):]
			if r[1] >= 0 {
				want = want[:min(r[1], int64(len(want)))]
			}
			body, err := b.Get(t.Context(), key, r[0], r[1])
			if err != nil {
				t.Fatalf("%s %v: %v", key, r, err)
			}
			got, err := io.ReadAll(body)
			if err != nil || !bytes.Equal(got, want) || body.Close() != nil {
				t.Errorf("%s %v: %d bytes, want %d; %v", key, r, len(got), len(want), err)
			}
		}
	}
	if _, err := b.Get(t.Context(), "none", 0, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	s.Asked()
	body, err := b.Get(t.Context(), "small", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); err != nil {
		t.Error(err)
	}
	if asked := s.Asked(); len(asked) != 1 {
		t.Errorf("a small object took the requests %q", asked)
	}
	body, err = b.Get(t.Context(), "large", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	s.Put("some/prefix/large", noise(12<<20))
	if _, err := io.ReadAll(body); !errors.Is(err, bucket.ErrReplaced) {
		t.Errorf("replaced: %v", err)
	}
}
