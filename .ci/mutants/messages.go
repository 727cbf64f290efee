package main

// messagesAPI: Anthropic's Messages API, and what it needs of the engine.
func messagesAPI() []mutant {
	const dialect, engine, chat = "pkg/dialect/anthropic", "pkg/engine", "pkg/chat"
	return []mutant{
		{"messages: thinking is returned although it is to be omitted", dialect, "answer.write", "if a.gen.omitted { return }", "", dialect, "^TestAnswers$"},
		{"messages: a call that the model garbled counts as cut", "pkg/openaiapi", "AnsweredArguments", "why == llm.FinishEOS", "false", dialect, "^TestErrors$"},
		{"messages: an answer after a call ends with tool_use", dialect, "answer.finish", "a.open != nil && a.open.Type == typeUse", "len(a.Content) > 0 || a.open != nil", dialect, "^TestAnswers$"},
		{"messages: a result has two answers", dialect, "conversation.result", "delete(t.asked, *b.ToolUseID)", "", dialect, "^Test(TwoResults|BadRequests)$"},
		{"messages: texts run into each other", "pkg/openaiapi", "AppendPart", `parts[n-1].Text += "\n"`, "", dialect, "^TestMessages$"},
		{"messages: a failed call has succeeded", dialect, "conversation.result", "b.IsError != nil && *b.IsError", "false", dialect, "^TestMessages$"},
		{"messages: the last message is answered, not continued", dialect, "prompted.request", "g.Continue = new(true)", "g.Continue = nil", dialect, "^TestMessages$"},
		{"messages: an effort is left out that a remote model refuses", dialect, "generation.leaveOutEffort", "g.IgnoresEffort(&model.ModelInfo)", "g.Effort != nil && !model.Reasons", dialect, "^TestEffort$"},
		{"messages: a fallback refuses an effort that another model got", "pkg/resilience", "search.without", "req.IgnoresEffort(model)", "false", "pkg/resilience", "^TestOptionalEffort$"},
		{"messages: models reason as their own templates say, not their records'", "pkg/catalog", "Record.entry", "info.Reasons = *rec.Reasons", "", "pkg/local", "^TestReasons$"},
		{"messages: an open model reasons as its listing says", "pkg/catalog", "fill", "info.Reasons = more.Reasons", "", "pkg/local", "^TestReasons$"},
		{"messages: a page of models ends the list", dialect, "listRequest.page", "to-from > limit", "false", dialect, "^TestModelPages$"},
		{"messages: a page repeats its first model", dialect, "listRequest.page", "from++", "", dialect, "^TestModelPages$"},
		{"messages: keys of older clients are not read", "pkg/account", "secretOf", `return strings.TrimSpace(h.Get("X-Api-Key"))`, `return ""`, "pkg/account", "^TestSecretOf$"},
		{"messages: tools that are not offered are unknown", dialect, "prompted.structure", "g.Declared = all", "", dialect, "^TestParameters$"},
		{"messages: an error names another tool", dialect, "generation.rename", `openaiapi.RenameTool(err, g.paths)`, "err", dialect, "^TestErrors$"},
		{"messages: the beginning of an answer may spell marks", chat, "Template.renderContinued", "llm.Part{Text: text}", "llm.Part{Text: text, Special: true}", chat, "^TestContinue$"},
		{"messages: an answer that continues may reason", engine, "Engine.begins", "return reasoning.Answer, nil", "return begin, nil", engine, "^TestContinueThinking$"},
		{"messages: the answer names a stop sequence that did not end it", engine, "text.find", "at, found, t.stop = begin+i, true, stop", "at, found, t.stop = begin+i, true, t.stops[0]", engine, "^TestStopIsTold$"},
	}
}
