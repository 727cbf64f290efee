package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/catalog"
	"glossa/pkg/engine"
	"glossa/pkg/llm"
)

// adapted writes a directory with GPT-2, two adapters of it and one that must be merged, and GPT-NeoX.
func adapted(t testing.TB) string {
	t.Helper()
	files := fstest.MapFS{}
	for to, from := range map[string]string{
		"gpt2": "gpt2", "one": "adapters/gpt2-plain", "two": "adapters/gpt2-plain", "biased": "adapters/gpt2", "neox": "gpt_neox",
	} {
		entries, err := os.ReadDir(goldens + from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "golden") {
				files[to+"/"+e.Name()] = &fstest.MapFile{Data: must(os.ReadFile(filepath.Join(goldens, from, e.Name())))}
			}
		}
	}
	c := files["two/adapter_config.json"]
	c.Data = bytes.Replace(c.Data, []byte(`"lora_alpha": 5`), []byte(`"lora_alpha": 9`), 1)
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// use opens a model until the returned function is called.
func (p *process) use(t testing.TB, name string) (*llm.Model, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m, err := p.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return m, cancel
}

// heldBytes returns the memory of the models by name.
func (p *process) heldBytes() map[string]int64 {
	held := map[string]int64{}
	for _, h := range p.Held() {
		held[h.Name] += h.Bytes
	}
	return held
}

// Adapters of one base take its memory once, and theirs in addition. The memory is what the engines
// take.
func TestAdaptersShareABase(t *testing.T) {
	dir := adapted(t)
	all := start(t, settings{checkpoints: dir})
	base, one, neox := must(all.Entry(t.Context(), "gpt2")).Run, must(all.Entry(t.Context(), "one")).Run, must(all.Entry(t.Context(), "neox")).Run
	if one.Base != "gpt2" || one.Added == 0 || one.Bytes != base.Bytes+one.Added || one.Sizes["q8_0"] != base.Sizes["q8_0"]+one.Added {
		t.Fatalf("%+v, its base %+v", one, base)
	}
	memory := max(base.Bytes+2*one.Added, neox.Bytes)
	if memory >= 2*base.Bytes {
		t.Fatalf("two bases fit into %d bytes", memory)
	}
	p := start(t, settings{checkpoints: dir, memory: memory})
	var ends []func()
	engines := map[string]*engine.Engine{}
	for _, name := range []string{"one", "two", "gpt2"} {
		m, end := p.use(t, name)
		ends, engines[name] = append(ends, end), m.Backend.(*engine.Engine)
	}
	want := map[string]int64{"gpt2": base.Bytes, "one": one.Added, "two": one.Added}
	if got := p.heldBytes(); len(got) != 3 || got["gpt2"] != want["gpt2"] || got["one"] != want["one"] || got["two"] != want["two"] {
		t.Errorf("held: %v, want %v", got, want)
	}
	if got := engines["one"].Bytes(); got != one.Bytes {
		t.Errorf("the engine takes %d bytes, %d were expected", got, one.Bytes)
	}
	scores := map[float64]bool{}
	for name := range engines {
		scores[must(p.score(t, name))] = true
	}
	if len(scores) != 3 {
		t.Errorf("scores %v", scores)
	}
	if _, err := p.open(t, "neox"); codeOf(err) != llm.Overloaded {
		t.Errorf("another model beside them: %v", err)
	}
	for _, end := range ends {
		end()
	}
	if _, err := p.open(t, "neox"); err != nil {
		t.Error(err)
	}
	if got := p.heldBytes(); got["gpt2"] != 0 {
		t.Errorf("held: %v", got)
	}
	if n := len(p.loader.shared.byKey); n != 1 {
		t.Errorf("%d weights are kept", n)
	}
}

// An adapter that must be merged takes its own memory, and answers as its base with it.
func TestMergedAdapter(t *testing.T) {
	p := start(t, settings{checkpoints: adapted(t)})
	base, biased := must(p.Entry(t.Context(), "gpt2")).Run, must(p.Entry(t.Context(), "biased")).Run
	if biased.Base != "" || biased.Bytes != base.Bytes {
		t.Errorf("%+v", biased)
	}
	if a, b := must(p.score(t, "gpt2")), must(p.score(t, "biased")); math.Abs(a-b) < 1e-3 {
		t.Errorf("scores %v and %v", a, b)
	}
	if held := p.heldBytes(); held["gpt2"] != base.Bytes || held["biased"] != base.Bytes {
		t.Errorf("held: %v", held)
	}
}

