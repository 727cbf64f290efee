package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
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

// sums has a line with the digest of each source file of a package, by its directory.
type sums map[string]string

// of returns the lines of a package. It reads the files once.
func (s sums) of(dir string) (string, error) {
	if lines, ok := s[dir]; ok {
		return lines, nil
	}
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".go" && ext != ".s" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(filepath.FromSlash(dir), e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s/%s %x\n", dir, e.Name(), sha256.Sum256(raw))
	}
	s[dir] = lines.String()
	return s[dir], nil
}

// digest returns 16 hexadecimal digits that change with the mutant, its package and the package
// of its tests. It does not know other packages: a full run tries all mutants again.
func (m *mutant) digest(files sums) (string, error) {
	text := fmt.Sprintf("%q\n", *m)
	for _, dir := range slices.Compact([]string{m.Package, m.Tests}) {
		lines, err := files.of(dir)
		if err != nil {
			return "", err
		}
		text += lines
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8]), nil
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
	list := mutants()
	slices.SortFunc(list, func(a, b mutant) int { return strings.Compare(a.Name, b.Name) })
	var lines strings.Builder
	for _, m := range list {
		if digest := noticed[m.Name]; digest != "" {
			fmt.Fprintf(&lines, "%s %s\n", digest, m.Name)
		}
	}
	return os.WriteFile(noticedFile, []byte(lines.String()), 0o644)
}
