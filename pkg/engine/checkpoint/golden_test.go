package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// encodings are the two forms of the golden checkpoint in testdata.
var encodings = []struct {
	file  string
	write func(*bytes.Buffer, *checkpoint.Alpha) error
}{
	{"golden.alph", func(b *bytes.Buffer, a *checkpoint.Alpha) error { return checkpoint.WriteALPH(b, a) }},
	{"golden.json", func(b *bytes.Buffer, a *checkpoint.Alpha) error { return checkpoint.WriteJSON(b, a) }},
}

func encoded(t testing.TB, a *checkpoint.Alpha, encoding int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encodings[encoding].write(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte, opt checkpoint.Options) (*checkpoint.Alpha, error) {
	return checkpoint.ReadAlpha(bytes.NewReader(data), int64(len(data)), "x.json", opt)
}

func TestGoldenFiles(t *testing.T) {
	for i, e := range encodings {
		got := encoded(t, checkpointtest.Golden(), i)
		name := filepath.Join("testdata", e.file)
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what is written now; run with -update if that is meant", e.file)
		}
		a, err := checkpoint.ReadAlphaFile(os.DirFS("testdata"), e.file, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, checkpointtest.Golden()) {
			t.Errorf("%s: read %+v", e.file, a)
		}
	}
}

// The sizes are those of the file written by upstream's code.
func TestGoldenSizes(t *testing.T) {
	data := encoded(t, checkpointtest.Golden(), 0)
	if n := binary.LittleEndian.Uint32(data[4:]); n != 1041 {
		t.Errorf("header of %d bytes, want 1041: %s", n, data[8:8+n])
	}
	if len(data) != 2073 {
		t.Errorf("file of %d bytes, want 2073", len(data))
	}
}

func TestGoldenValues(t *testing.T) {
	a := checkpointtest.Golden()
	for name, want := range map[string][]float32{
		"wte":        {-.5, .2, -.2, .5, .1, -.3, .4, 0, -.4, .3, -.1, -.5},
		"lnF.weight": {1.04, 1.0, .96, 1.03},
	} {
		if got := a.Params[name].Data; !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if len(a.Params) != 15 {
		t.Errorf("%d tensors, want 15", len(a.Params))
	}
}
