// Command phrases writes the sentences that train the starter model for translation:
// English and French pairs about people, meals, shops, journeys, the weather and the
// time. Each line of its output is a pair: the set (train or held-out), the direction
// (both, en-fr or fr-en), English and French, separated by tabs.
//
// A lexicon and a grammar of our own make every pair: one seed gives the same pairs on
// every platform. The grammar builds a sentence once and writes it in both languages, so
// that agreement, elision and word order come from rules and not from a list. The
// command knows nothing of tokenizers, models or training.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	seed := flag.Uint64("seed", 1, "the same `N` gives the same pairs")
	count := flag.Int("pairs", 400_000, "how many different `pairs` to write")
	flag.Parse()
	if err := write(os.Stdout, *seed, *count); err != nil {
		fmt.Fprintln(os.Stderr, "phrases:", err)
		os.Exit(1)
	}
}

// write leaves out the pairs that it has written before.
func write(to io.Writer, seed uint64, count int) error {
	w := bufio.NewWriter(to)
	seen := map[Pair]bool{}
	for p := range Pairs(seed) {
		if len(seen) == count {
			break
		}
		if seen[p] {
			continue
		}
		seen[p] = true
		set, way := "train", [...]string{"both", "en-fr", "fr-en"}[p.Direction]
		if p.HeldOut {
			set = "held-out"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", set, way, p.English, p.French)
	}
	return w.Flush()
}
