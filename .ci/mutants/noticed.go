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
	"regexp"
	"slices"
	"strings"
)

// noticedFile lists the mutants that tests have noticed, each with what it was tried on.
const noticedFile = ".ci/mutants/noticed.txt"

// A record is what a mutant was tried on: 16 hexadecimal digits each.
type record struct {
	near string // the mutant, the file that it changes, and those of the tests that must fail
	wide string // all files of the packages of both
}

// lots is the number of changes of other files of its packages after which a mutant is tried again, on
// average: what they did can let tests pass, but rarely does.
const lots = 16

// isDue reports whether a mutant has to be tried on what there is now.
func (r record) isDue(now record) bool {
	var lot [1]byte
	if _, err := hex.Decode(lot[:], []byte(now.wide)[:2]); err != nil {
		return true
	}
	return r.near != now.near || r.wide != now.wide && lot[0]%lots == 0
}

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

// record returns what m would be tried on now. It does not know other packages: a full run tries all
// mutants again.
func (m *mutant) record(files sums) (r record, err error) {
	text := fmt.Sprintf("%q\n", *m)
	p, err := m.find()
	if err != nil {
		return r, err
	}
	near, wide := fmt.Sprintf("%s%x\n", text, sha256.Sum256(p.source)), text
	tests, err := m.testFiles()
	if err != nil {
		return r, err
	}
	for _, source := range tests {
		near += fmt.Sprintf("%x\n", sha256.Sum256(source))
	}
	for _, dir := range slices.Compact([]string{m.Package, m.Tests}) {
		lines, err := files.of(dir)
		if err != nil {
			return r, err
		}
		wide += lines
	}
	return record{digest(near), digest(wide)}, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// aTest is a test in a file, by its name.
var aTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)

// testFiles returns the sources with the tests that must fail.
func (m *mutant) testFiles() (sources [][]byte, err error) {
	run, _, _ := strings.Cut(m.Run, "/") // without the names of subtests
	named, err := regexp.Compile(run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(m.Tests), "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, test := range aTest.FindAllSubmatch(source, -1) {
			if named.Match(test[1]) {
				sources = append(sources, source)
				break
			}
		}
	}
	return sources, nil
}

// readNoticed returns the records of noticed mutants by name.
func readNoticed() (map[string]record, error) {
	noticed := map[string]record{}
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
		if parts := strings.SplitN(lines.Text(), " ", 3); len(parts) == 3 {
			noticed[parts[2]] = record{parts[0], parts[1]}
		}
	}
	return noticed, lines.Err()
}

// writeNoticed writes the records of the mutants that there still are.
func writeNoticed(noticed map[string]record) error {
	list := mutants()
	slices.SortFunc(list, func(a, b mutant) int { return strings.Compare(a.Name, b.Name) })
	var lines strings.Builder
	for _, m := range list {
		if r, ok := noticed[m.Name]; ok {
			fmt.Fprintf(&lines, "%s %s %s\n", r.near, r.wide, m.Name)
		}
	}
	return os.WriteFile(noticedFile, []byte(lines.String()), 0o644)
}
