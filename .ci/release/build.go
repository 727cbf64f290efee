package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A release builds the files of one version.
type release struct {
	root, out string
	platforms []string // of the command, GOOS/GOARCH
	families  string   // of the functions; "": all
	image     bool
	gotool    string
	log       io.Writer

	// Set by build.
	version, revision string
	when              time.Time // of the commit
	source            string    // the clone
}

// build builds the release of a version of the current commit into r.out.
func (r *release) build(ctx context.Context, version string) error {
	if err := r.checkVersion(version); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.root, changelog))
	if err != nil {
		return err
	}
	body, err := notes(string(text), version)
	if err != nil {
		return err
	}
	if err := r.checkSource(ctx, version); err != nil {
		return err
	}
	return r.make(ctx, version, body)
}

// make builds the files of a version of the current commit.
func (r *release) make(ctx context.Context, version, notes string) (err error) {
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r.version, r.source = version, filepath.Join(scratch, "source")
	if r.revision, r.when, err = r.commit(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"copy the commit " + r.revision, func(ctx context.Context) error { return r.clone(ctx, r.source, version) }},
		{"the command", r.command},
		{"the functions", r.functions},
		{"the image", r.buildImage},
		{"checksums and provenance", r.attest},
	} {
		begun := time.Now()
		if err := step.do(ctx); err != nil {
			return err
		}
		fmt.Fprintf(r.log, "%s: %.1f s\n", step.name, time.Since(begun).Seconds())
	}
	return os.WriteFile(filepath.Join(r.out, "NOTES.md"), []byte(notes), 0o644)
}

// program builds the command for a platform and returns its path.
func (r *release) program(ctx context.Context, platform string) (string, error) {
	env, err := buildEnvironment(platform)
	if err != nil {
		return "", err
	}
	out := filepath.Join(r.source, "bin", filepath.FromSlash(platform), "glossa")
	if strings.HasPrefix(platform, "windows/") {
		out += ".exe"
	}
	_, err = command(ctx, r.source, env, r.gotool, "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", out, "./functions/glossa")
	return out, err
}

// documents returns the files that accompany the command on every platform: those of the
// repository, and those that the command makes.
func (r *release) documents(ctx context.Context) (files, error) {
	list := files{}
	for _, name := range []string{"LICENSE", "README.md", changelog} {
		if err := list.add(name, filepath.Join(r.source, name), 0o644); err != nil {
			return nil, err
		}
	}
	own, err := r.program(ctx, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "glossa.bash", "zsh": "_glossa", "fish": "glossa.fish", "powershell": "glossa.ps1"} {
		script, err := command(ctx, r.source, nil, own, "completion", shell)
		if err != nil {
			return nil, err
		}
		list["completions/"+name] = file{[]byte(script + "\n"), 0o644}
	}
	pages := filepath.Join(r.source, "bin", "man")
	if _, err := command(ctx, r.source, nil, own, "man", pages); err != nil {
		return nil, err
	}
	return list, list.addDir("man", pages)
}

// command writes an archive and a bill of materials for each platform of the command.
func (r *release) command(ctx context.Context) error {
	documents, err := r.documents(ctx)
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		name := "glossa_" + r.version + "_" + strings.ReplaceAll(platform, "/", "_")
		program, err := r.program(ctx, platform)
		if err != nil {
			return err
		}
		list := files{}
		for name, f := range documents {
			list[name] = f
		}
		if err := list.add(filepath.Base(program), program, 0o755); err != nil {
			return err
		}
		kind := ".tar.gz"
		if strings.HasPrefix(platform, "windows/") {
			kind = ".zip"
		}
		if err := list.write(filepath.Join(r.out, name+kind), name, r.when); err != nil {
			return err
		}
		if err := r.materials(ctx, program, name); err != nil {
			return err
		}
	}
	return nil
}

// functions writes the zip file of each function as `make build` builds it, so that its
// program is the one that a deployment from this commit has.
func (r *release) functions(ctx context.Context) error {
	args := []string{"--no-print-directory", "build", "GO=" + r.gotool}
	if r.families != "" {
		args = append(args, "FAMILIES="+r.families)
	}
	env, err := buildEnvironment(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return err
	}
	if _, err := command(ctx, r.source, env, "make", args...); err != nil {
		return err
	}
	programs, err := filepath.Glob(filepath.Join(r.source, "dist", "*", "*", "bootstrap"))
	if err != nil {
		return err
	}
	for _, program := range programs {
		family := filepath.Base(filepath.Dir(program))
		arch := filepath.Base(filepath.Dir(filepath.Dir(program)))
		name := "glossa-function-" + family + "_" + r.version + "_" + arch
		list := files{}
		if err := list.add("bootstrap", program, 0o755); err != nil {
			return err
		}
		if err := list.write(filepath.Join(r.out, name+".zip"), "", r.when); err != nil {
			return err
		}
		if err := r.materials(ctx, program, name); err != nil {
			return err
		}
	}
	return nil
}

// materials writes the CycloneDX bill of materials of a program.
func (r *release) materials(ctx context.Context, program, name string) error {
	_, err := command(ctx, filepath.Join(r.source, ".ci", "sbom"), nil, r.gotool, "tool", "cyclonedx-gomod", "bin",
		"-json", "-noserial", "-notimestamp", "-version", r.version, "-output", filepath.Join(r.out, name+".cdx.json"), program)
	return err
}
