package main

import (
	"github.com/spf13/cobra"

	"glossa/pkg/llm"
)

// chatCommand returns glossa chat, which talks with a model of this process.
func (p *program) chatCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "chat [MODEL]", Short: "Chat with a model in the terminal", Args: positional(0, "MODEL"),
		Long:              "Chat with a model in the terminal, or over a pipe. Without MODEL the default\nmodel answers. /help lists the commands of a chat.",
		Example:           "  glossa chat novels\n  glossa chat mine --checkpoints runs --temperature 0\n  echo 'The old lighthouse' | glossa chat novels",
		ValidArgsFunction: p.completeModels,
	}
	var dir string
	checkpointsFlag(c, &dir)
	f := c.Flags()
	params := llm.Params{
		MaxTokens:   f.Int("max-tokens", 200, "maximum `number` of tokens of an answer"),
		Temperature: f.Float64("temperature", 0.8, "sampling temperature, from 0 to 2; 0 always takes the most likely token"),
	}
	seed := f.Int64("seed", 0, "the same seed gives the same answers (default random)")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *params.MaxTokens < 1:
			return usagef("--max-tokens: %d must be positive", *params.MaxTokens)
		case !(*params.Temperature >= 0 && *params.Temperature <= 2): // NaN too
			return usagef("--temperature: %v must be from 0 to 2", *params.Temperature)
		}
		if f.Changed("seed") {
			params.Seed = seed
		}
		a, err := p.open(dir)
		if err != nil {
			return err
		}
		return chatWith(c.Context(), a.Models(), first(args), params, p.stdin, p.stdout, p.stderr)
	}
	return c
}
