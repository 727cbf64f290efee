package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
)

// small returns a checkpoint of any activation and attention layout whose values count up
// from -1 by thousandths, with optimizer buffers.
func small(activation string, fused bool) *checkpoint.Alpha {
	c := checkpoint.ModelConfig{VocabSize: 3, BlockSize: 2, NLayer: 2, NEmbd: 4, NHead: 2, Dropout: 0.1,
		FFNActivation: activation, SoftCap: new(30.0)}
	if activation == checkpoint.Composed {
		c.ActivationGraph = json.RawMessage(`{"type":"add","left":{"type":"basis","op":"silu"},"right":{"type":"scale","factor":0.5,"child":{"type":"basis","op":"square"}}}`)
	}
	a := &checkpoint.Alpha{ModelConfig: c, Params: map[string]checkpoint.Tensor{}, Optimizer: map[string]checkpoint.Tensor{},
		OptimizerStep: 5, Tokenizer: json.RawMessage(`{"type":"char","vocabSize":3,"vocab":["<","\"]}","é"]}`), RNGState: -1.5e9, ConfigHash: "89abcdef", Step: 12}
	v := float32(-1)
	for _, p := range checkpoint.Params(&c, fused) {
		data := make([]float32, p.Elements())
		for i := range data {
			data[i] = v
			v += 0.001
		}
		a.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
		a.Optimizer[p.Name+".m"] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	return a
}

var activations = []string{"", "gelu", "silu", "relu", "swiglu", "universal", "kan_spline", "composed"}

func TestRoundTrip(t *testing.T) {
	for _, activation := range activations {
		for _, fused := range []bool{false, true} {
			for i, e := range encodings {
				a := small(activation, fused)
				data := encoded(t, a, i)
				got, err := read(data, checkpoint.Options{Optimizer: true})
				if err != nil {
					t.Fatalf("%s %q fused %v: %v", e.file, activation, fused, err)
				}
				if got.Fused() != fused {
					t.Errorf("Fused() = %v", got.Fused())
				}
				got.ModelConfigRaw = nil
				if !reflect.DeepEqual(got, a) {
					t.Fatalf("%s %q fused %v:\n got %+v\nwant %+v", e.file, activation, fused, got, a)
				}
				again := encoded(t, got, i)
				if !bytes.Equal(again, data) {
					t.Errorf("%s %q fused %v: written twice, it differs", e.file, activation, fused)
				}
				got, err = read(data, checkpoint.Options{})
				if err != nil || got.Optimizer != nil || got.OptimizerStep != 5 || len(got.Params) != len(a.Params) {
					t.Errorf("%s %q: without the optimizer: %v", e.file, activation, err)
				}
			}
		}
	}
}

// members writes an object with its keys in the given order.
func members(m map[string]string, keys ...string) string {
	var parts []string
	for _, k := range keys {
		if v, ok := m[k]; ok {
			parts = append(parts, `"`+k+`": `+v)
		}
	}
	return "{ " + strings.Join(parts, " ,\n\t") + " }"
}

// goldenMembers are the members of the golden JSON file.
func goldenMembers(t testing.TB) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(encoded(t, checkpointtest.Golden(), 1), &raw); err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for k, v := range raw {
		m[k] = string(v)
	}
	return m
}

