// Command embeddings measures the encoder of a directory for compare.py: for each line
// "TOKENS BATCH" of its input it embeds BATCH texts of TOKENS random tokens in one request,
// and prints the nanoseconds that this took. For the line "peak" it prints how many operations on bytes
// the processor does in a second, two a multiply-add, without AMX.
//
//	embeddings MODEL FORMAT THREADS
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// ids are the tokens of texts, none of which is special in the models of compare.py.
const firstID, lastID = 1000, 20000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "embeddings:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: embeddings MODEL FORMAT THREADS")
	}
	format, ok := transformer.Formats()[args[1]]
	if !ok {
		return fmt.Errorf("%q is not a format of weights", args[1])
	}
	threads, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	m, err := arch.OpenPath(args[0])
	if err != nil {
		return err
	}
	e, err := engine.NewEncoder(m, engine.Config{Name: args[0], Format: format, Team: transformer.NewTeam(threads), MaxMemory: 8 << 30})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "peak" {
			fmt.Printf("%.0f\n", peak(threads))
			continue
		}
		var tokens, batch int
		if _, err := fmt.Sscan(lines.Text(), &tokens, &batch); err != nil {
			return err
		}
		took, err := measure(e, tokens, batch)
		if err != nil {
			return err
		}
		fmt.Println(took.Nanoseconds())
	}
	return errors.Join(lines.Err(), e.Close())
}

// measure returns the time of one request.
func measure(e *engine.Encoder, tokens, batch int) (time.Duration, error) {
	random, req := rand.New(rand.NewPCG(1, 2)), &llm.EmbedRequest{}
	for range batch {
		ids := slices.Repeat([]int{0}, tokens)
		for i := range ids {
			ids[i] = firstID + random.IntN(lastID-firstID)
		}
		req.Prompts = append(req.Prompts, llm.Prompt{Parts: []llm.Part{{Tokens: ids}}})
	}
	start := time.Now()
	list, _, err := e.Embed(context.Background(), req)
	if err == nil && len(list) != batch {
		err = fmt.Errorf("%d vectors of %d texts", len(list), batch)
	}
	return time.Since(start), err
}

// peak returns how many operations of its own on bytes a number of threads do in a second.
func peak(threads int) float64 {
	const rounds = 1 << 20
	k := kernel.Best()
	var group sync.WaitGroup
	start := time.Now()
	for range threads {
		group.Go(func() { k.ByteRounds(rounds) })
	}
	group.Wait()
	return float64(threads) * float64(k.ByteRounds(1)) * rounds / time.Since(start).Seconds()
}
