//go:build unix

package publish

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"glossa/pkg/llm"
)

// full is a file on a full disk.
type full struct {
	file
	left *atomic.Int64 // bytes
	why  error
}

func (f full) room(n int) error {
	if f.left.Add(-int64(n)) < 0 {
		return &os.PathError{Op: "write", Path: "x", Err: f.why}
	}
	return nil
}

func (f full) Write(p []byte) (int, error) {
	if err := f.room(len(p)); err != nil {
		return 0, err
	}
	return f.file.Write(p)
}

func (f full) WriteAt(p []byte, at int64) (int, error) {
	if err := f.room(len(p)); err != nil {
		return 0, err
	}
	return f.file.WriteAt(p, at)
}

func (f full) Sync() error { return errors.Join(f.room(1), f.file.Sync()) }

// A full disk is not an error of the client, whatever is written, and leaves no files.
func TestFullDisk(t *testing.T) {
	data := golden(t)
	for _, why := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		for what, do := range map[string]func(p *place, s *Session) error{
			"put": func(p *place, _ *Session) error { return p.Put(t.Context(), upload(t, "m", 2)) },
			"spool": func(p *place, _ *Session) error {
				_, err := p.Spool(t.Context(), bytes.NewReader(data), int64(len(data)))
				return err
			},
			"begin": func(p *place, _ *Session) error {
				_, err := p.Begin(t.Context(), upload(t, "m", 2), 0, "")
				return err
			},
			"part": func(p *place, s *Session) error {
				return p.Part(t.Context(), s.ID, 1, bytes.NewReader(data[500:1000]))
			},
			"chunk": func(p *place, _ *Session) error {
				return p.Chunk(t.Context(), "x", 0, 1, bytes.NewReader(data))
			},
			"complete": func(p *place, s *Session) error {
				_, _, err := p.Complete(t.Context(), s.ID)
				return err
			},
		} {
			for room := 0; ; room = room*2 + 100 {
				p := open(t, t.TempDir())
				put(t, p, upload(t, "m", 1))
				s, _ := begin(t, p, "m", 2)
				if what == "complete" {
					p.sendAll(t, s, data)
				}
				before := p.leftovers(t)
				var left atomic.Int64
				left.Store(int64(room))
				real := p.directory().files.open
				p.directory().files.open = func(name string) (file, error) {
					f, err := real(name)
					return full{f, &left, why}, err
				}
				err := do(p, s)
				if err == nil {
					if room == 0 {
						t.Errorf("%s wrote nothing", what)
					}
					break
				}
				list := []string{"m@1"}
				if what == "complete" && slices.Equal(p.list(t), []string{"m@2"}) {
					list = []string{"m@2"} // published, but not recorded: it may be completed again
				}
				p.same(t, err, llm.Full, "", list...)
				if after := p.leftovers(t); !slices.Equal(after, before) {
					t.Errorf("%s with %d bytes: left behind %v, %v before", what, room, after, before)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// The next start removes the remains of a killed process, and nothing of a live one.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	s, data := begin(t, p, "m", 2)
	dead := []string{
		filepath.Join(dir, uploadPrefix+"DEAD"), filepath.Join(dir, uploadPrefix+"DIR", PackName),
		filepath.Join(dir, uploadsDir, s.ID, ".DEAD"), filepath.Join(dir, uploadsDir, s.ID, lockFile), filepath.Join(dir, uploadsDir, "chunks-x", ".DEAD"),
	}
	for _, name := range dead {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	alive := func() {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpensOnly$")
		cmd.Env = append(os.Environ(), "PUBLISH_OPENS="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Fatalf("%v %s", err, out)
		}
	}
	u := upload(t, "m", 1)
	begun := 0
	u.Progress = func(int64, int64) {
		if begun++; begun > 1 {
			return
		}
		alive()
		if got := p.leftovers(t); len(got) != 2 || !strings.HasPrefix(got[0], uploadPrefix) || path.Base(got[1]) != recordFile {
			t.Errorf("another process starts while one writes: %v", got)
		}
	}
	put(t, p, u)
	reads := 0
	body := readFunc(func(b []byte) (int, error) {
		if reads++; reads == 2 {
			alive()
		}
		return copy(b, data[:min(250, len(b))]), nil
	})
	p.same(t, p.Part(t.Context(), s.ID, 0, body), llm.Invalid, "part", "m@1") // too long, but no file was missing
	if err := p.Part(t.Context(), s.ID, 0, io.LimitReader(body, 500)); err != nil || begun == 0 || reads < 2 {
		t.Error(err, begun, reads)
	}
	if got := p.arrived(t, s.ID); !slices.Equal(got, []int{0}) {
		t.Error(got)
	}
	_, list, err := p.kept(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := p.lockCompletion(t.Context(), list, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	alive()
	if _, err := p.lockCompletion(t.Context(), nil, s.ID); err == nil {
		t.Error("an upload is completed twice at once")
	}
	unlock()
	if unlock, err = p.lockCompletion(t.Context(), nil, s.ID); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
}

// TestOpensOnly is the other process of TestLeftovers.
func TestOpensOnly(t *testing.T) {
	if dir := os.Getenv("PUBLISH_OPENS"); dir != "" {
		open(t, dir)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }
