package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// noticedFile lists the mutants that tests have noticed, each with the digest of what it was tried on.
const noticedFile = ".ci/mutants/noticed.txt"

// digest returns 16 hexadecimal digits that change with the mutant, its package and the package
// of its tests. It does not know other packages: a full run tries all mutants again.
func (m *mutant) digest() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", *m)
	for _, dir := range slices.Compact([]string{m.Package, m.Tests}) {
		entries, err := os.ReadDir(filepath.FromSlash(dir))
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext != ".go" && ext != ".s" {
				continue
			}
			raw, err := os.ReadFile(filepath.Join(filepath.FromSlash(dir), e.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s/%s %x\n", dir, e.Name(), sha256.Sum256(raw))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// readNoticed returns the digests of noticed mutants by name.
func readNoticed() (map[string]string, error) {
	noticed := map[string]string{}
	f, err := os.Open(noticedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return noticed, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if digest, name, ok := strings.Cut(lines.Text(), " "); ok {
			noticed[name] = digest
		}
	}
	return noticed, lines.Err()
}

// writeNoticed writes the digests of the mutants that there still are.
func writeNoticed(noticed map[string]string) error {
	var lines []string
	for _, m := range mutants() {
		if digest := noticed[m.Name]; digest != "" {
			lines = append(lines, digest+" "+m.Name+"\n")
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[17:], b[17:]) })
	return os.WriteFile(noticedFile, []byte(strings.Join(lines, "")), 0o644)
}