func TestJSONOrder(t *testing.T) {
	m := goldenMembers(t)
	m["more"] = `[{"a":"]}\"\\"},null,-1.5e3,true]`
	m["optimizerState"] = `{"buffers":{"wte.m":{"shape":[1],"data":["x]"]}},"step":3}`
	m["params"] = strings.Replace(m["params"], `{"shape":[3,4],"data":[-0.5,0.20000000298023224`, `{"dtype":"f32","data":[ -0.5 , 2.0000000298023224E-1`, 1)
	m["params"] = strings.Replace(m["params"], `-0.5]}`, `-0.5], "shape" : [ 3 , 4 ]}`, 1)
	for _, keys := range [][]string{
		{"modelConfig", "params", "optimizerState", "tokenizerArtifacts", "rngState", "configHash", "step", "more"},
		{"more", "step", "configHash", "rngState", "tokenizerArtifacts", "optimizerState", "params", "modelConfig"},
	} {
		a, err := read([]byte("\n "+members(m, keys...)+"\n"), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := checkpointtest.Golden()
		want.OptimizerStep = 3
		if !reflect.DeepEqual(a, want) {
			t.Errorf("got %+v", a)
		}
	}
}

// Every truncation of a file is rejected, and so is anything appended other than white
// space.
func TestTruncated(t *testing.T) {
	for i, e := range encodings {
		data := encoded(t, small("swiglu", true), i)
		for n := range len(data) {
			if n > 200 && n < len(data)-200 && n%37 != 0 {
				continue
			}
			if _, err := read(data[:n], checkpoint.Options{}); err == nil || !strings.HasPrefix(err.Error(), "checkpoint x.json: ") {
				t.Fatalf("%s cut to %d of %d bytes: %v", e.file, n, len(data), err)
			}
		}
		if _, err := read(append(data, "junk"...), checkpoint.Options{}); err == nil {
			t.Errorf("%s with junk at the end: no error", e.file)
		}
	}
}

// The caller may state a size beyond the reader's end.
func TestShortReader(t *testing.T) {
	for i, e := range encodings {
		data := encoded(t, small("gelu", true), i)
		_, err := checkpoint.ReadAlpha(bytes.NewReader(data[:len(data)-100]), int64(len(data)), "x.json", checkpoint.Options{Optimizer: true})
		if err == nil {
			t.Errorf("%s: no error", e.file)
		}
	}
}

func TestRefusesJSON(t *testing.T) {
	const wq = `"layer.0.attn.wq":{"shape":[4,4],"data":[`
	for _, c := range []struct{ old, new, want string }{
		{wq, `"layer.0.attn.wq":{"shape":[4,5],"data":[`, `tensor "layer.0.attn.wq": shape [4 5], but the configuration has [4 4]`},
		{wq, `"layer.0.attn.wq":{"shape":[16],"data":[`, `shape [16]`},
		{wq, wq + `1,`, `tensor "layer.0.attn.wq": data: more than the values of shape [4 4]`},
		{wq, wq + `null,`, `tensor "layer.0.attn.wq": data: value 0: null`},
		{wq, wq + `1e39,`, `value 0: "1e39" is beyond float32`},
		{wq, wq + `1e999,`, `beyond float32`},
		{wq, wq + `"x",`, `not a JSON number`},
		{wq, wq + `01,`, `not a JSON number`},
		{wq, wq + `1 2,`, `value 1`},
		{wq, wq + `],"data":[`, `key "data" appears twice`},
		{wq, `"layer.0.attn.wq":{"data":[`, `shape or data is missing`},
		{wq, `"layer.0.attn.wq":{"shape":[4,-4],"data":[`, `[4 -4]`},
		{wq, `"layer.0.attn.wq":{"shape":[9223372036854775807,4],"data":[`, `shape`},
		{wq, `"layer.0.attn.wq":{"shape":"4","data":[`, `cannot unmarshal string`},
		{wq, `"layer.9.attn.wq":{"shape":[4,4],"data":[`, `tensor "layer.9.attn.wq": the configuration has no such parameter`},
		{wq, `"lnF.bias":{"shape":[4],"data":[`, `key "lnF.bias" appears twice`},
		{`"lmHead":`, `"lmHead2":`, `no such parameter`},
		{`"shape":[4],"data":[`, `"shape":[4],"data":{"0":`, `offset`},
		{`"vocabSize":3`, `"vocabSize":0`, `vocabSize: 0 is not in`},
		{`"vocabSize":3`, `"vocabSize":99999999999`, `vocabSize: 99999999999`},
		{`"vocabSize":3`, `"vocabSize":"3"`, `modelConfig`},
		{`"nHead":2`, `"nHead":3`, `nHead: 3 does not divide nEmbd 4`},
		{`"nLayer":1`, `"nLayer":2`, `tensor "layer.1.ln1.weight": missing`},
		{`"nLayer":1`, `"nLayer":-1`, `nLayer: -1`},
		{`"dropout":0`, `"dropout":1`, `dropout`},
		{`"dropout":0`, `"dropout":0,"softCap":-1`, `softCap`},
		{`"dropout":0`, `"dropout":0,"ffnActivation":"tanh"`, `ffnActivation: "tanh" is unknown`},
		{`"dropout":0`, `"dropout":0,"ffnActivation":"universal"`, `mlp.act_gate": missing`},
		{`"dropout":0`, `"dropout":0,"ffnActivation":"composed"`, `activationGraph: required`},
		{`"dropout":0`, `"dropout":0,"ffnActivation":"composed","activationGraph":{"type":"mul","left":{"type":"basis"}}`, `lacks its child`},
		{`"dropout":0`, `"dropout":0,"ffnActivation":"composed","activationGraph":{"type":"sin"}`, `node type "sin"`},
		{`"modelConfig":`, `"modelconfig":`, `no modelConfig`},
		{`"params":`, `"parameters":`, `no params`},
		{`"step":7`, `"step":7.5`, `step: "7.5" is not a whole number`},
		{`"step":7`, `"step":-1`, `step`},
		{`"step":7`, `"step":7,"step":8`, `key "step" appears twice`},
		{`"configHash":"00000000"`, `"configHash":["` + strings.Repeat("x", 2000) + `"]`, `configHash: value is too large`},
		{`"step":7}`, `"step":7}}`, `after the end`},
		{`"step":7}`, `"step":7]`, `was expected`},
		{`"buffers":{}`, `"buffers":` + strings.Repeat("[", 1000), `nested deeper than 128`},
		{`"buffers":{}`, `"buffers":[}`, `was expected`},
		{`"tokenizerArtifacts":{`, `"tokenizerArtifacts":{nonsense`, `tokenizerArtifacts: not valid JSON`},
	} {
		text := string(encoded(t, checkpointtest.Golden(), 1))
		if !strings.Contains(text, c.old) {
			t.Fatalf("no %s in the file", c.old)
		}
		_, err := read([]byte(strings.Replace(text, c.old, c.new, 1)), checkpoint.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "checkpoint x.json: ") {
			t.Errorf("%.60s for %s: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

func TestMissingValues(t *testing.T) {
	text := strings.Replace(string(encoded(t, checkpointtest.Golden(), 1)), `"wpe":{"shape":[4,4],"data":[-0.20000000298023224,0.5,`, `"wpe":{"shape":[4,4],"data":[`, 1)
	_, err := read([]byte(text), checkpoint.Options{})
	if err == nil || err.Error() != `checkpoint x.json: tensor "wpe": 14 values for shape [4 4]` {
		t.Error(err)
	}
}

// alph rebuilds a binary file with an edited header.
func alph(t *testing.T, edit func(header string) string, payload func([]byte) []byte) []byte {
	t.Helper()
	data := encoded(t, small("gelu", false), 0)
	n := binary.LittleEndian.Uint32(data[4:])
	header := edit(string(data[8 : 8+n]))
	out := append([]byte("ALPH"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(header)))
	return append(append(out, header...), payload(bytes.Clone(data[8+n:]))...)
}

func TestRefusesALPH(t *testing.T) {
	const wte = `{"name":"p.wte","shape":[3,4],"elements":12}`
	replace := func(old, new string) func(string) string {
		return func(h string) string {
			if !strings.Contains(h, old) {
				t.Fatalf("no %s in the header", old)
			}
			return strings.Replace(h, old, new, 1)
		}
	}
	same := func(h string) string { return h }
	keep := func(b []byte) []byte { return b }
	for _, c := range []struct {
		edit    func(string) string
		payload func([]byte) []byte
		want    string
	}{
		{replace(wte, `{"name":"p.wte","shape":[3,4],"elements":13}`), keep, `tensor "wte": elements is not 12, as shape [3 4] has it`},
		{replace(wte, `{"name":"p.wte","shape":[3,4],"elements":-12}`), keep, `elements is not 12`},
		{replace(wte, `{"name":"p.wte","shape":[3,4]}`), keep, `elements is not 12`},
		{replace(wte, `{"name":"p.wte","shape":[4,3],"elements":12}`), keep, `tensor "wte": shape [4 3], but the configuration has [3 4]`},
		{replace(wte, wte+","+wte), keep, `tensor "wte" appears twice`},
		{replace(wte+",", ""), keep, `bytes after the last tensor`},
		{replace(`"p.wte"`, `"q.wte"`), keep, `tensor "q.wte": the name begins with neither`},
		{replace(`"p.wte"`, `"p.wtf"`), keep, `tensor "wtf": the configuration has no such parameter`},
		{replace(`{"name":"o.wte.m","shape":[3,4],"elements":12}`, `{"name":"o.wte.m","shape":[4611686018427387904,4],"elements":0}`), keep, `optimizer wte.m": shape [4611686018427387904 4] is impossible`},
		{replace(`{"name":"o.wte.m","shape":[3,4],"elements":12}`, `{"name":"o.wte.m","shape":[1073741824],"elements":1073741824}`), keep, `optimizer wte.m": 1073741824 values from offset`},
		{replace(`"name":"p.layer.1.attn.wq"`, `"name":"o.x"`), keep, `tensor "layer.1.attn.wq": missing`},
		{replace(`"modelConfig":`, `"config":`), keep, `header: no modelConfig`},
		{replace(`"tensors":[`, `"tensors":[7,`), keep, `tensors: json`},
		{replace(`"step":12`, `"step":12,"step":12`), keep, `header: key "step" appears twice`},
		{func(h string) string { return h + "{}" }, keep, `header: data after the object`},
		{func(h string) string { return h[:len(h)-1] }, keep, `header: unexpected EOF`},
		{same, func(b []byte) []byte { return b[:len(b)-1] }, `truncated`},
		{same, func(b []byte) []byte { return append(b, 0) }, `1 bytes after the last tensor`},
		{same, func(b []byte) []byte { binary.LittleEndian.PutUint32(b[12*4+8:], 0x7fc00001); return b }, `tensor "wpe": value 2 is NaN`},
		{same, func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(math.Inf(-1))))
			return b
		}, `tensor "wte": value 0 is -Inf`},
	} {
		_, err := read(alph(t, c.edit, c.payload), checkpoint.Options{Optimizer: true})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "checkpoint x.json: ") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, data := range []string{"", "ALP", "ALPH", "ALPH\xff", "ALPH\xff\xff\xff\xff{}", "[]", "GGUF....", "\n\n"} {
		if _, err := read([]byte(data), checkpoint.Options{}); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
}

func TestMixedAttention(t *testing.T) {
	a := small("gelu", true)
	a.Params["layer.1.attn.wq"] = checkpoint.Tensor{Shape: []int{4, 4}, Data: make([]float32, 16)}
	err := checkpoint.WriteALPH(io.Discard, a)
	if err == nil || !strings.Contains(err.Error(), `"layer.1.attn.wq": the file has both fused and separate attention`) {
		t.Error(err)
	}
}

func TestWriteRefuses(t *testing.T) {
	a := small("gelu", true)
	a.Params["wte"].Data[3] = float32(math.NaN())
	for _, e := range encodings {
		if err := e.write(&bytes.Buffer{}, a); err == nil || !strings.Contains(err.Error(), `tensor "wte": value 3 is NaN`) {
			t.Errorf("%s: %v", e.file, err)
		}
	}
}

// The graph of a composed activation may be outside modelConfig.
func TestGraphBesideConfig(t *testing.T) {
	a := small("composed", false)
	data := string(encoded(t, a, 1))
	graph := string(a.ModelConfig.ActivationGraph)
	moved := strings.Replace(data, `,"activationGraph":`+graph, "", 1)
	moved = strings.Replace(moved, `"params":`, `"symbioActivationGraph":`+graph+`,"params":`, 1)
	got, err := read([]byte(moved), checkpoint.Options{Optimizer: true})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.ModelConfig.ActivationGraph) != graph || string(encoded(t, got, 1)) != data {
		t.Errorf("%s", got.ModelConfigRaw)
	}
}

// A file with wrong sizes costs no more memory than its own size.
func TestNoOverAllocation(t *testing.T) {
	const config = `{"modelConfig":{"vocabSize":1000000,"blockSize":1000000,"nLayer":1,"nEmbd":1000,"nHead":1,"dropout":0},`
	header := config + `"tensors":[{"name":"p.wte","shape":[1000000,1000],"elements":1000000000}]}`
	length := binary.LittleEndian.AppendUint32([]byte("ALPH"), uint32(len(header)))
	for _, data := range []string{
		config + `"params":{"wte":{"shape":[1000000,1000],"data":[1,2]}}}`,
		`{"params":{"wte":{"shape":[1000000,1000],"data":[1,2]}}}`,
		string(length) + header,
		"ALPH\xff\xff\xff\x7f{}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := read([]byte(data), checkpoint.Options{}); err == nil {
			t.Errorf("%.100q: no error", data)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%.100q: %d bytes allocated", data, n)
		}
	}
}

func TestBudget(t *testing.T) {
	for i, e := range encodings {
		data := encoded(t, checkpointtest.Golden(), i)
		const bytes = 4 * 256 // of all tensors
		for _, c := range []struct {
			max int64
			ok  bool
		}{{bytes, true}, {bytes - 4, false}, {1, false}} {
			if _, err := read(data, checkpoint.Options{MaxBytes: c.max}); (err == nil) != c.ok {
				t.Errorf("%s with %d bytes: %v", e.file, c.max, err)
			}
		}
	}
}

func TestReadAlphaFile(t *testing.T) {
	fsys := fstest.MapFS{"run/checkpoint-7.json": {Data: encoded(t, checkpointtest.Golden(), 0)}}
	if _, err := checkpoint.ReadAlphaFile(fsys, "run/checkpoint-7.json", checkpoint.Options{}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"run", "run/none.json"} {
		if _, err := checkpoint.ReadAlphaFile(fsys, name, checkpoint.Options{}); err == nil || !strings.HasPrefix(err.Error(), "checkpoint "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Parameters that stay in the file have the values that are read at once.
func TestOpenAlpha(t *testing.T) {
	dir, a := t.TempDir(), small("kan_spline", true)
	for i, e := range encodings {
		if err := os.WriteFile(filepath.Join(dir, e.file), encoded(t, a, i), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.OpenAlpha(os.DirFS(dir), e.file)
		if err != nil {
			t.Fatal(err)
		}
		if got.Optimizer != nil || len(got.Params) != len(a.Params) {
			t.Errorf("%s: %d parameters of %d", e.file, len(got.Params), len(a.Params))
		}
		for name, want := range a.Params {
			for from := range want.Data {
				for _, of := range []*checkpoint.Alpha{got, a} { // in the file, in memory
					values := make([]float32, min(2, len(want.Data)-from))
					if err := of.Values(name, from, values); err != nil || !slices.Equal(values, want.Data[from:][:len(values)]) {
						t.Fatalf("%s: %s from %d: %v, %v", e.file, name, from, values, err)
					}
				}
			}
			if p := got.Params[name]; !slices.Equal(p.Shape, want.Shape) || p.Data != nil {
				t.Errorf("%s: %s has shape %v and %d values in memory", e.file, name, p.Shape, len(p.Data))
			}
			for _, from := range []int{-1, len(want.Data)} {
				if err := got.Values(name, from, make([]float32, 1)); err == nil || !strings.Contains(err.Error(), "were requested") {
					t.Errorf("%s: %s from %d: %v", e.file, name, from, err)
				}
			}
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
		if err := got.Values("wte", 0, make([]float32, 1)); err == nil {
			t.Error("a closed file was read")
		}
	}
}

// values opens a checkpoint and reads all parameters, a few values at a time.
func values(data []byte) (map[string][]float32, error) {
	a, err := checkpoint.OpenAlpha(fstest.MapFS{"x.json": {Data: data}}, "x.json")
	if err != nil {
		return nil, err
	}
	defer a.Close()
	all := map[string][]float32{}
	for _, name := range slices.Sorted(maps.Keys(a.Params)) { // fuzzing needs an order
		p := a.Params[name]
		n := p.Elements()
		all[name] = make([]float32, n)
		for from := 0; from < n; from += 5 {
			if err := a.Values(name, from, all[name][from:min(n, from+5)]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Mistakes in values that stay in the file are found when they are read.
func TestOpenAlphaMistakes(t *testing.T) {
	a := checkpointtest.Golden() // lnF.bias: 0.3, -0.4, 0, 0.4
	a.Params["lnF.bias"].Data[3] = 0.25
	text := string(encoded(t, a, 1))
	for old, change := range map[string]struct{ to, want string }{
		"0.25]": {`0.25,1]`, `checkpoint x.json: tensor "lnF.bias": data: value 4: offset `},
		",0.25": {``, `checkpoint x.json: tensor "lnF.bias": data: value 3: offset `},
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is not once in %s", old, text)
		}
		for to, want := range map[string]string{
			change.to:                               change.want,
			strings.Replace(old, "0.25", "null", 1): `checkpoint x.json: tensor "lnF.bias": data: value 3: null, which is how`,
			strings.Replace(old, "0.25", "1e99", 1): `checkpoint x.json: tensor "lnF.bias": data: value 3: "1e99" is beyond float32`,
			strings.Replace(old, "0.25", "+", 1):    `checkpoint x.json: tensor "lnF.bias": data: value 3: "+": `,
		} {
			if _, err := values([]byte(strings.Replace(text, old, to, 1))); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s instead of %s: %v", to, old, err)
			}
		}
	}
	for old, want := range map[string]string{
		`"lnF.bias":{`:                    `checkpoint x.json: tensor "lnF.bias": shape or data is missing`,
		`"lnF.bias":{"data":7,`:           `checkpoint x.json: tensor "lnF.bias": data: offset `,
		`"lnF.bias":{"data":[1,2,3],`:     `checkpoint x.json: tensor "lnF.bias": data: 7 bytes are not 4 values`,
		`"lnF.bias":{"data":[1,2,3,4`:     `checkpoint x.json: `,
		`"lnF.bias":{"data":[1,2,[3,4]],`: `checkpoint x.json: tensor "lnF.bias": data: value 2: "[`,
	} {
		begin := strings.Index(text, `"lnF.bias":{`)
		end := begin + strings.Index(text[begin:], "}")
		changed := text[:begin] + old + `"shape":[4]` + text[end:]
		if _, err := values([]byte(changed)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", old, err)
		}
	}
	damaged := encoded(t, small("kan_spline", true), 0)
	copy(damaged[len(damaged)-4:], "\xff\xff\xff\xff") // the last value of a buffer of the optimizer
	if _, err := values(damaged); err != nil {
		t.Error(err)
	}
	plain := small("kan_spline", true)
	plain.Optimizer = nil
	damaged = encoded(t, plain, 0)
	copy(damaged[len(damaged)-4:], "\xff\xff\xff\xff")
	if _, err := values(damaged); err == nil || err.Error() != `checkpoint x.json: tensor "layer.1.mlp.kan_c4": value 15 is NaN` {
		t.Error(err)
	}
}

// A checkpoint that was read can be written and read again.
func FuzzReadAlpha(f *testing.F) {
	for i := range encodings {
		f.Add(encoded(f, checkpointtest.Golden(), i))
	}
	for _, activation := range []string{"swiglu", "kan_spline", "composed"} {
		a := small(activation, activation == "composed")
		a.Optimizer = nil // shorter seeds are minimised sooner
		f.Add(encoded(f, a, 0))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := read(data, checkpoint.Options{})
		later, problem := values(data)
		if (err == nil) != (problem == nil) {
			t.Fatalf("read at once: %v; read later: %v", err, problem)
		}
		for name, values := range later {
			if !slices.Equal(values, whole.Params[name].Data) {
				t.Fatalf("%s: %v at once, %v later", name, whole.Params[name].Data, values)
			}
		}
		a, err := read(data, checkpoint.Options{Optimizer: true, MaxBytes: 1 << 20})
		if err != nil {
			return
		}
		for i := range encodings {
			again, err := read(encoded(t, a, i), checkpoint.Options{Optimizer: true})
			if err != nil {
				t.Fatal(err)
			}
			for name, p := range a.Params {
				for k, v := range p.Data {
					if again.Params[name].Data[k] != v {
						t.Fatalf("%s[%d]: %v became %v", name, k, v, again.Params[name].Data[k])
					}
				}
			}
		}
	})
}
