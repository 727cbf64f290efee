package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	changelog  = "CHANGELOG.md"
	unreleased = "Unreleased"
)

// A section is a part of CHANGELOG.md: the lines below a heading "## NAME" or "## NAME - DATE".
type section struct {
	name       string
	start, end int // of its lines, with the heading
}

// sections returns the sections of the changelog's lines.
func sections(lines []string) (list []section) {
	for i, line := range lines {
		heading, ok := strings.CutPrefix(line, "## ")
		if !ok {
			continue
		}
		if n := len(list); n > 0 {
			list[n-1].end = i
		}
		name, _, _ := strings.Cut(heading, " - ")
		list = append(list, section{strings.TrimSpace(name), i, len(lines)})
	}
	return list
}

// notes returns the text of a section of the changelog.
func notes(text, name string) (string, error) {
	lines := strings.Split(text, "\n")
	for _, s := range sections(lines) {
		if s.name != name {
			continue
		}
		body := strings.TrimSpace(strings.Join(lines[s.start+1:s.end], "\n"))
		if body == "" {
			return "", fmt.Errorf("%s: the section %s is empty", changelog, name)
		}
		return body + "\n", nil
	}
	return "", fmt.Errorf("%s has no section %q: run make changelog VERSION=%s and commit it", changelog, "## "+name, name)
}

// cut returns the changelog with the section Unreleased as that of a version, below an empty
// section Unreleased.
func cut(text, version string, day time.Time) (string, error) {
	lines := strings.Split(text, "\n")
	list := sections(lines)
	if len(list) == 0 || list[0].name != unreleased {
		return "", fmt.Errorf("%s must begin with the section %q", changelog, "## "+unreleased)
	}
	for _, s := range list {
		if s.name == version {
			return "", fmt.Errorf("%s already has the section %s", changelog, version)
		}
	}
	if _, err := notes(text, unreleased); err != nil {
		return "", err
	}
	head := []string{lines[list[0].start], "", "## " + version + " - " + day.UTC().Format(time.DateOnly)}
	return strings.Join(append(append(lines[:list[0].start:list[0].start], head...), lines[list[0].start+1:]...), "\n"), nil
}

func (r *release) cut(version string, day time.Time) error {
	path := filepath.Join(r.root, changelog)
	text, err := os.ReadFile(path)
	if err == nil {
		err = r.checkVersion(version)
	}
	if err != nil {
		return err
	}
	cutted, err := cut(string(text), version, day)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(cutted), 0o644)
}

func (r *release) printNotes(version string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(r.root, changelog))
	if err != nil {
		return err
	}
	body, err := notes(string(text), version)
	_, wrote := io.WriteString(out, body)
	return errors.Join(err, wrote)
}
