package functions_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/host/runtimeapi"
)

// A function asks for its first invocation while it still lists the models in S3. The
// request waits for the listing and is then answered.
func TestStartsBeforeS3(t *testing.T) {
	const model = "../pkg/engine/arch/testdata/gpt2/"
	s := &buckettest.Store{}
	files, err := os.ReadDir(model)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(model + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		s.Put("checkpoints/gpt2/"+f.Name(), data)
	}
	listed, release := make(chan struct{}, 10), make(chan struct{})
	s.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("list-type") {
			listed <- struct{}{}
			<-release
		}
		return false
	}
	store := httptest.NewServer(s)
	t.Cleanup(store.Close)
	f, err := runtimeapi.Start(t.Context(), runtimeapi.Options{
		Binary: build(t, "textsynth"), Timeout: time.Minute, InitTimeout: 4 * time.Second, MemoryMB: 512, Stderr: t.Output(),
		Env: []string{"GLOSSA_OPEN=true", "GLOSSA_CHECKPOINTS=s3://models/checkpoints", "AWS_ENDPOINT_URL_S3=" + store.URL},
	})
	if err != nil {
		close(release)
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	<-listed // without any request
	close(release)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/engines/gpt2/logprob", strings.NewReader(`{"context":"the hen","continuation":" and"}`))
	w := httptest.NewRecorder()
	f.FunctionURL(false).ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"logprob"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
