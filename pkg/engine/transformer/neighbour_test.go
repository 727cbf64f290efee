package transformer_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

var burn = flag.Bool("burn", false, "be a busy neighbour: burn a processor until standard input ends")

func TestMain(m *testing.M) {
	if flag.Parse(); *burn {
		go burnOn()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

func burnOn() {
	for x := uint64(1); x != 0; {
		x *= 3 // is odd for ever
	}
}

// BenchmarkNeighbours decodes with and without a busy process on each processor, and reports
// the best of all rounds. A model of some 20 MB takes a millisecond a token.
func BenchmarkNeighbours(b *testing.B) {
	spec, w := plain(512, 6, 2000)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			m, err := transformer.New(spec, w, kernel.Best(), transformer.Q8_0)
			if err != nil {
				b.Fatal(err)
			}
			team := transformer.NewTeam(threads)
			defer team.Close()
			pass, cache := m.NewPass(team), m.NewCache(m.Context)
			var quiet, busy float64 // tokens a second
			for b.Loop() {
				quiet = max(quiet, decodeSpeed(pass, cache))
				part := neighbours(b)
				busy = max(busy, decodeSpeed(pass, cache))
				part()
			}
			b.ReportMetric(quiet, "quiet-tokens/s")
			b.ReportMetric(busy, "busy-tokens/s")
			b.ReportMetric(busy/quiet, "ratio")
		})
	}
}

// decodeSpeed decodes for a second and returns the tokens per second.
func decodeSpeed(pass *transformer.Pass, cache *transformer.Cache) float64 {
	n, begin := 0, time.Now()
	for ; time.Since(begin) < time.Second; n++ {
		cache.Len = 32
		pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: []int{1}, Logits: 1}})
	}
	return float64(n) / time.Since(begin).Seconds()
}

// neighbours starts a process for each processor; the returned function part ends them.
func neighbours(b *testing.B) (part func()) {
	b.Helper()
	var ends []func()
	for range runtime.GOMAXPROCS(0) {
		c := exec.Command(os.Args[0], "-burn")
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		ends = append(ends, func() {
			_ = in.Close()
			_ = c.Wait()
		})
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
