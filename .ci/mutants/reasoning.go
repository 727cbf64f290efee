package main

// reasoned: reasoning before answers.
func reasoned() []mutant {
	const reader, dialect, invoke, llmtest = "pkg/reasoning", "pkg/dialect/openai", "pkg/dialect/invoke", "pkg/llm/llmtest"
	return []mutant{
		{"reasoning: part of a mark is emitted", reader, "Reader.inside", "partial(r.held, r.marks.Close)", "0*partial(r.held, r.marks.Close)", reader, "^Test(Reader|Streams)$"},
		{"reasoning: white space follows Close into the answer", reader, "Reader.between", "r.held = trimLeft(r.held)", "", reader, "^TestReader$"},
		{"reasoning: a client's text opens a block", reader, "Marks.After", "strings.HasSuffix(prompt, m.Open)", "strings.Contains(prompt, m.Open)", reader, "^TestAfter$"},
		{"reasoning: a closed prompt still reasons", reader, "Marks.After", "return Between", "return Before", engine, "^TestThinking(Split|EveryLength)$"},
		{"reasoning: the answer has no room", engine, "generation.mustClose", "left > b.cost()+g.constraint.Min()", "left > 1", engine, "^TestThinkingEveryLength$"},
		{"reasoning: the marks have no room", engine, "thinker.cost", "len(k.close) + len(k.answer)", "len(k.answer)", engine, "^TestThinking(EveryLength|Harmony)$"},
		{"reasoning: a block that cannot be closed is opened", engine, "generation.openToken", "left <= least", "left < 0", engine, "^TestThinkingGrammar$"},
		{"reasoning: a constraint forbids to open a block", engine, "generation.sampleConstrained", "id >= 0 && h.add(id)", "id >= 0 && false", engine, "^TestThinkingEveryLength$"},
		{"reasoning: the schema holds from the first token", engine, "block.take", "return was != reasoning.Before", "return false", engine, "^TestThinkingGrammar$"},
		{"reasoning: a token both closes and answers", engine, "generation.sampleThought", "r.block.reader.Closes(text)", "text == \"\"", engine, "^TestThinkingEveryLength$"},
		{"reasoning: the end of the model is a thought", engine, "generation.think", "!g.engine.ends[id] || slices.Contains(b.close, id)", "!g.engine.ends[id] || !slices.Contains(b.close, id)", engine, "^TestThinkingCutOff$"},
		{"reasoning: no limit", engine, "generation.mustClose", "b.limit >= 0 && b.tokens >= b.limit", "b.limit > 0 && b.tokens > 99*b.limit", engine, "^Test(MaxThinking|ThinkingOff)$"},
		{"reasoning: forced marks exceed the tokens that are left", engine, "generation.think", "room = min(room, g.maxTokens-r.count, g.window-r.length)", "", engine, "^TestMaxThinking$"},
		{"reasoning: off does not close an open block", engine, "Engine.newSettings", "s.maxThinking = 0", "", engine, "^TestThinkingOff$"},
		{"reasoning: tokens of marks are described", engine, "block.take", `t.state == reasoning.Answer && (was == reasoning.Answer || t.piece.Text != "")`, "t.state == reasoning.Answer", engine, "^TestThinkingHarmony$"},
		{"reasoning: the deadline forgets the answer", engine, "generation.mustClose", "left > b.cost()+g.constraint.Min()", "left > b.cost()", engine, "^TestThinkingDeadline$"},
		{"reasoning: an answer is counted as reasoning", engine, "generation.next", "g.usage.Reasoning += count", "g.usage.Reasoning += 1 + 0*count", engine, "^TestThinkingSplit$"},
		{"reasoning: the mark after an answer stays", reader, "Reader.answer", "!r.framed || end == \"\"", "true", reader, "^TestReader$"},
		{"reasoning: an answer without a mark loses a text like its end", reader, "Reader.answer", "!r.framed || end == \"\"", "!r.framed && r.marks.Calls != \"\" || end == \"\"", reader, "^TestReader$"},
		{"reasoning: the mark of an answer ends in a call", reader, "Reader.answer", "call < at", "false", reader, "^TestReader$"},
		{"reasoning: the label of an answer is its text", reader, "Reader.answer", "strings.TrimPrefix(r.held, label)", "r.held", reader, "^TestReader$"},
		{"reasoning: HunYuan's answers have no marks", reader, "Detect", `"<answer>", "</answer>"`, `"", ""`, reader, "^TestDetect$"},
		{"reasoning: answers with tools show their marks", engine, "block.take", "!b.framed", "true", engine, "^TestThinkingFramedTools$"},
		{"reasoning: the byte of a mark hides that reasoning begins", engine, "block.take", "read = spelling", "_ = spelling", engine, "^TestHarmony$"},
		{"reasoning: a call has no header after reasoning", engine, "generation.newBlock", "k.header, \"\"", "nil, \"\"", engine, "^TestHarmony$"},
		{"reasoning: raw prompts are read for marks", engine, "generation.newBlock", "k == nil || !p.chat", "k == nil", engine, "^TestThinkingSplit$"},
		{"reasoning: variables that no template reads", engine, "Engine.templateVariables", "!e.template.Reads(name, len(p.Tools) > 0)", "false", engine, "^TestTemplateVariables$"},
		{"reasoning: the room of prompts forgets an open block", engine, "generation.checkRoom", "least += k.cost()", "", engine, "^TestThinkingEveryLength$"},
		{"openai: reasoning is hidden from nobody", dialect, "chatRequest.choice", "!c.hidden()", "true", dialect, "^TestReasoningAnswers$"},
		{"openai: reasoning in streams is hidden from nobody", dialect, "chatStream.events", `c.Reasoning = ""`, "", dialect, "^TestReasoningStream$"},
		{"openai: contradicting keys", dialect, "agreed", "*first.value != *s.value", "false", dialect, "^TestReasoningErrors$"},
		{"openai: none is an effort", dialect, "reasoningKeys.read", `*r.effort.value == "none"`, "false", dialect, "^TestReasoningParameters$"},
		{"openai: a user's reasoning", dialect, "pastReasoning.text", "role != assistant", "false", dialect, "^TestReasoningErrors$"},
		{"llm: reasoning after the answer", llmtest, "drain", `answered[c.Row] || c.Text != "" || len(c.Calls) > 0`, "false", llmtest, "^TestContract$"},
		{"remote: reasoning after the answer", remote, "completion.add", `reasoning = ""`, "", remote, "^TestReasoning$"},
		{"invoke: reasoning is lost", invoke, "answer", `c.Reasoning != ""`, "false", invoke, "^TestReasoning$"},
	}
}
