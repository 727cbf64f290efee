package arch_test

import (
	"maps"
	"testing"
	"testing/fstest"
)

// Keys of T5 that lie are rejected by name.
func TestHostileGGUFT5(t *testing.T) {
	good := map[string]any{
		"general.architecture": "t5", "t5.context_length": 64, "t5.embedding_length": 8, "t5.block_count": 1, "t5.attention.head_count": 2,
		"t5.feed_forward_length": 12, "t5.attention.key_length": 4, "t5.attention.relative_buckets_count": 8, "t5.decoder_start_token_id": 0,
	}
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"t5.decoder_start_token_id", 20, "t5.decoder_start_token_id: token 20 is not below vocab_size, 20"},
		{"t5.decoder_block_count", 0, "t5.decoder_block_count: 0 is not in 1..1000"},
		{"t5.attention.relative_buckets_count", 6, "relative_buckets: 6 is not a positive multiple of 4"},
		{"t5.attention.relative_buckets_count", 1 << 30, "t5.attention.relative_buckets_count: 1073741824 is not in"},
		{"t5.attention.key_length", 0, "t5.attention.key_length: 0 is not in"},
		{"t5.embedding_length", 9, `tensor "token_embd.weight": shape [20 8], but the configuration has [20 9]`},
		{"t5.block_count", 1, `tensor "enc.blk.0.attn_rel_b.weight": missing`},
	} {
		keys := maps.Clone(good)
		keys[c.key] = c.value
		checkRejected(t, c.want, fstest.MapFS{"m/x.gguf": gguf(keys, map[string]block{"token_embd.weight": blockOf(20, 8)})}, c.want)
	}
}