// Weights in two formats are not shared.
func TestQuantisedBase(t *testing.T) {
	p := start(t, settings{checkpoints: adapted(t), records: fstest.MapFS{
		"small.json": {Data: []byte(`{"pk":"models","sk":"local-small","schema":{"checkpoint":"two","quant":"q8_0"}}`)},
	}})
	total := int64(0)
	for _, name := range []string{"one", "small"} {
		m, end := p.use(t, name)
		defer end()
		run := must(p.Entry(t.Context(), name)).Run
		want := run.Bytes
		if name == "small" {
			want = run.Sizes["q8_0"]
		}
		if got := m.Backend.(*engine.Engine).Bytes(); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		total += want
	}
	if held := p.heldBytes(); held["gpt2"]+held["one"]+held["small"] != total {
		t.Errorf("held: %v, want %d in all", held, total)
	}
}

// A record that names the format that all models have shares the weights of those whose records name none.
func TestNamedFormat(t *testing.T) {
	for _, quant := range []string{"", "q8_0"} {
		named := cmp.Or(quant, "stored")
		p := start(t, settings{checkpoints: adapted(t), quant: quant, records: fstest.MapFS{
			"named.json": {Data: []byte(`{"pk":"models","sk":"local-named","schema":{"checkpoint":"two","quant":"` + named + `"}}`)},
		}})
		for _, name := range []string{"one", "named"} {
			_, end := p.use(t, name)
			defer end()
		}
		one, other := must(p.Entry(t.Context(), "one")).Run, must(p.Entry(t.Context(), "named")).Run
		if held, want := p.heldBytes(), one.Bytes+other.Added; held["gpt2"]+held["one"]+held["named"] != want {
			t.Errorf("%s: held: %v, want %d in all", named, held, want)
		}
		if n := len(p.loader.shared.byKey); n != 1 {
			t.Errorf("%s: %d weights are in memory", named, n)
		}
	}
}

// The base stays while an adapter has it, whether it is open itself or not.
func TestBaseStaysForItsAdapter(t *testing.T) {
	dir := adapted(t)
	size := must(start(t, settings{checkpoints: dir}).Entry(t.Context(), "one")).Run.Bytes
	p := start(t, settings{checkpoints: dir, memory: size})
	want := must(p.score(t, "gpt2"))
	m, end := p.use(t, "one")
	before := must(p.score(t, "one"))
	p.Drop("gpt2")
	if got := p.heldBytes(); got["gpt2"]+got["one"] != size {
		t.Errorf("held: %v, want %d in all", got, size)
	}
	if _, _, err := llm.Collect(m.Backend.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("the hen")}, Params: llm.Params{MaxTokens: new(3)}}), 1); err != nil {
		t.Error(err)
	}
	if got := must(p.score(t, "gpt2")); got != want {
		t.Errorf("the base scores %v, before %v", got, want)
	}
	end()
	p.Drop("one")
	if got := must(p.score(t, "one")); got != before {
		t.Errorf("the adapter scores %v, before %v", got, before)
	}
}

// Requests for a base, its adapters and another model come together, in memory for the one or the other.
func TestAdaptersConcurrently(t *testing.T) {
	dir := adapted(t)
	all := start(t, settings{checkpoints: dir})
	want, most := map[string]float64{}, int64(0)
	names := []string{"gpt2", "one", "two", "neox", "biased"}
	for _, name := range names {
		want[name] = must(all.score(t, name))
		most = max(most, must(all.Entry(t.Context(), name)).Run.Bytes)
	}
	p := start(t, settings{checkpoints: dir, memory: most + most/2})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			name := names[i%len(names)]
			if got, err := p.score(t, name); codeOf(err) != llm.Overloaded && (err != nil || got != want[name]) {
				t.Errorf("%s: %v, %v, want %v", name, got, err, want[name])
			}
		})
	}
	group.Wait()
	used := int64(0)
	for _, bytes := range p.heldBytes() {
		used += bytes
	}
	if used > most+most/2 {
		t.Errorf("held: %v of %d", p.heldBytes(), most+most/2)
	}
}

// A base that changes is read again for its adapters, and without it they are not served.
func TestBaseChanges(t *testing.T) {
	dir := adapted(t)
	p := start(t, settings{checkpoints: dir})
	_, end := p.use(t, "one")
	defer end()
	before, two := must(p.score(t, "one")), must(p.score(t, "two"))
	name := dir + "/gpt2/model.safetensors"
	weights := must(os.ReadFile(name))
	changed := slices.Clone(weights)
	for i := len(changed) - 4000; i < len(changed); i += 4 {
		changed[i+2] ^= 0x40
	}
	write := func(data []byte, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		p.Refresh()
	}
	write(changed, time.Hour)
	if a, b := must(p.score(t, "one")), must(p.score(t, "two")); a == before || b == two {
		t.Errorf("the new base scores as the old one: %v, %v", a, b)
	}
	write(weights, 2*time.Hour)
	if got := must(p.score(t, "one")); got != before {
		t.Errorf("the old base again: %v, want %v", got, before)
	}
	if err := os.RemoveAll(dir + "/gpt2"); err != nil {
		t.Fatal(err)
	}
	p.Refresh()
	if _, err := p.score(t, "one"); err == nil || !strings.Contains(err.Error(), "base model") {
		t.Errorf("without a base: %v", err)
	}
}

