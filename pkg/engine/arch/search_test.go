package arch_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// How answers are looked for is read from one file, as transformers does: config.json counts only
// without a generation_config.json.
func TestAnswerSearch(t *testing.T) {
	// As facebook/bart-large-cnn has them.
	usual := members{
		"num_beams": 4, "length_penalty": 2.0, "early_stopping": true, "min_length": 56, "max_length": 142, "no_repeat_ngram_size": 3, "forced_eos_token_id": 2,
	}
	want := arch.Search{Beams: 4, LengthPenalty: 2, EarlyStopping: arch.StopTrue, MinLength: 56, MaxLength: 142, NoRepeat: 3, ForcedEnd: true}
	nothing := members{"num_beams": nil, "forced_eos_token_id": nil}
	with := func(more members) members {
		all := maps.Clone(usual)
		maps.Copy(all, more)
		return all
	}
	newer := want
	newer.MinLength, newer.MaxLength = 8, 31
	words := want
	words.Suppressed, words.Unwanted, words.RepetitionPenalty, words.Renormalize, words.NoCopy = []int{7}, [][]int{{2, 3}}, 1.5, true, 2
	for name, c := range map[string]struct {
		config, generation members
		none               bool // no generation_config.json
		want               *arch.Search
	}{
		"generation":        {nil, usual, false, &want},
		"config":            {with(nothing), nothing, false, nil},
		"config alone":      {usual, nil, true, &want},
		"nothing":           {nil, nothing, false, nil},
		"drawn":             {nil, with(members{"do_sample": true}), false, nil},
		"a length":          {nil, members{"num_beams": nil, "forced_eos_token_id": nil, "max_length": 30}, false, &arch.Search{Beams: 1, MaxLength: 30, LengthPenalty: 1}},
		"new tokens":        {nil, with(members{"min_new_tokens": 7, "max_new_tokens": 30}), false, &newer},
		"the whole context": {nil, members{"num_beams": 2, "forced_eos_token_id": nil, "max_length": 9999}, false, &arch.Search{Beams: 2, MaxLength: 256, LengthPenalty: 1}},
		"words": {nil, with(members{
			"bad_words_ids": [][]int{{7}, {2}, {2, 3}}, "repetition_penalty": 1.5, "renormalize_logits": true, "encoder_no_repeat_ngram_size": 2,
		}), false, &words},
		"the class": {nil, members{"num_beams": nil}, false, &arch.Search{Beams: 1, LengthPenalty: 1, ForcedEnd: true}},
		"neutral":   {nil, members{"num_beams": 1, "forced_eos_token_id": nil, "repetition_penalty": 1.0, "min_length": 0, "length_penalty": 2.0}, false, nil},
	} {
		fsys := copyOf(t, "bart")
		set(t, fsys, "config.json", c.config)
		set(t, fsys, "generation_config.json", c.generation)
		if c.none {
			delete(fsys, "m/generation_config.json")
		}
		if got := openIn(t, fsys, "m").Seq2Seq.Search; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for key, value := range (members{
		"num_beams": 65, "max_length": 1, "length_penalty": 11, "early_stopping": 1, "forced_eos_token_id": 3, "num_beam_groups": 2, "bad_words_ids": [][]int{{280}},
		"repetition_penalty": 0, "min_length": -1, "encoder_no_repeat_ngram_size": -1, "diversity_penalty": 0.5, "suppress_tokens": []int{3},
	}) {
		fsys := copyOf(t, "bart")
		set(t, fsys, "generation_config.json", members{key: value})
		checkRejected(t, key, fsys, "m/generation_config.json: "+key+": ")
	}
}

// A search of a pack is the file's. Those that cannot be run are refused.
func TestHostileSearch(t *testing.T) {
	for _, c := range []struct {
		model, member string
		more          []hostileSearch
	}{
		{"bart", "seq2seq", nil},
		{"marian", "translation", []hostileSearch{{"max_length", 0, "no max_length"}}},
	} {
		data := packed(t, c.model, transformer.F32)
		files := func(data []byte) fstest.MapFS { return fstest.MapFS{"m.safetensors": {Data: data}} }
		m, want := must(arch.Open(files(data), "m.safetensors")), open(t, c.model)
		if !reflect.DeepEqual(m.Seq2Seq, want.Seq2Seq) || !reflect.DeepEqual(m.Translation, want.Translation) {
			t.Errorf("%s: %+v, %+v", c.model, m.Seq2Seq, m.Translation)
		}
		every := make([]int, m.Spec.Vocab)
		for id := range every {
			every[id] = id
		}
		for _, h := range append([]hostileSearch{
			{"beams", 0, "with 0 beams"}, {"beams", 65, "with 65 beams"}, {"max_length", 1, "texts of 1 tokens"}, {"max_length", 257, "texts of 257 tokens"}, {"max_length", -1, "texts of -1"},
			{"length_penalty", -11, "length penalty -11"}, {"early_stopping", 3, "early_stopping 3"}, {"min_length", -1, "min_length -1"}, {"no_repeat", -1, "no_repeat -1"},
			{"no_copy", 1 << 40, "no_copy 1099511627776"}, {"repetition_penalty", -1, "repetition_penalty -1"}, {"suppressed", []int{m.Spec.Vocab}, "a token is not below"},
			{"suppressed", every, "or none may be written"}, {"suppressed", make([]int, 513), "513 tokens"}, {"unwanted", [][]int{{1}}, "1 sequences are not"},
			{"unwanted", [][]int{{1, -1}}, "1 sequences are not"}, {"unwanted", slices.Repeat([][]int{{1, 2}}, 257), "257 sequences are not"},
		}, c.more...) {
			var d map[string]any
			if err := json.Unmarshal([]byte(describedIn(t, data)), &d); err != nil {
				t.Fatal(err)
			}
			search := d[c.member].(map[string]any)
			if inner, ok := search["search"]; ok {
				search = inner.(map[string]any)
			}
			search[h.member] = h.value
			if _, err := arch.Open(files(repacked(t, data, string(must(json.Marshal(d))))), "m.safetensors"); err == nil || !strings.Contains(err.Error(), h.want) {
				t.Errorf("%s, %s %.60v: %v", c.model, h.member, h.value, err)
			}
		}
	}
}

// A hostileSearch changes a search, which is refused for a reason then.
type hostileSearch struct {
	member string
	value  any
	want   string
}
