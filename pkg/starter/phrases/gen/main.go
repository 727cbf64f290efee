// Command gen writes pairs of package phrases to standard output, one to a line:
// the set (train or held-out), the direction (both, en-fr or fr-en), English and
// French, between tabs.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"glossa/pkg/starter/phrases"
)

func main() {
	seed := flag.Uint64("seed", 1, "the same `N` gives the same pairs")
	count := flag.Int("pairs", 400_000, "how many different `pairs` to write")
	flag.Parse()
	if err := write(os.Stdout, *seed, *count); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write leaves out the pairs that it has written before.
func write(to io.Writer, seed uint64, count int) error {
	w := bufio.NewWriter(to)
	seen := map[phrases.Pair]bool{}
	for p := range phrases.Pairs(seed) {
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
