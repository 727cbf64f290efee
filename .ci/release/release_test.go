package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// program is a command that has what a release needs of glossa.
const program = `package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	switch build, _ := debug.ReadBuildInfo(); os.Args[1] {
	case "completion":
		fmt.Println("complete", os.Args[2])
	case "man":
		if os.Mkdir(os.Args[2], 0o755) != nil || os.WriteFile(os.Args[2]+"/glossa.1", []byte("page"), 0o644) != nil {
			os.Exit(1)
		}
	case "version":
		fmt.Println(build.Main.Version, build.Settings)
	}
}
`

// repository makes a repository with one commit.
func repository(t *testing.T) *release {
	t.Helper()
	r := &release{root: t.TempDir(), out: filepath.Join(t.TempDir(), "out"), platforms: []string{runtime.GOOS + "/" + runtime.GOARCH, "windows/amd64"}, gotool: "go", log: t.Output()}
	for name, content := range map[string]string{
		"go.mod": "module example.com/glossa\n\ngo 1.26.0\n", "functions/glossa/main.go": program, "LICENSE": "free", "README.md": "read",
		changelog:  "# Changelog\n\n## Unreleased\n\n## v1.2.3 - 2026-11-22\n\n* First.\n\n## v1.2.2\n\n## v1.2.1\n\n* Older.\n",
		"Makefile": "build:\n\t$(GO) build -trimpath -buildvcs=false -o dist/arm64/alpha/bootstrap ./functions/glossa\n",
	} {
		write(t, r, name, content)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("..", "sbom", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, r, ".ci/sbom/"+name, string(content))
	}
	git(t, r, "init", "--quiet")
	commit(t, r)
	return r
}

func write(t *testing.T, r *release, name, content string) {
	t.Helper()
	path := filepath.Join(r.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, r *release, args ...string) string {
	t.Helper()
	out, err := r.git(t.Context(), append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commit(t *testing.T, r *release) string {
	t.Helper()
	git(t, r, "add", "--all")
	git(t, r, "commit", "--quiet", "--message", "c", "--date", "2026-11-22T10:00:00Z")
	return git(t, r, "rev-parse", "HEAD")
}

func TestRefusals(t *testing.T) {
	r := repository(t)
	for version, want := range map[string]string{
		"": "must be vMAJOR", "1.2.3": "must be vMAJOR", "v1.2": "must be vMAJOR", "v1.2.3+linux": "must be vMAJOR", "v1.2.3 ": "must be vMAJOR",
		"v2.0.0": "module path", "v1.2.4": "no section", "v1.2.2": "is empty",
	} {
		if err := r.build(t.Context(), version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", version, err, want)
		}
	}
	git(t, r, "tag", "v1.2.1")
	write(t, r, "README.md", "changed")
	if err := r.build(t.Context(), "v1.2.3"); err == nil || !strings.Contains(err.Error(), "has changes") {
		t.Errorf("a changed file: %v", err)
	}
	commit(t, r)
	write(t, r, "new", "")
	if err := r.build(t.Context(), "v1.2.3"); err == nil || !strings.Contains(err.Error(), "?? new") {
		t.Errorf("an untracked file: %v", err)
	}
	commit(t, r)
	if err := r.build(t.Context(), "v1.2.1"); err == nil || !strings.Contains(err.Error(), "not of the current one") {
		t.Errorf("the tag of another commit: %v", err)
	}
	if _, err := os.Stat(r.out); !os.IsNotExist(err) {
		t.Error("a refused release wrote files")
	}
}

// entries returns the names in an archive and the modes of the programs.
func entries(t *testing.T, path string) (names []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			names = append(names, f.Mode().String()+" "+f.Name)
		}
		return names
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.FileInfo().Mode().String()+" "+h.Name)
	}
}

