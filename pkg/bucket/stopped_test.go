package bucket_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/bucket"
)

// A doer answers after a time, whatever the context, like a process that is stopped
// meanwhile.
type doer struct {
	after []time.Duration // by request; after the last one the store answers at once
	asked int
}

func (d *doer) Do(r *http.Request) (*http.Response, error) {
	d.asked++
	if d.asked <= len(d.after) {
		time.Sleep(d.after[d.asked-1])
		return nil, errors.New("the connection is gone")
	}
	const page = `<ListBucketResult><Contents><Key>m</Key><ETag>"1"</ETag><Size>3</Size></Contents></ListBucketResult>`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), Request: r}, nil
}

// A listing during which the process was stopped is repeated; one that only took too long
// is not.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		after []time.Duration
		ok    bool
	}{{nil, true}, {[]time.Duration{time.Hour}, true}, {[]time.Duration{5500 * time.Millisecond}, false}, {[]time.Duration{time.Hour, time.Hour}, false}} {
		synctest.Test(t, func(t *testing.T) {
			f := bucket.New(bucket.Config{Bucket: "models", Endpoint: "http://s3", HTTP: &doer{after: c.after}})
			if err := f.Refresh(t.Context()); (err == nil) != c.ok {
				t.Errorf("%v: %v", c.after, err)
			}
		})
	}
}
