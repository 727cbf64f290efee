package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// functionSources are git's patterns for the files that the functions are built from.
var functionSources = []string{
	"go.mod", "go.sum", "pkg", "schemas", "functions", ":!functions/glossa", ":!*_test.go", ":!*/testdata/*", ":!*.md",
}

// command returns the trimmed output of a command in a directory. Its error has what the
// command wrote to stderr.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()+"\n"+string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return command(ctx, r.root, nil, "git", args...)
}

// modulePath returns the path in go.mod.
func (r *release) modulePath() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return "", err
	}
	return modfile.ModulePath(text), nil
}

// checkVersion reports whether v can be a version of the module: vMAJOR.MINOR.PATCH, with an
// optional prerelease, and the major version of the module's path.
func (r *release) checkVersion(v string) error {
	if !semver.IsValid(v) || semver.Canonical(v) != v {
		return fmt.Errorf("VERSION is %q: must be vMAJOR.MINOR.PATCH, as v1.2.3 or v1.2.3-rc.1", v)
	}
	path, err := r.modulePath()
	if err != nil {
		return err
	}
	_, major, _ := module.SplitPathVersion(path)
	if err := module.CheckPathMajor(v, major); err != nil {
		return fmt.Errorf("VERSION is %s, and the module path is %s: %w", v, path, err)
	}
	return nil
}

// stamp returns what the linker stamps into the functions: "VERSION REVISION TIME", of the
// current commit if it has a tag, otherwise of the last commit that changed their sources. It
// is "" without a git repository.
func (r *release) stamp(ctx context.Context) (string, error) {
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return "", nil
	}
	tags, err := r.git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	version, of := "", "HEAD"
	for tag := range strings.FieldsSeq(tags) {
		if r.checkVersion(tag) == nil && semver.Compare(tag, version) > 0 {
			version = tag
		}
	}
	if version == "" {
		if of, err = r.git(ctx, append([]string{"log", "-1", "--format=%H", "--"}, functionSources...)...); err != nil {
			return "", err
		}
	}
	shown, err := r.git(ctx, "show", "-s", "--format=%H %ct", cmp.Or(of, "HEAD"))
	if err != nil {
		return "", err
	}
	revision, seconds, _ := strings.Cut(shown, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", err
	}
	when := time.Unix(unix, 0).UTC()
	if version == "" {
		base, _ := r.git(ctx, "describe", "--tags", "--abbrev=0", "--match=v[0-9]*.[0-9]*.[0-9]*", revision) // none before the first release
		version = module.PseudoVersion(semver.Major(base), base, when, revision[:12])
	}
	changes, err := r.git(ctx, append([]string{"status", "--porcelain", "--"}, functionSources...)...)
	if changes != "" {
		version += "+dirty"
	}
	return version + " " + revision + " " + when.Format(time.RFC3339), err
}

// checkSource reports whether the commit may become the version: nothing is changed or
// untracked, and the tag, if there is one, is of this commit.
func (r *release) checkSource(ctx context.Context, version string) error {
	changes, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the working tree has changes: commit or remove them\n%s", changes)
	}
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	tagged, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "refs/tags/"+version+"^{commit}")
	if err == nil && tagged != head {
		return fmt.Errorf("the tag %s is of the commit %.12s, not of the current one, %.12s", version, tagged, head)
	}
	return nil
}

// clone makes a repository in dir with only the current commit, tagged as version, so that
// the toolchain stamps it and nothing else can get into the build.
func (r *release) clone(ctx context.Context, dir, version string) error {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", dir},
		{"-C", dir, "fetch", "--quiet", "--depth=1", "--no-tags", "file://" + filepath.ToSlash(root), "HEAD"},
		{"-C", dir, "-c", "core.autocrlf=false", "checkout", "--quiet", "--detach", "FETCH_HEAD"},
		{"-C", dir, "-c", "tag.gpgSign=false", "tag", "--no-sign", version},
	} {
		if _, err := command(ctx, ".", nil, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// commit returns the hash and the time of the commit.
func (r *release) commit(ctx context.Context) (hash string, when time.Time, err error) {
	shown, err := r.git(ctx, "show", "-s", "--format=%H %ct", "HEAD")
	if err != nil {
		return "", time.Time{}, err
	}
	hash, seconds, _ := strings.Cut(shown, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return hash, time.Unix(unix, 0).UTC(), err
}

// buildEnvironment returns the settings of a build for a platform. It clears those of the user
// that would change the bytes.
func buildEnvironment(platform string) ([]string, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("a platform is GOOS/GOARCH, not " + platform)
	}
	return []string{
		"GOOS=" + goos, "GOARCH=" + goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0",
	}, nil
}
