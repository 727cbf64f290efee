package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	example = "github.com/example/glossa"
	version = "v0.0.1"
)

// try renames a copy of the repository's files, builds it, runs the test of its layers, and
// installs its command from a module proxy in a directory, as go install does from a host.
func try(ctx context.Context, root string, log io.Writer) error {
	scratch, err := os.MkdirTemp("", "module")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	tree := filepath.Join(scratch, "tree")
	proxy := filepath.Join(scratch, "proxy")
	cache := filepath.Join(scratch, "cache")
	run := func(env []string, name string, args ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Dir, cmd.Env = tree, append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off"), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
			}
			return nil
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"copy the files", func() error { return copyTree(ctx, root, tree) }},
		{"rename the module to " + example, func() error { return rename(tree, example) }},
		{"check its format and go.mod", run(nil, "sh", "-c", `test -z "$(gofmt -l functions pkg infra .ci)" && go list -mod=readonly ./... >/dev/null`)},
		{"build everything", run(nil, "go", "build", "-trimpath", "-buildvcs=false", "./...")},
		{"test the layers", run(nil, "go", "test", "-trimpath", "./pkg/internal/layers", "./pkg/version", "./pkg/intercept")},
		{"make a proxy", func() error { return publish(tree, proxy) }},
		{"install the command", func() error { return install(ctx, proxy, cache, filepath.Join(scratch, "bin")) }},
	} {
		begun := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(log, "%s: %.1f s\n", step.name, time.Since(begun).Seconds())
	}
	return nil
}

// copyTree copies the files that git tracks or would track.
func copyTree(ctx context.Context, root, tree string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, not yet committed
		}
		to := filepath.Join(tree, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publish writes the files of a module proxy for the module in tree (go help goproxy).
func publish(tree, proxy string) error {
	dir := filepath.Join(proxy, filepath.FromSlash(example), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(out, module.Version{Path: example, Version: version}, tree), out.Close())
}

// install installs the command from the proxy, with dependencies of the cache of this machine,
// and compares the version that it reports.
func install(ctx context.Context, proxy, cache, bin string) error {
	known, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	downloads := filepath.Join(strings.TrimSpace(string(known)), "cache", "download")
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-modcacherw", example+"/functions/glossa@"+version)
	cmd.Dir = filepath.Dir(proxy) // outside every module
	cmd.Env = append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(downloads),
		"GONOSUMDB=*", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOMODCACHE="+cache, "GOBIN="+bin, "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install: %w\n%s", err, out)
	}
	program := filepath.Join(bin, "glossa")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.CommandContext(ctx, "go", "version", "-m", program).Output()
	if err != nil {
		return err
	}
	if want := "\tmod\t" + example + "\t" + version; !strings.Contains(string(out), want) {
		return fmt.Errorf("the installed program does not say %q:\n%s", want, out)
	}
	return nil
}
