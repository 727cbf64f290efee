package main

// responsesAPI: OpenAI's Responses API.
func responsesAPI() []mutant {
	const dialect = "pkg/dialect/responses"
	const archive = "pkg/archive"
	return []mutant{
		{"responses: another owner cancels", dialect, "running.cancel", `owner + "/" + id`, `"ann/" + id`, dialect, "^TestCancel$"},
		{"responses: what another process cancels runs on", dialect, "Config.watched", "cfg.Shared", "false", dialect, "^TestCancel$"},
		{"responses: a cancelled one is incomplete", dialect, "answer.finish", "c.Finish == llm.FinishCancelled", "false", dialect, "^TestCancel$"},
		{"responses: marks are kept", dialect, "Config.cancel", "_ = cfg.Store.Delete(context.WithoutCancel(ctx), owner, markOf(id))", "", dialect, "^TestCancel$"},
		{"responses: every owner reads all responses in a table", archive, "Table.key", `t.Kind + "#" + owner`, `t.Kind + "#"`, archive, "^TestArchive$"},
		{"responses: an expired response is read from a table", archive, "Table.first", `integer(item, "expires") <= t.now().Unix()`, "false", archive, "^TestArchive$"},
		{"responses: an expired response is read from memory", archive, "Memory.find", "!m.now().Before(d.expires)", "false", archive, "^TestArchive$"},
		{"responses: an owner takes the memory of others", archive, "Memory.Put", "s.bytes+n > m.total()/sharers", "false", archive, "^TestMemoryIsBounded$"},
		{"responses: all owners are one", dialect, "Config.find", "cfg.owner(ctx)", `""`, dialect, "^Test(Others|Stored)$"},
		{"responses: keys are not owners", app, "owner", "llm.OwnerOf(ctx)", `llm.OwnerOf(ctx)[:0]`, app, "^TestResponsesInTheTable$"},
		{"responses: a chain forgets its answers", dialect, "Config.previous", "slices.Concat(d.Items, a.Output)", "d.Items", dialect, "^TestContinues$"},
		{"responses: a chain forgets its beginning", dialect, "createRequest.items", "slices.Clone(c.earlier)", "nil", dialect, "^TestChain$"},
		{"responses: a failed response continues", dialect, "Config.previous", "a.Status != completed && a.Status != incomplete", "false", dialect, "^TestFailedIsKept$"},
		{"responses: an answer that was lost claims to be stored", dialect, "answer.close", "a.Store = a.keep()", "a.keep()", dialect, "^TestNotStored$"},
		{"responses: items share ids", dialect, "Config.prepare", "a.before, a.Store = own, true", "a.before, a.Store = 0*own, true", dialect, "^TestInputItems$"},
		{"responses: each call is a message of its own", dialect, "conversation.call", "return false", "return true", dialect, "^Test(Messages|Merged)$"},
		{"responses: a summary doubles the reasoning", dialect, "conversation.reasoning", "!content", "!content || true", dialect, "^TestMessages$"},
		{"responses: an output answers any kind of call", dialect, "conversation.output", `kind+"_output" != it.Type`, "false", dialect, "^TestBadInput$"},
		{"responses: a custom tool's arguments are its input", dialect, "customInput", "in.Input == nil", "in.Input != nil", dialect, "^Test(Messages|RoundTrip|Codex)$"},
		{"responses: a part of an input matches its grammar", dialect, "toolFormat.schema", `"^(?:" + *f.Definition + ")$"`, `"(?:" + *f.Definition + ")"`, dialect, "^TestRequest$"},
		{"responses: truncation parts calls and outputs", dialect, "group", `i > last && m.Role != "tool"`, "i > last", dialect, "^TestTruncation$"},
		{"responses: truncation leaves no room for the answer", dialect, "generation.fit", "or(g.MaxTokens, model.Context)", "1", dialect, "^TestTruncation$"},
		{"responses: a cut answer is complete", dialect, "answer.finish", "a.Status, a.IncompleteDetails = incomplete, &incompleteDetails{\"max_output_tokens\"}", "", dialect, "^TestGolden$"},
		{"responses: a text after a call comes before it", dialect, "answer.write", "a.open == nil || a.open.kind != kind", "a.open == nil", dialect, "^Test(Streams|RoundTrip)$"},
		{"responses: tokens of calls are of the text", dialect, "answer.call", "a.pending = nil", "", dialect, "^TestGolden$"},
		{"responses: events have no numbers", dialect, "answer.emit", "a.number++", "", dialect, "^TestStreams$"},
		{"responses: a failed stream has two ends", dialect, "answer.abort", "e.Err = sent{e.Err}", "", dialect, "^TestFailures$"},
		{"responses: an output without a call is that of another", dialect, "conversation.uncalled", "strconv.Itoa(len(t.messages))", `"1"`, dialect, "^TestUncalled$"},
		{"responses: a call loses its namespace", dialect, "answer.call", "o.Name, o.Namespace, o.CallID = t.Name, t.namespace, c.ID", "o.Name, o.CallID = t.Name, c.ID", dialect, "^TestNamespaces$"},
		{"responses: tools of two namespaces are one", dialect, "qualified", `namespace + "__" + name`, "name", dialect, "^Test(Bad)?Namespaces$"},
		{"responses: an error names another tool", dialect, "generation.rename", "openaiapi.RenameTool(err, g.paths)", "err", dialect, "^TestFailures$"},
	}
}