// Adapters in S3 share their base too, which is read once.
func TestAdaptersInS3(t *testing.T) {
	dir := adapted(t)
	local := start(t, settings{checkpoints: dir})
	s := &buckettest.Store{}
	put(t, s, dir, "root")
	p := start(t, settings{store: s, checkpoints: "s3://models/root"})
	for _, name := range []string{"one", "two", "gpt2"} {
		want := must(local.score(t, name))
		s.Asked()
		if got, err := p.score(t, name); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
		read := int64(0)
		for _, key := range s.Asked() {
			if strings.Contains(key, "gpt2/model.safetensors") {
				read++
			}
		}
		if name != "one" && read > 2 { // its header
			t.Errorf("%s: %d reads of the base", name, read)
		}
	}
	if held := p.heldBytes(); held["gpt2"] <= held["one"] || held["one"] != held["two"] {
		t.Errorf("held: %v", held)
	}
}

// Computed texts of an adapter that are kept beyond the process are not those of its base.
func TestAdapterFingerprint(t *testing.T) {
	p, seen := start(t, settings{checkpoints: adapted(t)}), map[string]bool{}
	for _, name := range []string{"gpt2", "one", "two"} {
		seen[fingerprint(must(p.Entry(t.Context(), name)).Run, catalog.Options{})] = true
	}
	if len(seen) != 3 {
		t.Errorf("fingerprints %v", seen)
	}
}

// A reader that fails or panics leaves no weights behind, and those who wait for it get an error.
func TestSharedWeightsFail(t *testing.T) {
	var s sharedWeights
	for key, fail := range map[string]func() error{"fails": func() error { return fs.ErrInvalid }, "panics": func() error { panic("in the reader") }} {
		begun, end := make(chan struct{}), make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			defer func() { _ = recover() }()
			_, _ = s.use(key, func(func()) (*engine.Weights, error) { close(begun); <-end; return nil, fail() })
		})
		<-begun
		one, first := s.get(key)
		close(end)
		group.Wait()
		if <-one.ready; first || one.err == nil || len(s.byKey) != 0 {
			t.Errorf("%+v, first %v, %d kept", one, first, len(s.byKey))
		}
	}
}

// A base that is replaced while it is opened does not pass for its new version.
func TestReplacedBase(t *testing.T) {
	dir := adapted(t)
	p := start(t, settings{checkpoints: dir})
	run := must(p.Entry(t.Context(), "gpt2")).Run
	m, fsys, err := p.loader.read(run, catalog.Options{Name: "gpt2"})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "gpt2", "model.safetensors")
	changed := slices.Clone(must(os.ReadFile(name)))
	for i := len(changed) - 4000; i < len(changed); i += 4 {
		changed[i+2] ^= 0x40
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "new"), changed, 0o600), os.Rename(filepath.Join(dir, "new"), name)); err != nil {
		t.Fatal(err)
	}
	cfg := engine.Config{Name: "gpt2", Kernels: p.loader.cfg.Kernels, Team: p.loader.cfg.Team, Queue: p.loader.cfg.Queue}
	if cfg.Weights, err = p.loader.weights(fsys, run, m, cfg); err != nil {
		t.Fatal(err)
	}
	defer cfg.Weights.Release() // the old model is in use
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	p.Refresh()
	fresh := start(t, settings{checkpoints: dir})
	for _, name := range []string{"gpt2", "one"} {
		if got, want := must(p.score(t, name)), must(fresh.score(t, name)); got != want {
			t.Errorf("%s scores %v, its files %v", name, got, want)
		}
	}
}

// A damaged adapter, merged or not, is an error, and the server goes on.
func TestDamagedAdapter(t *testing.T) {
	for _, adapter := range []string{"one", "biased"} {
		dir := adapted(t)
		name := filepath.Join(dir, adapter, "adapter_model.safetensors")
		raw := must(os.ReadFile(name))
		header := 8 + int(binary.LittleEndian.Uint64(raw))
		var tensors map[string]struct {
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw[8:header], &tensors); err != nil {
			t.Fatal(err)
		}
		for tensor, at := range tensors {
			if strings.Contains(tensor, "lora_B") {
				binary.LittleEndian.PutUint32(raw[header+at.Offsets[0]:], 0x7fc00000) // NaN
			}
		}
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := start(t, settings{checkpoints: dir}).score(t, adapter); err == nil || !strings.Contains(fmt.Sprint(err, llm.AsError(err).Err), "lora_B") {
			t.Errorf("%s: %v, %v", adapter, err, llm.AsError(err).Err)
		}
	}
}
