package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"glossa/pkg/engine/sealed"
)

// What a request has left is written although its client has gone.
func TestSettledWithoutClient(t *testing.T) {
	store, err := sealed.OpenDirectory(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		a, computed, kept, ended := &App{archived: sealed.NewArchive(store, func(err error) { t.Error(err) })}, make(chan bool), false, false
		h := a.settled(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			data := func() ([]byte, error) { <-computed; return []byte("data"), nil }
			a.archived.Keep(sealed.Block{Chain: sealed.Begin("m"), Kind: "all"}, data, func(ok bool) { kept = ok })
		}))
		ctx, leave := context.WithCancel(t.Context())
		leave()
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			ended = kept
		}()
		synctest.Wait()
		close(computed)
		synctest.Wait()
		if !ended {
			t.Error("the function ended before what it left was written")
		}
	})
}
