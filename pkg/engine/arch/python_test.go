package arch_test

import (
	"bytes"
	"reflect"
	"testing"

	"glossa/pkg/engine/arch"
)

// Python writes numbers that JSON lacks; in strings they are text.
func TestPythonNumbers(t *testing.T) {
	fsys := bare(t, "mamba2")
	want := openIn(t, fsys, "m")
	config := fsys["m/config.json"].Data
	for old, changed := range map[string]string{
		`{"__float__":"Infinity"}`: "Infinity",
		`"model_type"`:             `"low": -Infinity, "none": [NaN], "text": "a \" Infinity", "model_type"`,
	} {
		set(t, fsys, "config.json", nil) // without spaces
		data := bytes.Replace(fsys["m/config.json"].Data, []byte(old), []byte(changed), 1)
		if bytes.Equal(data, fsys["m/config.json"].Data) {
			t.Fatalf("%s is not in %s", old, data)
		}
		fsys["m/config.json"].Data = data
		if got := openIn(t, fsys, "m"); !reflect.DeepEqual(got.Spec, want.Spec) {
			t.Errorf("%s: %+v, want %+v", changed, got.Spec, want.Spec)
		}
		if ok, err := arch.Detect(fsys, "m"); !ok || err != nil {
			t.Errorf("%s: %v, %v", changed, ok, err)
		}
		fsys["m/config.json"].Data = config
	}
}
