package functions_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"glossa/pkg/app"
)

// maxZip is the maximum size of a function's zip file in bytes.
const maxZip = 9_000_000

// counter counts the bytes written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// zipped returns the size of a binary's deployed zip file. The one for arm64 is a tenth
// smaller than the one for amd64.
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

// All functions link the same packages, including the AWS clients. This test measures one
// of them, `make bench-start` each.
func TestZip(t *testing.T) {
	if n := zipped(t, build(t, app.Families()[0])); n > maxZip {
		t.Errorf("the zip has %d bytes, at most %d are allowed", n, maxZip)
	} else {
		t.Logf("%d bytes", n)
	}
}

// A deployed function reports the version that its build linked, and the Makefile links the
// same variable.
func TestVersion(t *testing.T) {
	w := httptest.NewRecorder()
	start(t, build(t, app.Families()[0]), golden(t)).FunctionURL(true).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/version", nil))
	fields := strings.Fields(stamp)
	want := `{"version":"` + fields[0] + `","revision":"` + fields[1] + `","go":"` + runtime.Version() + `"}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("%d %s, want %s", w.Code, got, want)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil || !strings.Contains(string(makefile), "-X '$$module/pkg/version.stamp=$$stamp'") {
		t.Errorf("make build links no stamp, %v", err)
	}
}

// The same source gives the same bytes in every directory, so that an unchanged
// deployment does not create a new version.
func TestReproducible(t *testing.T) {
	family, copied := app.Families()[0], t.TempDir()
	for _, dir := range []string{"pkg", "schemas", "functions/" + family} {
		if err := os.CopyFS(filepath.Join(copied, dir), os.DirFS("../"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile("../" + file)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, file), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.ReadFile(build(t, family))
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadFile(buildFor(t, filepath.Join(copied, "functions"), family, runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(here, there) {
		t.Errorf("the same source gives two different programs of %d and %d bytes", len(here), len(there))
	}
}
