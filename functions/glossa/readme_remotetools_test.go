package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// remoteToolTable lists what the built-in records write of chats with tools, images and reasoning, as
// the tests of pkg/backend/remote show it.
func remoteToolTable(t *testing.T) string {
	files, err := filepath.Glob("../../pkg/backend/remote/testdata/chats/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no chats", err)
	}
	columns := [][2]string{ // the heading and the case
		{"calls and results", "calls and results"}, {"images", "images"}, {"`required`", "must call"}, {"a named function", "must call one"},
		{"one call at most", "one call"}, {"`none` after calls", "no more calls"}, {"an effort", "effort"},
	}
	made, rule := "| record |", "|---|"
	for _, c := range columns {
		made, rule = made+" "+c[0]+" |", rule+"---|"
	}
	made += "\n" + rule + "\n"
	for _, file := range files {
		var cases []struct{ Case, API, Error string }
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &cases)
		}
		if err != nil {
			t.Fatal(file, err)
		}
		can := map[string]string{}
		for _, c := range cases {
			switch {
			case c.Error != "":
				can[c.Case] = "no"
			case c.API != "":
				can[c.Case] = "by Converse"
			default:
				can[c.Case] = "yes"
			}
		}
		made += fmt.Sprintf("| `%s` |", strings.TrimSuffix(filepath.Base(file), ".json"))
		for _, c := range columns {
			made += " " + can[c[1]] + " |"
		}
		made += "\n"
	}
	return made
}
