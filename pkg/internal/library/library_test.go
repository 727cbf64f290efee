// Package library_test checks that programs in other modules can use the packages under pkg.
package library_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's.
const root = "../../.."

// An outside is a module that requires this one.
type outside struct{ dir string }

// module returns the name of this module and the rest of its go.mod.
func module(t *testing.T) (name, rest string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(file), "\n")
	name, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins with %q", first)
	}
	return name, rest
}

// newOutside makes a module with the same dependencies as this one, so that the go command
// needs no network.
func newOutside(t *testing.T) outside {
	t.Helper()
	name, rest := module(t)
	full, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	o := outside{t.TempDir()}
	o.write(t, "go.mod", fmt.Appendf(nil, "module example.com/outside\n%s\nrequire %s v0.0.0\n\nreplace %[2]s => %q\n", rest, name, full))
	o.write(t, "go.sum", sums)
	return o
}

func (o outside) write(t *testing.T, name string, content []byte) {
	t.Helper()
	name = filepath.Join(o.dir, name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the go command in the module and returns its output.
func (o outside) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The examples compile in another module, so they need no internal package and no helper of
// a test.
func TestExamples(t *testing.T) {
	o := newOutside(t)
	var documented []string
	pkg := os.DirFS(filepath.Join(root, "pkg"))
	err := fs.WalkDir(pkg, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && base == "testdata":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(pkg, name) // all of them: go test caches by the files that a test reads
		if err == nil && strings.HasPrefix(base, "example") && strings.HasSuffix(base, "_test.go") {
			o.write(t, strings.TrimSuffix(name, "_test.go")+".go", source)
			documented = append(documented, path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llm", "engine", "grammar", "tokenizer", "tokenizer/hf", "tokenizer/sentencepiece", "tokenizer/gguf"} {
		if !slices.Contains(documented, name) {
			t.Errorf("package %s has no examples", name)
		}
	}
	o.run(t, "build", "./...")
}

// block matches a block of code.
var block = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// The programs in README.md print what it says.
func TestReadme(t *testing.T) {
	o := newOutside(t)
	text, err := os.ReadFile(filepath.Join(root, "pkg", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := filepath.Abs(filepath.Join(root, "pkg/tokenizer/hf/testdata/gpt2.tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	blocks := block.FindAllStringSubmatch(string(text), -1)
	for i, b := range blocks {
		if b[1] != "go" {
			continue
		}
		if i+1 == len(blocks) || blocks[i+1][1] != "text" {
			t.Fatalf("no output follows program %d", programs+1)
		}
		programs++
		dir := fmt.Sprintf("program%d", programs)
		o.write(t, dir+"/main.go", []byte(b[2]))
		if got, want := o.run(t, "run", "./"+dir, tokenizer), blocks[i+1][2]; strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("program %d prints\n%s\nbut README.md says\n%s", programs, got, want)
		}
	}
	if programs != 2 {
		t.Errorf("%d programs", programs)
	}
}
