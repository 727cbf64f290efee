// Package version reports the build of glossa that runs. It reads what the Go toolchain, or the
// build of a Lambda function, stamps into the binary, and knows nothing of releases.
package version

import (
	"runtime/debug"
	"strings"
)

// stamp is "VERSION REVISION TIME", set by the linker (-X) where the toolchain's own stamp is
// off: a Lambda function has the version of the last commit that changed its sources, so that
// another commit does not change its bytes. Nothing assigns to it at run time.
var stamp string

// An Info describes the build of the running program.
type Info struct {
	Version  string // as in "v1.2.0", or a pseudo-version of a commit; "devel" if unknown
	Revision string // the commit; "" if unknown
	Time     string // of the commit, RFC 3339; "" if unknown
	Modified bool   // the working tree had changes
	Go       string // the toolchain's version: "go1.26.0"
}

// Read returns the description of the running program.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(build, stamp)
}

// describe returns the description of a build. The linker's stamp, if there is one, replaces
// the toolchain's.
func describe(build *debug.BuildInfo, stamp string) Info {
	info := Info{Version: "devel", Go: build.GoVersion}
	if fields := strings.Fields(stamp); len(fields) == 3 {
		info.Version, info.Revision, info.Time = fields[0], fields[1], fields[2]
		info.Modified = strings.HasSuffix(info.Version, "+dirty")
		return info
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		info.Version = v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// UserAgent returns the product token that outgoing requests send: "glossa/v1.2.0".
func UserAgent() string { return "glossa/" + Read().Version }
