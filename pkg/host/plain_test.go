package host

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// trickle is the writer of a connection whose client takes rate bytes a second.
type trickle struct {
	http.ResponseWriter
	rate     float64
	deadline time.Time
}

func (c *trickle) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(float64(len(p)) / c.rate * float64(time.Second)))
	if time.Now().After(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func (c *trickle) FlushError() error                  { return nil }
func (c *trickle) SetWriteDeadline(t time.Time) error { c.deadline = t; return nil }

// TestServeTrickle checks that a client that takes less than a kilobyte a second is disconnected, though it never stops
// reading; one that takes more, or that waits for the handler, is not.
func TestServeTrickle(t *testing.T) {
	for _, test := range []struct {
		rate  float64       // bytes a second
		pause time.Duration // of the handler
		cut   bool
	}{
		{10, 0, true},
		{minRate * 0.8, 0, true},
		{minRate * 1.2, 0, false},
		{minRate * 1.2, time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var err error
			recovered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 10_000 {
					if _, err = w.Write(make([]byte, 200)); err != nil {
						return
					}
					_ = http.NewResponseController(w).Flush()
					time.Sleep(test.pause)
				}
			}), Config{}).ServeHTTP(&trickle{rate: test.rate}, httptest.NewRequest("GET", "/", nil))
			if (err != nil) != test.cut || test.cut && time.Since(began) > 10*time.Minute {
				t.Errorf("%v bytes a second: %v after %v", test.rate, err, time.Since(began))
			}
		})
	}
}
