package transformer_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// encoders are random models that only encode.
func encoders(t *testing.T) (all []*transformer.Model) {
	for _, seed := range architectures {
		if m := transformertest.RandomEncoder(uint64(seed)); m != nil {
			all = append(all, load(t, m, kernel.Best(), transformer.Q8_0))
		}
	}
	return all
}

// Workers compute parts of the same text to the same bits, whatever the encoder: one text, a long one
// among short ones, texts of which each worker has some and parts of others, pairs, and prefixes that
// all tokens see.
func TestTextsInParts(t *testing.T) {
	for i, model := range encoders(t) {
		comparePortions(t, fmt.Sprint("encoder ", i), model, func(_ *transformer.Team, pass *transformer.Pass) (results []float32) {
			for _, lengths := range [][]int{{13}, {2, 29, 1}, {17, 17, 17, 17}, {5}} {
				var texts [][]int
				var second []int
				for _, n := range lengths {
					texts, second = append(texts, tokens(n, 31)), append(second, n/3)
				}
				must(pass.EncodePairs(texts, second))
				results = append(results, pass.Last()...)
				must(pass.Encode(texts))
				results = append(results, pass.Last()...)
			}
			return results
		})
	}
}

// If the worker of a part is stopped, no other waits for it, and the pass is stopped.
func TestPartStops(t *testing.T) {
	model := encoders(t)[0]
	synctest.Test(t, func(t *testing.T) { // which ends if all wait
		team := transformer.NewTeam(3)
		defer team.Close()
		pass := model.NewPass(team)
		pass.ShareTexts = true
		text := [][]int{tokens(12, 31)}
		must(pass.Encode(text))
		want := slices.Clone(pass.Last())
		for nth := range int32(3) {
			var asked atomic.Int32
			pass.Stop = func() bool { return asked.Add(1) == nth+1 }
			if memories, err := pass.Encode(text); !errors.Is(err, transformer.ErrStopped) || memories != nil {
				t.Errorf("a stopped part: %v, %v", memories, err)
			}
			pass.Stop = nil
			if must(pass.Encode(text)); !slices.Equal(pass.Last(), want) {
				t.Error("after a stop the pass computes something else")
			}
		}
	})
}

// Portions meet in each layer, unless one has left.
func TestMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := transformer.Chain(transformer.NewTeam(3), 3)
		var met atomic.Int32
		for _, p := range passes[:2] {
			go func() {
				for range 3 {
					p.Meet()
					met.Add(1)
				}
			}()
		}
		for layer := range int32(2) {
			if synctest.Wait(); met.Load() != 2*layer {
				t.Fatalf("two portions have met %d times in all before the third came to layer %d", met.Load(), layer)
			}
			passes[2].Meet()
		}
		synctest.Wait()
		passes[2].Leave()
		if synctest.Wait(); met.Load() != 6 {
			t.Errorf("two portions met %d times in all, want 6: the third has left", met.Load())
		}
	})
}

// A text that is cut has room of its own for each head of a layer, and for the layer before it.
func TestTextRooms(t *testing.T) {
	for i, model := range encoders(t) {
		rooms := model.TextRooms(21)
		for n, room := range rooms {
			for j := range room {
				room[j] = float32(n)
			}
		}
		for n, room := range rooms {
			if slices.ContainsFunc(room, func(v float32) bool { return v != float32(n) }) {
				t.Errorf("encoder %d: room %d of %d is that of another", i, n, len(rooms))
			}
		}
	}
}
