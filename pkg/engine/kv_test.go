package engine

import (
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
)

// The keys and values of an engine have the format of its configuration.
func TestKV(t *testing.T) {
	full := random(t, 64, Config{}).model.CacheBytes(60)
	for _, test := range []struct {
		cfg  Config
		want int64
	}{
		{Config{}, full}, {Config{KV: transformer.KVBF16}, full / 2}, {Config{Format: transformer.Q8_0}, full / 2},
		{Config{Format: transformer.Q8_0, KV: transformer.KVF32}, full},
	} {
		e := random(t, 64, test.cfg)
		if got := e.model.CacheBytes(60); got != test.want {
			t.Errorf("weights %v, keys and values %d: a cache of %d bytes, want %d", test.cfg.Format, test.cfg.KV, got, test.want)
		}
	}
}

// Texts are archived for one format of keys and values.
func TestArchiveKV(t *testing.T) {
	cfg := Config{Archive: &sealed.Archive{}, Fingerprint: "a", Kernels: kernel.Best()}
	plain := newArchivedTexts(cfg)
	cfg.KV = transformer.KVBF16
	if other := newArchivedTexts(cfg); other.model == plain.model {
		t.Errorf("both are of %q", plain.model)
	}
}
