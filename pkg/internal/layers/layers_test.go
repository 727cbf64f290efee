package layers

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRepository(t *testing.T) {
	for _, err := range Glossa().Check(os.DirFS("../../..")) {
		t.Error(err)
	}
}

// small is a table of three floors.
func small() *Table {
	return &Table{
		Module: "m",
		Rows: map[string]Layer{
			"low":    {Floor: 0},
			"low2":   {Floor: 0, May: []string{"low"}},
			"mid":    {Floor: 1, May: []string{"low"}, Outside: []string{"cloud.org/sdk"}},
			"kin/*":  {Floor: 1, May: []string{"low"}},
			"top":    {Floor: 2, May: []string{"..."}, Environment: true},
			"cmd":    {Floor: 3, May: []string{"top"}, Never: []string{"secret"}},
			"other":  {Floor: 3, May: []string{"..."}},
			"secret": {Floor: 0}, "tests": {Floor: 0},
		},
		Guarded:   []string{"cloud.org"},
		Forbidden: []string{"net/rpc", "C"},
		Exclusive: map[string][]string{"tests": {}},
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, file, source string
		want               string // part of the only error; "": no error
	}{
		{"lower", "mid/a.go", `package mid; import "m/low"`, ""},
		{"any lower", "top/a.go", `package top; import ("m/low"; "m/kin/a"; "m/mid")`, ""},
		{"named on its floor", "low2/a.go", `package low2; import "m/low"`, ""},
		{"standard library", "low/a.go", `package low; import ("fmt"; "os")`, ""},
		{"up", "mid/a.go", `package mid; import "m/top"`, "upwards, from floor 1 to floor 2"},
		{"up from many", "top/a.go", `package top; import "m/cmd"`, "upwards"},
		{"sideways", "other/a.go", `package other; import "m/cmd"`, "sideways, on floor 3"},
		{"sideways of a kind", "kin/a/a.go", `package a; import "m/kin/b"`, "it may import low"},
		{"not listed", "mid/a.go", `package mid; import "m/low2"`, "it may import low"},
		{"none", "low/a.go", `package low; import "m/low2"`, "it may import none of ours"},
		{"no row", "new/a.go", `package new`, "new: not in the table"},
		{"no row, deeper", "kin/a/deep/a.go", `package deep`, "kin/a/deep: not in the table"},
		{"no row of the root", "a.go", `package m`, ".: not in the table"},
		{"imports no row", "top/a.go", `package top; import "m/gone"`, "the imported package is not in the table"},
		{"other name", "mid/a.go", `package mid; import x "m/top"`, "upwards"},
		{"blank", "mid/a.go", `package mid; import _ "m/top"`, "mid/a.go:1:21"},
		{"file of another system", "mid/a_windows.go", `package mid; import "m/top"`, "upwards"},
		{"tag", "mid/a.go", "//go:build linux && !cdk\n\npackage mid\n\nimport \"m/top\"", "upwards"},
		{"generator", "mid/gen.go", "//go:build ignore\n\npackage main\n\nimport \"m/top\"", ""},
		{"test file", "low/a_test.go", `package low; import "m/top"`, ""},
		{"test data", "low/testdata/a.go", `package low; import "m/top"`, ""},
		{"hidden", ".ci/a.go", `package low; import "m/top"`, ""},
		{"guarded", "low/a.go", `package low; import "cloud.org/sdk/s3"`, "does not allow it"},
		{"leave", "mid/a.go", `package mid; import "cloud.org/sdk/s3"`, ""},
		{"no leave for more", "mid/a.go", `package mid; import "cloud.org/other"`, "does not allow it"},
		{"only alike", "low/a.go", `package low; import "cloud.organic/sdk"`, ""},
		{"forbidden", "top/a.go", `package top; import "net/rpc"`, "no package may"},
		{"cgo", "top/a.go", `package top; import "C"`, "no package may"},
		{"reached", "cmd/a.go", `package cmd; import "m/top"`, "cmd -> top -> secret"},
		{"exclusive", "other/a.go", `package other; import "m/tests"`, "only"},
		{"environment", "low/a.go", `package low; import "os"; var x = os.Getenv("X")`, "os.Getenv"},
		{"environment renamed", "low/a.go", `package low; import sys "os"; var f = sys.LookupEnv`, "sys.LookupEnv"},
		{"environment of syscall", "low/a.go", `package low; import "syscall"; var x = syscall.Environ()`, "syscall.Environ"},
		{"environment allowed", "top/a.go", `package top; import "os"; var x = os.Environ()`, ""},
		{"another Getenv", "low/a.go", `package low; var x = os.Getenv`, ""},
		{"init", "low/a.go", `package low; func init() {}`, "init function"},
		{"method init", "low/a.go", `package low; type T int; func (T) init() {}`, ""},
		{"no Go", "low/a.go", `package`, "expected"},
	}
	for _, test := range tests {
		tree := fstest.MapFS{"low/doc.go": {Data: []byte("package low")}, test.file: {Data: []byte(test.source)}}
		if test.name == "reached" {
			tree["top/a.go"] = &fstest.MapFile{Data: []byte(`package top; import "m/secret"`)}
		}
		err := errors.Join(small().Check(tree)...)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		case test.want != "" && strings.Count(err.Error(), "\n") > 0:
			t.Errorf("%s: more than one: %v", test.name, err)
		}
	}
}

// Without a path of its own the table takes the module's from go.mod.
func TestModule(t *testing.T) {
	for _, test := range []struct{ mod, want string }{
		{"// a comment\nmodule example.com/m\n\ngo 1.26.0\n", "mid imports example.com/m/top: upwards"},
		{"module \"example.com/m\"\n", "mid imports example.com/m/top: upwards"},
		{"go 1.26.0\n", "no module path"},
		{"", "go.mod: file does not exist"},
	} {
		tree := fstest.MapFS{"mid/a.go": {Data: []byte(`package mid; import "example.com/m/top"`)}, "top/a.go": {Data: []byte("package top")}}
		if test.mod != "" {
			tree["go.mod"] = &fstest.MapFile{Data: []byte(test.mod)}
		}
		table := small()
		table.Module = ""
		if err := errors.Join(table.Check(tree)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.mod, err, test.want)
		}
	}
}

func TestCheckOfTheTable(t *testing.T) {
	table := small()
	table.Rows["low"] = Layer{Floor: 0, May: []string{"top", "misspelt"}, Never: []string{"nothing"}}
	table.Exclusive["nowhere"] = nil
	err := errors.Join(table.Check(fstest.MapFS{"low/a.go": {Data: []byte("package low")}})...)
	if err == nil {
		t.Fatal("a bad table passes")
	}
	for _, want := range []string{"may import top, which is above", "names misspelt", "names nothing", "exclusive nowhere"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %q", err, want)
		}
	}
	if errs := small().Check(fstest.MapFS{}); len(errs) == 0 {
		t.Error("an empty tree passes")
	}
}
