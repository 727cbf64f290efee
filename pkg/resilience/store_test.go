package resilience

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

func (s *Store) has(k byte, keep time.Duration) bool {
	_, _, ok := s.get(key{k}, keep)
	return ok
}

func TestStoreIsBounded(t *testing.T) {
	const size = 1000
	s := &Store{Bytes: 10 * (size + overhead)}
	for k := range byte(10) {
		s.put(key{k}, nil, size, time.Hour)
	}
	if !s.has(0, time.Hour) || s.bytes != s.Bytes {
		t.Fatalf("%d bytes of %d", s.bytes, s.Bytes)
	}
	s.put(key{10}, nil, size, time.Hour) // 1 is the least recently used
	s.put(key{11}, nil, s.largest()+1, time.Hour)
	s.put(key{12}, nil, s.largest(), time.Hour) // takes the room of two
	for k, want := range map[byte]bool{0: true, 1: false, 2: false, 3: false, 4: true, 10: true, 11: false, 12: true} {
		if s.has(k, time.Hour) != want {
			t.Errorf("%d: want %v", k, want)
		}
	}
	for range 3 {
		s.put(key{12}, nil, size, time.Hour)
	}
	total := 0
	for _, at := range s.entries {
		total += at.Value.(*entry).bytes
	}
	if s.bytes != total || s.bytes > s.Bytes || len(s.entries) != s.recent.Len() {
		t.Errorf("%d bytes counted, %d there; %d entries, %d in the list", s.bytes, total, len(s.entries), s.recent.Len())
	}
}

func TestStoreForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{}
		s.put(key{1}, nil, 1, 10*time.Second)
		s.put(key{2}, nil, 1, time.Hour)
		time.Sleep(10*time.Second - 1)
		if !s.has(1, 10*time.Second) || s.has(1, 5*time.Second) { // the record has a shorter time by now
			t.Error("it goes before its time, or stays after it")
		}
		s.put(key{1}, nil, 1, 10*time.Second)
		time.Sleep(10 * time.Second)
		if s.has(1, time.Hour) {
			t.Error("it is too old")
		}
		s.put(key{3}, nil, 1, 10*time.Second)
		time.Sleep(2 * sweepEvery)
		s.has(9, time.Hour)
		if len(s.entries) != 1 || !s.has(2, time.Hour) {
			t.Errorf("%d entries", len(s.entries))
		}
	})
}

func TestStoreOfMany(t *testing.T) {
	s := &Store{Bytes: 50 * overhead}
	var wg sync.WaitGroup
	for g := range byte(4) {
		wg.Go(func() {
			for i := range 1000 {
				k := byte(i%100) ^ g
				s.put(key{k}, nil, i%200, time.Hour)
				s.get(key{k}, time.Hour)
			}
		})
	}
	wg.Wait()
	if s.bytes > s.Bytes {
		t.Errorf("%d bytes", s.bytes)
	}
}

// A copy shares nothing that can change.
func TestCopyOfChunks(t *testing.T) {
	before := chunk(2)
	own, size, ok := copyChunk(before)
	if !reflect.DeepEqual(own, chunk(2)) || !ok || size < 200 {
		t.Fatalf("%+v, %d bytes", own, size)
	}
	spoil(reflect.ValueOf(&before).Elem())
	if !reflect.DeepEqual(own, chunk(2)) {
		t.Errorf("%+v", own)
	}
	empty, size, _ := copyChunk(llm.Chunk{})
	if !reflect.DeepEqual(empty, llm.Chunk{}) || size != chunkSize {
		t.Errorf("%+v", empty)
	}
}

// chunk returns a chunk with all fields set; tokens contain others.
func chunk(depth int) llm.Chunk {
	c := llm.Chunk{Tokens: tokens(depth)}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			v.Field(i).Set(full(v.Field(i).Type()))
		}
	}
	return c
}

func tokens(depth int) []llm.Token {
	if depth == 0 {
		return nil
	}
	return []llm.Token{{ID: 1, Text: "t", Piece: "p", Logprob: -1, Top: tokens(depth - 1)}}
}

// spoil sets everything that v contains to zero.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
		v.SetZero()
	default:
		v.SetZero()
	}
}

// The same for answers in one piece; one of another type is not kept.
func TestCopyOfAnswers(t *testing.T) {
	for _, make := range []func() any{
		func() any { return &llm.Score{Logprob: -1, Tokens: tokens(2), Greedy: true, Argmax: "a"} },
		func() any { return []llm.Translation{{Text: "a", Source: "en", Score: 1}} },
		func() any {
			return []llm.Embedding{{Tokens: tokens(2), Layers: []llm.Layer{{Index: 1, Vectors: [][]float32{{1, 2}, {3}}}}}}
		},
	} {
		before := intercept.Piece{Value: make(), Usage: &llm.Usage{Input: 3}}
		own, size, ok := copyPiece(&before)
		if !ok || size <= chunkSize+pieceSize || !reflect.DeepEqual(own.Value, make()) || *own.Usage != (llm.Usage{Input: 3}) {
			t.Fatalf("%+v, %d bytes", own, size)
		}
		spoil(reflect.ValueOf(before.Value))
		before.Usage.Input = 0
		if !reflect.DeepEqual(own.Value, make()) || own.Usage.Input != 3 {
			t.Errorf("%+v", own)
		}
	}
	if _, _, ok := copyPiece(&intercept.Piece{Value: []int{1}}); ok {
		t.Error("a value was kept that nobody knows how to copy")
	}
}

func TestCopyOfKeys(t *testing.T) {
	list := []any{"a", nil, map[string]any{"b": json.Number("1")}}
	keys := map[string]any{"list": list, "n": 1.5, "nil": nil, "none": []any(nil), "no": map[string]any(nil), "i": 1, "l": int64(1), "t": true}
	own, size, ok := copyKeys(keys)
	if !ok || !reflect.DeepEqual(own, keys) || size < len(keys)*pairSize {
		t.Fatalf("%v, %d bytes", own, size)
	}
	list[0], list[2].(map[string]any)["b"] = "other", "other"
	got := own["list"].([]any)
	if got[0] != "a" || got[2].(map[string]any)["b"] != json.Number("1") {
		t.Errorf("%v", own)
	}
	if _, _, ok := copyKeys(map[string]any{"deep": []any{map[string]any{"p": new(int)}}}); ok {
		t.Error("a pointer was copied")
	}
}

// The constants are at least the sizes of the structs.
func TestSizes(t *testing.T) {
	for name, s := range map[string][2]uintptr{
		"chunk": {chunkSize, unsafe.Sizeof(llm.Chunk{}) + unsafe.Sizeof(llm.Usage{})}, "token": {tokenSize, unsafe.Sizeof(llm.Token{})},
		"call": {callSize, unsafe.Sizeof(llm.Call{})}, "piece": {pieceSize, unsafe.Sizeof(intercept.Piece{}) - unsafe.Sizeof(llm.Chunk{})},
		"score": {scoreSize, unsafe.Sizeof(llm.Score{})}, "translation": {translationSize, unsafe.Sizeof(llm.Translation{})}, "vector": {vectorSize, unsafe.Sizeof([]float32{})},
		"embedding": {embeddingSize, unsafe.Sizeof(llm.Embedding{})}, "layer": {layerSize, unsafe.Sizeof(llm.Layer{})},
		"overhead": {overhead, unsafe.Sizeof(entry{}) + 2*unsafe.Sizeof(key{}) + 48},
	} {
		if s[0] < s[1] {
			t.Errorf("%s: %d bytes are counted, it has %d", name, s[0], s[1])
		}
	}
}
