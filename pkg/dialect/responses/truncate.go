package responses

import (
	"context"
	"sort"

	"glossa/pkg/llm"
)

// fit drops items from the beginning of a conversation that does not fit the context of a
// model in this process, if the request allows it. It keeps instructions, the last message
// of the user and what follows the last step of the assistant. If these alone do not fit,
// the engine cuts their tokens.
func (g *generation) fit(ctx context.Context, model *llm.Model) error {
	renderer, err := llm.As[llm.Renderer](model)
	if g.Truncate == nil || model.Context == 0 || err != nil {
		return nil // a remote model's record maps the parameter
	}
	tokenizer, err := llm.As[llm.Tokenizer](model)
	if err != nil {
		return nil
	}
	all := g.Prompts[0].Messages
	tokens := func(messages []llm.Message) (n int) {
		if err != nil {
			return 0
		}
		var parts []llm.Part
		var start bool
		if parts, start, err = renderer.Render(ctx, llm.Prompt{Messages: messages}, &g.Params, true); err != nil {
			return 0
		}
		list, failed := tokenizer.Tokenize(ctx, parts, start)
		err = failed
		return len(list)
	}
	if tokens(all) < model.Context || err != nil { // a prompt is kept whole if one token of an answer fits
		return err
	}
	room := model.Context - min(max(1, or(g.MaxTokens, model.Context)), model.Context/2)
	groups, n := group(all)
	dropped := sort.Search(n, func(k int) bool { return tokens(without(all, groups, k)) <= room })
	g.Prompts[0].Messages = without(all, groups, dropped)
	return err
}

// group returns the group of each message, -1 if it is always kept, and the number of groups.
// Groups are dropped in their order: turns, which begin with a message of the user, and then
// the steps of the assistant in the last turn, each with the outputs of its calls.
func group(messages []llm.Message) (groups []int, n int) {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != "user" {
		last--
	}
	groups, n = make([]int, len(messages)), -1
	before := ""
	for i, m := range messages {
		groups[i] = -1
		if m.Role == "system" || i == last {
			continue
		}
		if n < 0 || i > last && m.Role != "tool" || i < last && m.Role == "user" && before != "user" || i == last+1 {
			n++
		}
		groups[i], before = n, m.Role
	}
	if last < len(messages)-1 { // the last step is what the answer continues
		for i := range groups {
			if groups[i] == n {
				groups[i] = -1
			}
		}
		n--
	}
	return groups, n + 1
}

// without returns messages without the first k groups.
func without(messages []llm.Message, groups []int, k int) (kept []llm.Message) {
	for i, m := range messages {
		if groups[i] < 0 || groups[i] >= k {
			kept = append(kept, m)
		}
	}
	return kept
}
