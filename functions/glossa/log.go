package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/lmittmann/tint"

	"glossa/pkg/terminal"
)

// logFormats are the forms of log lines, the default first.
func logFormats() []string { return []string{"auto", "text", "json"} }

// newLog returns a log: short lines for people, or JSON for programs. The format auto is text on
// a terminal and JSON elsewhere. Lines have colours only on a terminal, and not if NO_COLOR is set.
func newLog(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	onTerminal := terminal.Is(w)
	switch {
	case !slices.Contains(logFormats(), format):
		return nil, fmt.Errorf("--log-format: %q must be %s", format, strings.Join(logFormats(), ", "))
	case format == "json", format == "auto" && !onTerminal:
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), nil
	}
	colour := onTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05", NoColor: !colour})), nil
}
