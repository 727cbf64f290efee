package hf

import (
	"strings"

	"glossa/pkg/tokenizer/internal/encode"
)

// prefix returns what the normalizer puts before every text.
func (t *Tokenizer) prefix() string {
	if prefix, ok := strings.CutSuffix(t.normalize.text("a"), "a"); ok {
		return prefix
	}
	return ""
}

// readsAfter returns where added tokens are read in normal, the normalized text.
func (t *Tokenizer) readsAfter(text, normal string, reads encode.Reads) encode.Reads {
	if t.normalize == nil || reads.Plain() || len(t.normalized.tokens) == 0 {
		return reads
	}
	if reads.At(0, len(text)) {
		return encode.Everywhere()
	}
	type run struct {
		normal  string
		trusted bool
	}
	var runs []run
	prefix := t.prefix()
	reads.Runs(len(text), func(start, end int, trusted bool) {
		part := t.normalize.text(text[start:end])
		if start > 0 {
			part = strings.TrimPrefix(part, prefix)
		}
		runs = append(runs, run{part, trusted})
	})
	// A run is found where it is alone what it is in the whole text: counted from either end,
	// up to one that its neighbours change. What is between these is not trusted.
	var trust encode.ReadsBuilder
	from, i := 0, 0
	for ; i < len(runs) && strings.HasPrefix(normal[from:], runs[i].normal); i++ {
		from += len(runs[i].normal)
	}
	to, k := len(normal), len(runs)
	for ; k > i && strings.HasSuffix(normal[from:to], runs[k-1].normal); k-- {
		to -= len(runs[k-1].normal)
	}
	for _, r := range runs[:i] {
		trust.Add(len(r.normal), r.trusted)
	}
	trust.Add(to-from, false)
	for _, r := range runs[k:] {
		trust.Add(len(r.normal), r.trusted)
	}
	return trust.Reads()
}
