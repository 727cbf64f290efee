package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	got := Read() // of a test's program, which has no stamp
	if got.Version != "devel" || got.Revision != "" || got.Go != runtime.Version() {
		t.Errorf("%+v", got)
	}
	if got := UserAgent(); got != "glossa/devel" {
		t.Errorf("the user agent is %q", got)
	}
}

func TestDescribe(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "glossa", Version: version}, Settings: settings}
	}
	vcs := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}, {Key: "vcs.modified", Value: "false"}}
	dirty := append(vcs[:3:3], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	tests := []struct {
		name  string
		build *debug.BuildInfo
		stamp string
		want  Info
	}{
		{"a tag", build("v1.2.3", vcs...), "", Info{"v1.2.3", "abc", "2026-11-22T10:00:00Z", false, "go1.26.8"}},
		{"changes", build("v1.2.3+dirty", dirty...), "", Info{"v1.2.3+dirty", "abc", "2026-11-22T10:00:00Z", true, "go1.26.8"}},
		{"go install", build("v1.2.3"), "", Info{"v1.2.3", "", "", false, "go1.26.8"}},
		{"no version control", build("(devel)"), "", Info{"devel", "", "", false, "go1.26.8"}},
		{"nothing", &debug.BuildInfo{}, "", Info{Version: "devel"}},
		{"the linker's", build("(devel)"), "v1.2.3 def 2026-11-22T11:00:00Z", Info{"v1.2.3", "def", "2026-11-22T11:00:00Z", false, "go1.26.8"}},
		{"the linker's, with changes", build(""), "v1.2.3+dirty def 2026-11-22T11:00:00Z", Info{"v1.2.3+dirty", "def", "2026-11-22T11:00:00Z", true, "go1.26.8"}},
		{"an incomplete stamp", build("(devel)"), "v1.2.3", Info{"devel", "", "", false, "go1.26.8"}},
	}
	for _, test := range tests {
		if got := describe(test.build, test.stamp); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
