package main

import (
	"strings"
	"testing"
	"time"
)

func TestNotes(t *testing.T) {
	const text = "# Changelog\n\nNewest first.\n\n## Unreleased\n\n## v1.1.0 - 2026-11-22\n\n* Second.\n  ## not a heading\n\n### Part\n\n## v1.0.0\n* First.\n## v0.9.0\n\n"
	for _, test := range []struct{ name, want, fault string }{
		{"v1.1.0", "* Second.\n  ## not a heading\n\n### Part\n", ""},
		{"v1.0.0", "* First.\n", ""},
		{"v1.1", "", "no section"}, {"Unreleased", "", "is empty"}, {"v0.9.0", "", "is empty"},
	} {
		got, err := notes(text, test.name)
		if got != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

func TestCut(t *testing.T) {
	day := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	const text = "# Changelog\n\n## Unreleased\n\n* New.\n\n## v1.0.0\n\n* Old.\n"
	got, err := cut(text, "v1.1.0", day)
	if want := "# Changelog\n\n## Unreleased\n\n## v1.1.0 - 2026-11-22\n\n* New.\n\n## v1.0.0\n\n* Old.\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if body, err := notes(got, "v1.1.0"); body != "* New.\n" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	for _, test := range []struct{ text, version, want string }{
		{text, "v1.0.0", "already has"}, {got, "v1.2.0", "is empty"}, {"# Changelog\n\n## v1.0.0\n\n* Old.\n", "v1.1.0", "must begin"}, {"", "v1.1.0", "must begin"},
	} {
		if _, err := cut(test.text, test.version, day); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.version, err, test.want)
		}
	}
}
