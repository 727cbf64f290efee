// Command greedy continues some prompts greedily with a model in float32, and writes the
// logits of every step, for agree.py to compare with another engine's logits for the same
// tokens. Prompts are random tokens: their continuations are less certain than those of
// texts, so that small differences show.
//
//	greedy MODEL STEPS LOGITS
//
// It writes the rows of all prompts to LOGITS, (prompts*STEPS, vocab) float32, little endian,
// and prints the tokens as JSON.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"glossa/pkg/bench"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A text is a prompt and its continuation.
type text struct {
	Prompt int   `json:"prompt"` // tokens of the prompt
	Tokens []int `json:"tokens"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "greedy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: greedy MODEL STEPS LOGITS")
	}
	steps, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	m, err := bench.Open(args[0])
	if err != nil {
		return err
	}
	defer m.Close()
	model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32)
	if err != nil {
		return err
	}
	file, err := os.Create(args[2])
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	random := rand.New(rand.NewPCG(1, 2))
	var texts []text
	for _, length := range []int{1, 4, 16, 64} {
		prompt := make([]int, length)
		for i := range prompt {
			prompt[i] = random.IntN(m.Spec.Vocab)
		}
		t, err := follow(model, prompt, steps, w)
		if err != nil {
			return err
		}
		texts = append(texts, t)
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"vocab": m.Spec.Vocab, "steps": steps, "texts": texts})
}

// follow appends the most likely token to a prompt, steps times, and writes the logits.
func follow(m *transformer.Model, prompt []int, steps int, w *bufio.Writer) (text, error) {
	if len(prompt)+steps > m.Context {
		return text{}, fmt.Errorf("%d tokens and %d more are beyond the context of %d", len(prompt), steps, m.Context)
	}
	pass, cache := m.NewPass(nil), m.NewCache(len(prompt)+steps)
	t := text{Prompt: len(prompt), Tokens: prompt}
	for next := prompt; len(t.Tokens) < len(prompt)+steps; {
		logits, err := pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: next, Logits: 1}})
		if err != nil {
			return text{}, err
		}
		if err := binary.Write(w, binary.LittleEndian, logits); err != nil {
			return text{}, err
		}
		next = []int{likeliest(logits)}
		t.Tokens = append(t.Tokens, next[0])
	}
	return t, nil
}

// likeliest returns the first token with the largest logit.
func likeliest(logits []float32) (token int) {
	for i, v := range logits {
		if v > logits[token] {
			token = i
		}
	}
	return token
}
