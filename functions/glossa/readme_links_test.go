package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// fenced is code, in which nothing is a link.
	fenced  = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Links between the documents lead somewhere: to a file or a folder, and to a heading in it.
func TestReadmeLinks(t *testing.T) {
	checked := 0
	for _, path := range append(documents(t), "CONTRIBUTING.md", "CHANGELOG.md") {
		text := read(t, path)
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, found[1])
			} else if anchor != "" && !anchors(read(t, file))[anchor] {
				t.Errorf("%s: %s has no heading for #%s", path, file, anchor)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were found", checked)
	}
}

// The front README is a door, and no line of a command is long.
func TestReadmeLength(t *testing.T) {
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 250 {
		t.Errorf("README.md has %d lines: at most 250, the rest belongs into the folder that it describes", lines)
	}
	for _, path := range documents(t) {
		for _, block := range console.FindAllStringSubmatch(read(t, path), -1) {
			for line := range strings.Lines(block[1]) {
				if len(line) > 210 {
					t.Errorf("%s: a line of %d bytes in a console: %.60s...", path, len(line), line)
				}
			}
		}
	}
}

// anchors returns the names by which links lead to the headings of a text, as GitHub makes
// them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(found[1])), " ", "-")
		name = regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, "")
		for unique, n := name, 1; ; unique, n = fmt.Sprintf("%s-%d", name, n), n+1 {
			if !names[unique] {
				names[unique] = true
				break
			}
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