// A release has all files, and two builds of a commit, in two directories, are equal.
func TestBuild(t *testing.T) {
	r := repository(t)
	if err := r.build(t.Context(), "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	host := "glossa_v1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	first, err := digests(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range first {
		names = append(names, s.Name)
	}
	want := []string{
		"NOTES.md", sums, "glossa-function-alpha_v1.2.3_arm64.cdx.json", "glossa-function-alpha_v1.2.3_arm64.zip",
		host + ".cdx.json", host + ".tar.gz", "glossa_v1.2.3_windows_amd64.cdx.json", "glossa_v1.2.3_windows_amd64.zip", provenance,
	}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	var list []string
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md", "completions/_glossa", "completions/glossa.bash", "completions/glossa.fish", "completions/glossa.ps1", "glossa", "man/glossa.1"} {
		mode := "-rw-r--r-- "
		if name == "glossa" {
			mode = "-rwxr-xr-x "
		}
		list = append(list, mode+host+"/"+name)
	}
	if got := entries(t, filepath.Join(r.out, host+".tar.gz")); !slices.Equal(got, list) {
		t.Errorf("%q, want %q", got, list)
	}
	if got := entries(t, filepath.Join(r.out, "glossa_v1.2.3_windows_amd64.zip")); !slices.Contains(got, "-rwxr-xr-x glossa_v1.2.3_windows_amd64/glossa.exe") || len(got) != len(list) {
		t.Errorf("%q", got)
	}
	if got := entries(t, filepath.Join(r.out, "glossa-function-alpha_v1.2.3_arm64.zip")); !slices.Equal(got, []string{"-rwxr-xr-x bootstrap"}) {
		t.Errorf("%q", got)
	}
	r.expectStatement(t, first)

	other := *r
	other.root, other.out = filepath.Join(t.TempDir(), "clone"), filepath.Join(t.TempDir(), "out")
	git(t, r, "clone", "--quiet", ".", other.root)
	git(t, &other, "remote", "remove", "origin")
	if err := other.build(t.Context(), "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	second, err := digests(other.out)
	if differ := differences(first, second); err != nil || len(differ) > 0 {
		t.Errorf("two builds differ in %q, %v", differ, err)
	}
}

// expectStatement checks the notes, the sums and the provenance of a release.
func (r *release) expectStatement(t *testing.T, built []subject) {
	t.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if got := string(read("NOTES.md")); got != "* First.\n" {
		t.Errorf("notes %q", got)
	}
	var statement struct {
		Subject   []subject
		Predicate struct {
			BuildDefinition struct{ ResolvedDependencies []subject }
		}
	}
	if err := json.Unmarshal(read(provenance), &statement); err != nil {
		t.Fatal(err)
	}
	lines := string(read(sums))
	for _, s := range built {
		own := s.Name == sums || s.Name == provenance || s.Name == "NOTES.md"
		if strings.Contains(lines, s.Digest["sha256"]+"  "+s.Name+"\n") == own {
			t.Errorf("%s and %s: %q", sums, s.Name, lines)
		}
		if slices.ContainsFunc(statement.Subject, func(o subject) bool { return o.Name == s.Name && o.Digest["sha256"] == s.Digest["sha256"] }) == own {
			t.Errorf("%s and %s: %+v", provenance, s.Name, statement.Subject)
		}
	}
	if d := statement.Predicate.BuildDefinition.ResolvedDependencies; len(d) < 1 || d[0].Digest["gitCommit"] != git(t, r, "rev-parse", "HEAD") {
		t.Errorf("dependencies %+v", d)
	}
	var materials struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
	}
	name := "glossa_v1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".cdx.json"
	if err := json.Unmarshal(read(name), &materials); err != nil || materials.Metadata.Component.Name != "example.com/glossa" || materials.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%s: %+v, %v", name, materials, err)
	}
}

// Commits that do not change the functions' sources do not change their stamp.
func TestStamp(t *testing.T) {
	r := repository(t)
	stamp := func() []string {
		t.Helper()
		s, err := r.stamp(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(s)
	}
	first := git(t, r, "rev-parse", "HEAD")
	before := stamp()
	if len(before) != 3 || !strings.HasPrefix(before[0], "v0.0.0-") || !strings.HasSuffix(before[0], "-"+first[:12]) || before[1] != first {
		t.Fatalf("%q of the commit %s", before, first)
	}
	if _, err := time.Parse(time.RFC3339, before[2]); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"README.md", "pkg/x/README.md", "pkg/x/x_test.go", "pkg/x/testdata/x.go", "functions/glossa/main.go", "infra/x.go"} {
		write(t, r, name, "package main // changed")
		if got := stamp(); !slices.Equal(got, before) {
			t.Errorf("a change of %s makes it %q", name, got)
		}
		commit(t, r)
		if got := stamp(); !slices.Equal(got, before) {
			t.Errorf("a commit of %s makes it %q", name, got)
		}
	}
	tagged := git(t, r, "rev-parse", "HEAD")
	for _, tag := range []string{"v1.2.9", "v1.2.10", "v2.0.0", "v3", "x"} {
		git(t, r, "tag", tag)
	}
	if got := stamp(); got[0] != "v1.2.10" || got[1] != tagged {
		t.Errorf("a tag of %s makes it %q", tagged, got)
	}
	for _, name := range []string{"go.mod", "pkg/x/x.go", "functions/alpha/main.go", "schemas/x.json"} {
		old := stamp()
		write(t, r, name, "module example.com/glossa\n\n// changed\n")
		if got := stamp(); got[0] != old[0]+"+dirty" {
			t.Errorf("a change of %s makes it %q", name, got)
		}
		last := commit(t, r)
		if got := stamp(); !strings.HasPrefix(got[0], "v1.2.11-0.") || got[1] != last {
			t.Errorf("a commit of %s makes it %q", name, got)
		}
	}
	r.root = t.TempDir()
	if s, err := r.stamp(t.Context()); s != "" || err != nil {
		t.Errorf("without a repository: %q, %v", s, err)
	}
}
