package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A stream ends when it was silent for the limit, from its beginning or since a write.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		waits []time.Duration // before each write
		ends  time.Duration   // 0: never
	}{
		{[]time.Duration{4 * time.Minute, 4 * time.Minute, 4 * time.Minute}, 0},
		{[]time.Duration{6 * time.Minute}, 5 * time.Minute},
		{[]time.Duration{4 * time.Minute, 6 * time.Minute}, 9 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, ended := time.Now(), time.Duration(0)
			limitSilence(t.Context(), httptest.NewRecorder(), silenceLimit([]any{"REGIONAL"}), func(ctx context.Context, w http.ResponseWriter) {
				for _, wait := range test.waits {
					select {
					case <-time.After(wait):
						_, _ = w.Write([]byte(" ")) // into memory
					case <-ctx.Done():
						if context.Cause(ctx) != errSilent {
							t.Error(context.Cause(ctx))
						}
						ended = time.Since(begun)
						return
					}
				}
			})
			if ended != test.ends {
				t.Errorf("%v: ended after %v, want %v", test.waits, ended, test.ends)
			}
		})
	}
}
