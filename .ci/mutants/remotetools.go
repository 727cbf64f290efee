package main

const schema = "pkg/schema"

// remoteTools: tools and images of remote models.
func remoteTools() []mutant {
	const dialect = "pkg/dialect/openai"
	return []mutant{
		{"remote tools: blocks of text count as calls", remote, "calls.number", "n = len(c.begun)", "n = len(c.begun); if p.Index != nil { n = *p.Index }", remote, "^TestCallNumbers$"},
		{"remote tools: calls of one number are one call", remote, "calls.number", "p.continues(c.begun[n])", "true", remote, "^TestCallNumbers$"},
		{"remote tools: each piece with an id is a call", remote, "piece.continues", `p.Function.Name == ""`, `p.Function.Name == "" && p.ID == ""`, remote, "^TestCallNumbers$"},
		{"remote: the prompts of completions count once", remote, "run.count", "r.input += c.Usage.Input", "r.input = max(r.input, c.Usage.Input)", bedrock, "^TestMetrics$"},
		{"remote: completions are reserved as one", budget, "backend.clamp", "n * times", "n * min(times, 1)", budget, "^TestBoundOfCompletions$"},
		{"remote tools: a call without arguments has none", remote, "calls.end", `Arguments: "{}"`, `Arguments: ""`, remote, "^TestCallNumbers$"},
		{"remote tools: calls without bound", remote, "calls.add", "n >= maxCalls", "n >= 9*maxCalls", remote, "^TestCallNumbers$"},
		{"remote tools: a chat with images takes the operation of texts", remote, "Backend.schemaOf", "!llm.Texts(m.Parts)", "m.Failed", remote, "^TestChats$"},
		{"remote tools: tools are declared for no reason", remote, "Backend.rows", "len(req.Tools) == 0 && !hasCalls(prompt)", "false", remote, "^TestChats$"},
		{"remote tools: errors repeat arguments", remote, "textsOf", "list = textsOf(list, string(v))", "", remote, "^TestTextsOf$"},
		{"remote tools: the results of two calls are two messages", schema, "turns.append", "before != nil && after != nil", "before != nil && after == nil", schema, "^TestCacheMarks$"},
		{"remote tools: a mark stays in the record", schema, "marks.mark", "last[name] = plain(v)", "m.members[name] = v; last[name] = m.members", schema, "^TestCacheMarks$"},
		{"remote tools: two calls get one id", schema, "ids.named", "!taken[short]", "!taken[short] || salt == \"\"", schema, "^TestCallIDs$"},
		{"remote tools: ids of any length", schema, "ids.fits", "len(id) <= d.max", "len(id) <= 99", schema, "^TestCallIDs$"},
		{"remote tools: the members of arguments are sorted", schema, "document.appendJSON", "d.names(v)", "(*document)(nil).names(v)", schema, "^Test(Records|HostileCalls)$"},
		{"remote tools: a place that does not exist is empty", schema, "check.places", "!slices.Contains(known, name)", "!slices.Contains(known, name) && name == \"\"", schema, "^TestFormMistakes$"},
		{"remote tools: a named function is one of several", schema, "Schema.Choice", "len(p.Tools) == 1", "len(p.Tools) > 9", remote, "^TestChats$"},
		{"remote tools: Converse has no guardrail", bedrock, "endpoint.guarded", `e.guardrail.ID == ""`, "true", bedrock, "^TestGuardrail$"},
		{"remote tools: a guardrail's text is the model's", bedrock, "intervened", `a.Action == "INTERVENED"`, `a.Action == ""`, bedrock, "^Test(Guardrail|Intervened)$"},
		{"remote tools: a group's guardrail is not its models'", catalog, "item.record", "cmp.Or(guardrail, it.lender.guardrail)", "guardrail", catalog, "^TestGuardrail$"},
		{"images: the server fetches", "pkg/openaiapi", "Image", `scheme == "http" || scheme == "https"`, `scheme == "ftp"`, dialect, "^TestBadImages$"},
		{"images: of any size", "pkg/openaiapi", "Image", "base64.StdEncoding.DecodedLen(len(data)) > MaxImage+2", "len(data) < 0", dialect, "^TestBadImages$"},
		{"images: the data is another type", "pkg/openaiapi", "Image", "got != kind", `got == ""`, dialect, "^TestBadImages$"},
		{"images: a model in the process ignores them", "pkg/chat", "Template.readPictures", "return nil, llm.NoImages(i)", "return nil, nil", "pkg/chat", "^TestImages$"},
		{"remote reasoning: a budget fills the answer", schema, "Schema.budget", "budget < *rest.MaxTokens", "budget <= *rest.MaxTokens", schema, "^TestReason$"},
		{"remote reasoning: the record's limit does not grow", schema, "Schema.budget", "new(n + budget)", "new(n)", schema, "^TestReason$"},
		{"remote reasoning: an effort takes the whole answer", schema, "Schema.budget", "*p.MaxTokens/2", "*p.MaxTokens", schema, "^TestReason$"},
		{"remote reasoning: budgets that the provider rejects", schema, "Schema.budget", "budget < r.minBudget", "budget < 0", schema, "^TestReason$"},
		{"remote reasoning: Claude lacks the signature after a call", schema, "Schema.Reason", "!r.afterCalls && endsWithCalls(chat)", "false", schema, "^TestReason$"},
		{"remote reasoning: an answered call ends reasoning", schema, "endsWithCalls", "return len(m.Calls) > 0", "if len(m.Calls) > 0 { return true }", schema, "^TestReason$"},
		{"remote reasoning: a temperature with it", schema, "reasoner.combines", "slices.Contains(r.excludes, name)", "false", schema, "^TestReason$"},
		{"remote reasoning: a neutral temperature is rejected", schema, "reasoner.combines", "!idle", "!(idle && false)", schema, "^TestReason$"},
		{"remote reasoning: a model that always reasons is told not to", schema, "Schema.Reason", "r.always", "false", schema, "^TestReason$"},
		{"remote reasoning: efforts in the words of clients", schema, "Schema.ask", "rest.Effort = &text", "rest.Effort = p.Effort", schema, "^TestRecords$"},
		{"remote reasoning: unknown efforts", schema, "Schema.ask", "r.efforts[word] == nil", "false", schema, "^TestReason$"},
		{"remote reasoning: a client's variables replace the switch", schema, "Schema.withVariables", "variables[name] = v", "if variables[name] == nil { variables[name] = v }", schema, "^TestReasonVariables$"},
		{"remote reasoning: keys of other types are dropped", schema, "Schema.unsaid", "body[name] != nil", "false", schema, "^TestReasonKeys$"},
		{"remote reasoning: all models reason alike", schema, "Schema.For", "own.reasoner = r", "_ = r", schema, "^TestReasonFor$"},
		{"remote reasoning: the last of several ways", schema, "Schema.For", "own.reasoner = r\n\t\t\tbreak", "own.reasoner = r", schema, "^TestReasonFor$"},
		{"remote reasoning: one block of several", schema, "key.read", `k.name != "reasoning"`, "true", schema, "^TestRecords$"},
		{"remote reasoning: null hides another path", schema, "Response.Read", "out[k.name] != nil", "func() bool { _, ok := out[k.name]; return ok }()", schema, "^TestRecords$"},
		{"remote reasoning: Bedrock's model is any", bedrock, "New", "m.Schema.For(t.ID)", "m.Schema", bedrock, "^TestThinking$"},
	}
}
