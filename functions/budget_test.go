package functions_test

import (
	"archive/zip"
	"compress/flate"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"glossa/pkg/app"
)

// maxZip is what a function may take as it is deployed, bytes.
const maxZip = 8_000_000

// counter counts what is written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// zipped returns the size of the zip that a binary is deployed as. That for arm64 is
// smaller than the one for amd64 by a tenth.
func zipped(t testing.TB, binary string) int {
	t.Helper()
	var size counter
	archive := zip.NewWriter(&size)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	file, err := os.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entry, err := archive.Create("bootstrap")
	if err == nil {
		_, err = io.Copy(entry, file)
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(size)
}

// All functions link the same packages, the clients of AWS too: one is measured.
func TestZip(t *testing.T) {
	if n := zipped(t, build(t, app.Families()[0])); n > maxZip {
		t.Errorf("the zip has %d bytes, at most %d are allowed", n, maxZip)
	} else {
		t.Logf("%d bytes", n)
	}
}

// BenchmarkStart is the time from the start of a process to its first question for an
// invocation, as each cold start of Lambda has it: 25 ms at most without a model.
func BenchmarkStart(b *testing.B) {
	binary := build(b, app.Families()[0])
	asked, stop := make(chan time.Time, 1), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- time.Now()
		<-stop // there is no invocation
	}))
	defer api.Close()
	defer close(stop)
	var total time.Duration
	for b.Loop() {
		f := exec.CommandContext(b.Context(), binary)
		f.Env = []string{
			"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=f", "_HANDLER=bootstrap",
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "GLOSSA_OPEN=true",
		}
		begun := time.Now()
		if err := f.Start(); err != nil {
			b.Fatal(err)
		}
		total += (<-asked).Sub(begun)
		_ = f.Process.Kill()
		_ = f.Wait() // it was killed
	}
	b.ReportMetric(float64(total.Microseconds())/1e3/float64(b.N), "ms/start")
}
