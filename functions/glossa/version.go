package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/version"
)

// versionCommand returns glossa version.
func (p *program) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Show the version of this program",
		Long:    "Show the version of this program, the commit it was built from, the Go\ntoolchain, the platform, and the instruction set that the engine uses here.",
		Example: "  glossa version\n  glossa version --json", Args: positional(0),
	}
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(*cobra.Command, []string) error { return p.printVersion(*asJSON) }
	return c
}

// A build describes this program and the machine it runs on.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit
	Modified bool   `json:"modified"`           // the working tree had changes
	Date     string `json:"date,omitempty"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // linux/amd64
	Kernels  string `json:"kernels"`  // the engine's instruction set on this machine
}

// printVersion prints the version.
func (p *program) printVersion(asJSON bool) error {
	v := version.Read()
	b := build{
		Version: v.Version, Revision: v.Revision, Modified: v.Modified, Date: v.Time, Go: v.Go,
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: kernel.Best().Name(),
	}
	if asJSON {
		return printJSON(p.stdout, b)
	}
	revision := cmp.Or(b.Revision, "unknown")
	if b.Modified {
		revision += " (modified)"
	}
	_, err := fmt.Fprintf(p.stdout, "glossa %s\nrevision  %s\ndate      %s\ngo        %s\nplatform  %s\nkernels   %s\n",
		b.Version, revision, cmp.Or(b.Date, "unknown"), b.Go, b.Platform, b.Kernels)
	return err
}
