package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	sums       = "SHA256SUMS"
	provenance = "provenance.json"
)

// A subject is a file with its digest, and a dependency of a build.
type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// digests returns the files of a directory with their digests.
func digests(dir string) ([]subject, error) {
	entries, err := os.ReadDir(dir) // in order
	if err != nil {
		return nil, err
	}
	var list []subject
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		list = append(list, subject{Name: e.Name(), Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	return list, nil
}

// attest writes the checksums of all files and a statement of their origin.
//
// Sources: in-toto Statement v1; SLSA Provenance v1. The statement has no times, which would
// differ between two builds, and no signature: the builder of a hosted service adds its own.
func (r *release) attest(ctx context.Context) error {
	list, err := digests(r.out)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, s := range list {
		fmt.Fprintf(&lines, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	module, err := r.modulePath()
	if err != nil {
		return err
	}
	origin, err := r.git(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		origin = "https://" + module // no remote is set
	}
	statement := map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       list,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            "https://" + module + "/release@v1",
				"externalParameters":   map[string]any{"version": r.version, "platforms": r.platforms},
				"internalParameters":   map[string]any{"command": "make release VERSION=" + r.version},
				"resolvedDependencies": []subject{{URI: "git+" + origin, Digest: map[string]string{"gitCommit": r.revision}}, {Name: "go", URI: "https://go.dev/dl/" + runtime.Version()}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": "https://" + module + "/release@local"}},
		},
	}
	text, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.out, sums), lines.Bytes(), 0o644),
		os.WriteFile(filepath.Join(r.out, provenance), append(text, '\n'), 0o644),
	)
}

// check builds the current commit twice, in two directories, and compares the files.
func (r *release) check(ctx context.Context) error {
	const rehearsal = "v0.0.0-rehearsal"
	text, err := os.ReadFile(filepath.Join(r.root, changelog))
	if err != nil {
		return err
	}
	body, err := notes(string(text), unreleased)
	if err != nil {
		body = "No changes.\n"
	}
	var built [2][]subject
	for i := range built {
		once := *r
		if once.out, err = os.MkdirTemp("", "rehearsal"); err != nil {
			return err
		}
		defer os.RemoveAll(once.out)
		if err := once.make(ctx, rehearsal, body); err != nil {
			return err
		}
		if built[i], err = digests(once.out); err != nil {
			return err
		}
	}
	if differ := differences(built[0], built[1]); len(differ) > 0 {
		return fmt.Errorf("two builds of one commit differ in %s", strings.Join(differ, ", "))
	}
	for _, s := range built[0] {
		fmt.Fprintf(r.log, "%.12s  %s\n", s.Digest["sha256"], s.Name)
	}
	fmt.Fprintf(r.log, "two builds give the same %d files\n", len(built[0]))
	return nil
}

// differences returns the names of the files that are not equal in both lists.
func differences(a, b []subject) (names []string) {
	for _, lists := range [][2][]subject{{a, b}, {b, a}} {
		for _, s := range lists[0] {
			same := slices.ContainsFunc(lists[1], func(o subject) bool { return o.Name == s.Name && o.Digest["sha256"] == s.Digest["sha256"] })
			if !same && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}
