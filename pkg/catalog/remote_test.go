package catalog

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// partial is a backend whose weights may fail to load.
type partial struct {
	llm.Backend
	lost atomic.Bool
}

func (p *partial) Failed() error {
	if p.lost.Load() {
		return errors.New("lost")
	}
	return nil
}

// A model with weights that failed to load is opened again, after a pause.
func TestPartlyReadModelIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, opened := &disk{}, []*partial{}
		d.put("a/weights", "a", 1)
		c := catalogOf(&loader{open: func() (llm.Backend, error) {
			opened = append(opened, &partial{})
			return opened[len(opened)-1], nil
		}}, nil, Root{Name: "root", FS: d})
		for i, want := range []int{1, 1, 2, 2} {
			use(t, c, "a")()
			if len(opened) != want {
				t.Errorf("look %d: opened %d times, want %d", i, len(opened), want)
			}
			if i == 0 {
				opened[0].lost.Store(true)
			} else {
				time.Sleep(DefaultTTL + time.Second)
			}
		}
	})
}

// Records name models in S3 by URL; an unavailable model is a problem of its record only,
// reported to clients in words for them.
func TestRemoteCheckpoints(t *testing.T) {
	d := &disk{}
	d.put("run/weights", "far", 1)
	f := Files{fstest.MapFS{
		"a.json": {Data: []byte(`{"pk":"models","sk":"local-far","schema":{"checkpoint":"s3://b/p/run/"}}`)},
		"b.json": {Data: []byte(`{"pk":"models","sk":"local-shut","schema":{"checkpoint":"s3://b/shut"}}`)},
		"c.json": {Data: []byte(`{"pk":"models","sk":"local-none","schema":{"checkpoint":"s3://b/none"}}`)},
	}}
	c := catalogOf(&loader{locate: func(url string) (fs.FS, error) {
		switch url {
		case "s3://b/p/run/":
			return d, nil
		case "s3://b/shut":
			return nil, &llm.Error{Code: llm.Upstream, Message: "the door is shut"}
		}
		return fstest.MapFS{}, nil
	}}, f)
	if got := say(t, c, "far"); got != "far" {
		t.Errorf("got %q", got)
	}
	entries, problems := c.Entries(t.Context())
	if len(entries) != 1 || entries[0].Run.Source != "s3://b/p" || len(problems) != 2 {
		t.Errorf("%+v, %v", entries, problems)
	}
	for name, code := range map[string]llm.Code{"shut": llm.Upstream, "none": llm.NotFound} {
		if _, err := c.Open(t.Context(), name); llm.AsError(err).Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
