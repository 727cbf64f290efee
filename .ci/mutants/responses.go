package main

// responsesAPI: OpenAI's Responses API.
func responsesAPI() []mutant {
	const dialect = "pkg/dialect/responses"
	return []mutant{
		{"responses: each call is a message of its own", dialect, "conversation.call", "return false", "return true", dialect, "^Test(Messages|Merged)$"},
		{"responses: a summary doubles the reasoning", dialect, "conversation.reasoning", "!content", "!content || true", dialect, "^TestMessages$"},
		{"responses: an output answers any kind of call", dialect, "conversation.output", `kind+"_output" != it.Type`, "false", dialect, "^TestBadInput$"},
		{"responses: a custom tool's arguments are its input", dialect, "customInput", "in.Input == nil", "in.Input != nil", dialect, "^Test(Messages|RoundTrip|Codex)$"},
		{"responses: a cut answer is complete", dialect, "answer.finish", "a.Status, a.IncompleteDetails = incomplete, &incompleteDetails{\"max_output_tokens\"}", "", dialect, "^TestGolden$"},
		{"responses: a text after a call comes before it", dialect, "answer.write", "a.open == nil || a.open.kind != kind", "a.open == nil", dialect, "^Test(Streams|RoundTrip)$"},
		{"responses: tokens of calls are of the text", dialect, "answer.call", "a.pending = nil", "", dialect, "^TestGolden$"},
		{"responses: events have no numbers", dialect, "answer.emit", "a.number++", "", dialect, "^TestStreams$"},
		{"responses: a failed stream has two ends", dialect, "answer.abort", "e.Err = sent{e.Err}", "", dialect, "^TestFailures$"},
		{"responses: an error names another tool", dialect, "generation.rename", "openaiapi.RenameTool(err, g.indices, \"\")", "err", dialect, "^TestFailures$"},
	}
}
