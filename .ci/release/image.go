package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Media types of the OCI Image Specification, version 1.
const (
	ociIndex    = "application/vnd.oci.image.index.v1+json"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	ociLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// A descriptor refers to a blob of a layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A layout is an OCI image layout in memory: its files by their names.
type layout struct{ files }

// blob stores content and describes it.
func (l layout) blob(kind string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	l.files["blobs/sha256/"+name] = file{content, 0o644}
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: len(content)}
}

// blobJSON stores a value and describes it.
func (l layout) blobJSON(kind string, v any) (descriptor, error) {
	content, err := json.Marshal(v)
	return l.blob(kind, content), err
}

// buildImage writes an OCI layout with the image of each architecture, without a registry.
func (r *release) buildImage(ctx context.Context) error {
	if _, err := exec.LookPath("buildah"); err != nil || !r.image {
		fmt.Fprintln(r.log, "NOT BUILT: the image, which needs buildah")
		return nil
	}
	out := layout{files{"oci-layout": {[]byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644}}}
	var manifests []descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		d, err := r.oneImage(ctx, out, arch)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	index, err := out.blobJSON(ociIndex, map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": manifests})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	out.files["index.json"] = file{text, 0o644}
	name := filepath.Join(r.out, "glossa_"+r.version+"_image")
	if err := os.WriteFile(name+".digest", []byte(index.Digest+"\n"), 0o644); err != nil {
		return err
	}
	return out.write(name+".tar", "", r.when)
}

// oneImage builds the image of an architecture with buildah from the Containerfile, and adds
// it to the layout. buildah's configurations name its temporary containers; without these
// names equal files make equal images.
func (r *release) oneImage(ctx context.Context, out layout, arch string) (none descriptor, err error) {
	env, err := buildEnvironment("linux/" + arch)
	if err != nil {
		return none, err
	}
	if _, err := command(ctx, r.source, env, "make", "--no-print-directory", "image-files", "GO="+r.gotool, "IMAGEARCH="+arch); err != nil {
		return none, err
	}
	name := "localhost/glossa-release:" + strconv.Itoa(os.Getpid()) + "-" + arch
	if _, err := command(ctx, r.source, nil, "buildah", "build", "--quiet", "--format=docker", "--isolation=chroot", "--layers=false",
		"--timestamp="+strconv.FormatInt(r.when.Unix(), 10), "--platform=linux/"+arch, "--tag="+name,
		"--label=org.opencontainers.image.version="+r.version, "--label=org.opencontainers.image.revision="+r.revision,
		"--file=functions/glossa/Containerfile", "dist/image"); err != nil {
		return none, err
	}
	dir := filepath.Join(r.source, "dist", "oci", arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return none, err
	}
	_, err = command(ctx, r.source, nil, "buildah", "push", "--quiet", "--format=v2s2", name, "dir:"+dir)
	if _, untagged := command(ctx, r.source, nil, "buildah", "rmi", name); err == nil {
		err = untagged
	}
	if err != nil {
		return none, err
	}
	d, err := out.add(dir)
	d.Platform = map[string]string{"architecture": arch, "os": "linux"}
	return d, err
}

// add adds the image in a directory, as buildah writes it, and describes its manifest.
func (l layout) add(dir string) (none descriptor, err error) {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		return none, err
	}
	read := func(d descriptor) ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, strings.TrimPrefix(d.Digest, "sha256:")))
	}
	text, err = read(manifest.Config)
	if err != nil {
		return none, err
	}
	config, err := cleanConfig(text)
	if err != nil {
		return none, err
	}
	layers := []descriptor{}
	for _, d := range manifest.Layers {
		content, err := read(d)
		if err != nil {
			return none, err
		}
		layers = append(layers, l.blob(ociLayer, content))
	}
	return l.blobJSON(ociManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ociManifest, "config": l.blob(ociConfig, config), "layers": layers,
	})
}

// cleanConfig returns the configuration of an image without what describes its build. Docker
// and podman read the health check although OCI's specification does not know it.
func cleanConfig(text []byte) ([]byte, error) {
	var c map[string]json.RawMessage
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(c["config"], &config); err != nil {
		return nil, err
	}
	for _, name := range []string{"Hostname", "Image", "Domainname"} {
		delete(config, name)
	}
	clean := map[string]any{"config": config}
	for _, name := range []string{"architecture", "created", "history", "os", "rootfs", "variant"} {
		if v := c[name]; len(bytes.TrimSpace(v)) > 0 {
			clean[name] = v
		}
	}
	return json.Marshal(clean)
}
