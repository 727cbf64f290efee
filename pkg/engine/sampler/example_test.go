package sampler_test

import (
	"errors"
	"fmt"
	"log"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
	"glossa/pkg/grammar"
)

// A sampler with a seed always makes the same choices.
func Example() {
	logits := []float32{1, 3, 2, 2.5}
	for _, temperature := range []float64{0, 1} {
		s, err := sampler.New(sampler.Config{Temperature: temperature, TopK: 3, Seed: 7}, len(logits))
		if err != nil {
			log.Fatal(err)
		}
		var ids []int
		for step := range 6 {
			id := s.Sample(logits, step)
			s.Observe(id) // for the penalties
			ids = append(ids, id)
		}
		fmt.Println(ids)
	}
	// Output:
	// [1 1 1 1 1 1]
	// [2 3 1 1 3 1]
}

// The masks of package grammar restrict the choice to a format.
func ExampleSampler_SampleMasked() {
	g, err := grammar.Regexp("yes|no")
	if err != nil {
		log.Fatal(err)
	}
	tokens := []string{"maybe", "no", "yes", "n"}
	constraint, err := g.Bind(grammar.NewVocabulary(tokens))
	if err != nil {
		log.Fatal(err)
	}
	s, err := sampler.New(sampler.Config{}, len(tokens))
	if err != nil {
		log.Fatal(err)
	}
	mask := constraint.Start().Mask(1)
	id := s.SampleMasked([]float32{9, 1, 2, 8}, 0, &sampler.Mask{Bits: mask.Bits, Count: mask.Count})
	fmt.Println(tokens[id])
	// Output:
	// yes
}

// New rejects a parameter by its name.
func ExampleNew() {
	_, err := sampler.New(sampler.Config{TopP: 2}, 100)
	if e, ok := errors.AsType[*sampler.ParamError](err); ok {
		fmt.Println(e.Param)
	}
	// Output:
	// top_p
}

// Logprobs returns the log-probability of a token and those of the likeliest.
func ExampleLogprobs() {
	logprob, top := sampler.Logprobs(kernel.Best(), []float32{0, 1, 0, 0}, 4, 0, 2)
	fmt.Printf("%.3f\n", logprob)
	for _, t := range top {
		fmt.Printf("%d %.3f\n", t.ID, t.Logprob)
	}
	// Output:
	// -1.744
	// 1 -0.744
	// 0 -1.744
}
