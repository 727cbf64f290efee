package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"glossa/pkg/grammar"
)

// A sender with one compilation waits for at most one compilation of each other sender.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := grammar.NewTurns(1)
		done, err := turns.Take(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		var served []string
		wait := func(ctx context.Context, name string) {
			go func() {
				done, err := turns.Take(ctx, name)
				if err != nil {
					served = append(served, fmt.Sprint(name, ": ", err))
					return
				}
				served = append(served, name)
				done()
			}()
			synctest.Wait()
		}
		gone, cancel := context.WithCancel(t.Context())
		for range 3 {
			wait(t.Context(), "flood")
		}
		wait(gone, "gone")
		wait(t.Context(), "one")
		cancel()
		synctest.Wait()
		done()
		synctest.Wait()
		if want := []string{"gone: context canceled", "flood", "one", "flood", "flood"}; !slices.Equal(served, want) {
			t.Errorf("served %q, want %q", served, want)
		}
		if done, err = turns.Take(t.Context(), "last"); err != nil {
			t.Fatal("the turn was lost:", err)
		}
		done()
	})
}

// Each sender's queue has its own bound.
func TestTurnsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := grammar.NewTurns(1)
		done, err := turns.Take(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		busy, rest := 0, 0
		for i := range 100 {
			name := "flood"
			if i == 99 {
				name = "one"
			}
			go func() {
				done, err := turns.Take(t.Context(), name)
				switch {
				case errors.Is(err, grammar.ErrBusy) && name == "flood":
					busy++
				case err == nil:
					rest++
					done()
				default:
					t.Error(name, err)
				}
			}()
			synctest.Wait()
		}
		done()
		synctest.Wait()
		if busy == 0 || busy+rest != 100 {
			t.Errorf("%d are refused, %d served", busy, rest)
		}
	})
}
