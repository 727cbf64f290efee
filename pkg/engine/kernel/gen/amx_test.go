package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestBytesOfGNU assembles the instructions in the comments of bytes with GNU as.
func TestBytesOfGNU(t *testing.T) {
	prefix := "x86_64-linux-gnu-"
	if runtime.GOARCH == "amd64" {
		prefix = ""
	}
	if _, err := exec.LookPath(prefix + "as"); err != nil {
		t.Skip("GNU as for amd64 is not installed")
	}
	list, err := files()
	if err != nil {
		t.Fatal(err)
	}
	source, want := strings.Builder{}, []byte(nil)
	source.WriteString(".intel_syntax noprefix\n")
	for _, line := range regexp.MustCompile(`(?m)^\t(BYTE .*) // (.*)$`).FindAllStringSubmatch(string(list["kernel_amx_amd64.s"])+string(list["kernel_vnni_amd64.s"])+string(list["kernel_avx512_amd64.s"]), -1) {
		for code := range strings.SplitSeq(line[1], "; ") {
			b, err := strconv.ParseUint(strings.TrimPrefix(code, "BYTE $"), 0, 8)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, byte(b))
		}
		source.WriteString(line[2] + "\n")
	}
	if len(want) < 100 {
		t.Fatalf("%d bytes", len(want))
	}
	dir := t.TempDir()
	object, raw := filepath.Join(dir, "bytes.o"), filepath.Join(dir, "bytes")
	as := exec.Command(prefix+"as", "--64", "-o", object, "-")
	as.Stdin = strings.NewReader(source.String())
	for _, c := range []*exec.Cmd{as, exec.Command(prefix+"objcopy", "-O", "binary", "-j", ".text", object, raw)} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %.500s", err, out)
		}
	}
	got, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("GNU as makes other bytes")
	}
}
