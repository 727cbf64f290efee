// Package version reports the build of glossa that runs. It reads what the Go toolchain stamps into
// the binary, and knows nothing of releases.
package version

import "runtime/debug"

// An Info describes the build of the running program.
type Info struct {
	Version  string // as in "v1.2.0", or a pseudo-version of a commit; "devel" without version control
	Revision string // the commit; "" if unknown
	Time     string // of the commit, RFC 3339; "" if unknown
	Modified bool   // the working tree had changes
	Go       string // the toolchain's version: "go1.26.0"
}

// Read returns the description of the running program.
func Read() Info {
	info := Info{Version: "devel"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.Go = build.GoVersion
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
