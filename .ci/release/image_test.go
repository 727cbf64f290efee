package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two builds of an image differ only in the names of temporary containers.
func TestLayout(t *testing.T) {
	manifest := func(container string) descriptor {
		dir := t.TempDir()
		config := layout{files{}}
		c := config.blob("", []byte(`{"created":"2026-11-22T10:00:00Z","container":"`+container+`","container_config":{"Hostname":"`+container+`"},
			"config":{"Hostname":"`+container+`","Image":"`+container+`","User":"65532:65532","Healthcheck":{"Test":["CMD","/glossa","health"]}},
			"architecture":"arm64","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:1"]},"history":[{"created_by":"COPY"}]}`))
		l := config.blob("", []byte("layer"))
		text, err := json.Marshal(map[string]any{"config": c, "layers": []descriptor{l}})
		if err != nil {
			t.Fatal(err)
		}
		config.files["blobs/sha256/manifest.json"] = file{text, 0o644}
		for name, f := range config.files {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), f.content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out := layout{files{}}
		d, err := out.add(dir)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range out.files {
			all.Write(f.content)
		}
		for _, want := range []string{ociConfig, ociLayer, `"Healthcheck":{"Test":["CMD","/glossa","health"]}`, `"User":"65532:65532"`, `"architecture":"arm64"`, `"diff_ids":["sha256:1"]`, `"history"`} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%s is missing in %s", want, all.String())
			}
		}
		if len(out.files) != 3 || strings.Contains(all.String(), container) {
			t.Errorf("%d blobs: %s", len(out.files), all.String())
		}
		return d
	}
	if a, b := manifest("4f5e6d"), manifest("a1b2c3"); a.Digest != b.Digest || a.MediaType != ociManifest {
		t.Errorf("%+v and %+v", a, b)
	}
	if _, err := (layout{files{}}).add(t.TempDir()); err == nil {
		t.Error("an empty directory is an image")
	}
}
