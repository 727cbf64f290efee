package main

const (
	masks   = "^Test(MaskMatchesReader|Ends|EndsAtCost|Min|Share|ShareAround|Limited)$"
	schemas = "^Test(Scalars|Enums|Arrays|Objects|Logic|Unevaluated|References|Refusals|Pruned)$"
)

// costs: the fewest tokens that end a text, and the tokens that leave enough for that.
func costs() []mutant {
	return []mutant{
		{"costs: a key's last token is free", pushdown, "Vocabulary.spellOne", "1+cost[i+1]", "min(1, cost[i+1])+cost[i+1]", pushdown, masks},
		{"costs: longer tokens end a bounded string", pushdown, "textIndex.boundedCost", "short.tokens[state], t.filling(missing)", "min(short.tokens[state], t.cost[state]), t.filling(missing)", pushdown, "^Test(BoundedCharacters|RandomPrograms)$"},
		{"costs: bounded strings of characters that bytes cannot spell", pushdown, "textIndex.shortest", "!plain(t.d) && t.lacksBytes()", "false", grammar, "^TestLackingBytes$"},
		{"costs: a move by a token is the first that was found", pushdown, "textIndex.tokenMoves", "chars < known", "chars < 0*known", grammar, "^TestLackingBytes$"},
		{"remote texts: an object without members is one with an empty name", grammar, "listKey", "len(name)", "0*len(name)", grammar, "^TestCanonicalNames$"},
		{"costs: what must still come of a counted string", pushdown, "textIndex.boundedCost", "t.filling(missing)", "t.filling(max(0, missing-1))", pushdown, masks},
		{"budget: the last token is not used", pushdown, "Matcher.allow", "cost > budget", "cost >= budget", pushdown, masks},
		{"budget: a token too many", pushdown, "Matcher.allow", "cost > budget", "cost > budget+1", pushdown, masks},
		{"budget: a mask does not report what it cut", pushdown, "Matcher.Mask", "k.Over = true", "k.Over = false", pushdown, masks},
		{"share: nothing is kept for the strings to come", pushdown, "Matcher.budget", "others*min(reservedTokens, spare/(others+1))", "0*others", pushdown, masks},
		{"share: strings of the values around are forgotten", pushdown, "run.push", "below.openValues + r.costs.openValuesAfter(&e)", "r.costs.openValuesAfter(&e)", pushdown, masks},
		{"pull: none", pushdown, "Matcher.budget", "never/2", "0", pushdown, masks},
		{"pull: to what brings the end no nearer", pushdown, "Matcher.Mask", "m.cost - 1", "m.cost", pushdown, masks},
	}
}

// rules: the bytes and tokens that may follow in a text.
func rules() []mutant {
	return []mutant{
		{"keys: one begins at its second byte", pushdown, "run.enterExtra", "len(r.text) + 1", "len(r.text)", pushdown, masks},
		{"keys: a taken one is not shut", pushdown, "Matcher.fillText", "e.from >= 0", "e.from >= 0 && room < 0", pushdown, masks},
		{"keys: a free one costs what any does", pushdown, "textIndex.unusedKeyCost", "len(suffixes) == 0 || t.cost[e.state] >= never", "true || len(suffixes) == 0", pushdown, masks},
		{"members: required ones are skipped", pushdown, "run.mayMember", "i < e.reg || i > t.required[e.reg]", "i < e.reg", pushdown, masks},
		{"members: more than there may be", pushdown, "run.mayMember", "e.count+1+t.needs[i+1]", "e.count+1", pushdown, masks},
		{"items: fewer than there must be", pushdown, "run.stepArray", "e.state == afterOne && b == ']' && int(e.reg) >= a.Min", "e.state == afterOne && b == ']'", pushdown, masks},
		{"items: one more than there may be", pushdown, "run.arriveArray", "int(e.reg) < a.Max", "int(e.reg) <= a.Max", pushdown, masks},
		{"counted strings: one character more", pushdown, "Text.count", "int(*n) >= t.Max", "int(*n) > t.Max", pushdown, masks},
		{"counted strings: one character less", pushdown, "run.stepText", "u.Text.Min", "u.Text.Min-1", pushdown, masks},
		{"derived sets: what no longer goes on stays", pushdown, "setBuilder.buckets", "w &^ b.invalid[i]", "w", pushdown, "^TestDerive"},
		{"derived sets: alike over a byte less", pushdown, "textIndex.compare", "t.v.heights[at]", "max(t.v.heights[at], 1)-1", pushdown, "^TestDerive"},
		{"counted patterns: what must still come is not counted in tokens", pushdown, "Matcher.fillText", "int(e.reg)+l.maxChars+int(t.shortest().maxChars)", "int(e.reg)+l.maxChars", pushdown, masks},
		{"counted patterns: the quote counts", pushdown, "begins", "!from.Begins(byte(b))", "!from.Content", pushdown, masks},
		{"texts: a token that goes on after one is left out", pushdown, "textIndex.newSuffixTrie", "len(token) > depth", "len(token) > depth+1", pushdown, masks},
		{"texts: what was counted is lost where one ends", pushdown, "textIndex.newSuffixTrie", "end.chars", "0 * end.chars", pushdown, masks},
		{"texts: states that take other bytes are the same", pushdown, "sameLabels", "e.Lo == f.Lo && e.Hi == f.Hi", "e.Lo == f.Lo || e.Hi == f.Hi", pushdown, masks},
		{"forced text ends within a character", pushdown, "Matcher.Forced", "utf8.UTFMax", "0", pushdown, "^TestForced"},
		{"the end of a string is its content", pushdown, "Matcher.Take", "m.share.active = stayed", "m.share.active = inside", pushdown, "^TestFree"},
	}
}

// spellings: strings, keys and numbers as bytes.
func spellings() []mutant {
	return []mutant{
		{"strings: half a surrogate", automaton, "stringDFA", `"07"`, `"09"`, automaton, "String|Key|Quote|Text"},
		{"canonical: a control character as it is", automaton, "Quote", "b < 0x20", "b < 0x1f", automaton, "String|Key|Quote|Text"},
		{"lengths: one character less", automaton, "Budget.Lengths", "n <= max", "n < max", automaton, "Length"},
		{"lengths: the end one character early", automaton, "Budget.Lengths", "c.n >= min", "c.n >= min-1", automaton, "Length"},
		{"numbers: one digit less than the limits", automaton, "number.tooLong", "int(s.digits) > n.integer", "int(s.digits) >= n.integer", automaton, "Limit"},
		{"numbers: exclusive bounds are inclusive", automaton, "bound.admits", "o.sign == 0 && !b.open", "o.sign == 0", automaton, "Range"},
		{"numbers: multiples of the larger only", automaton, "leastCommon", "all.Num(), new(big.Int).Quo(m.Num(), common)", "m.Num(), new(big.Int).Quo(common, common)", automaton, "Multiple"},
		{"canonical: 1.50 is not 1.5", grammar, "plain", `strings.TrimRight(digits[point:], "0")`, "digits[point:]", grammar, "Canonical|Plain"},
		{"canonical: another order of members is not tried", grammar, "search.take", "way+1 < ways", "way+2 < ways", grammar, "Canonical|Plain"},
	}
}

// meanings: the rules of schemas, tools and grammars.
func meanings() []mutant {
	return []mutant{
		{"oneOf: what two alternatives accept", jsonschema, "compiler.exclusive", "list = append(list, c.unless(m.types, ch.of.node, ch.lists[m.with]))", "_ = append(list, c.unless(m.types, ch.of.node, ch.lists[m.with]))", jsonschema, schemas},
		{"$ref: keywords next to it", jsonschema, "compiler.read", "ref != nil && c.draft <= draft7", "ref != nil", jsonschema, schemas},
		{"additionalProperties: of one conjunct, for members of another", jsonschema, "compiler.member", "!declared", "!declared && len(set) == 0", jsonschema, schemas},
		{"additionalProperties: of one conjunct, for patterns of another", jsonschema, "ofKind", "!declared", "!declared && len(set) == 0", jsonschema, schemas},
		{"allOf: the laxer maxItems", jsonschema, "lesser", "b < a", "b > a", jsonschema, schemas},
		{"ambiguous grammars: the cheapest way is bounded", pushdown, "run.atLimit", "!r.cheapest", "true", pushdown, "^TestCheapestRules$"},
		{"ambiguous grammars: the cheapest way is not first", pushdown, "costs.order", "list[0], list[first] = list[first], list[0]", "_ = first", grammar, "^TestManyWaysEnd$"},
		{"numbers are rounded onto an excluded bound", automaton, "Range.apart", "r.OpenMin && y != nil", "false", automaton, "^TestNumbersApart$"},
		{"uniqueItems: numbers differ if their texts do", pushdown, "costs.mayEqualKinds", `"[{-0123456789"`, `"[{"`, pushdown, "^TestUniqueKinds$"},
		{"uniqueItems: any number may become any other", pushdown, "mayBecome", "b != want[0]", "false", pushdown, "^TestMayBecome$"},
		{"uniqueItems: no zeros follow the digits of a number", pushdown, "mayBecome", "b != '0'", "true", pushdown, "^TestMayBecome$"},
		{"uniqueItems is ignored", jsonschema, "supportedArray", "(a.Max < 0 || a.Max > 1)", "a.Max > 1<<30", jsonschema, schemas},
		{"unevaluatedProperties is ignored", jsonschema, "compiler.leaveMembers", "facts.others = s.object.rest", "facts.others = c.anything", jsonschema, schemas},
		{"unevaluatedProperties: one alternative alone evaluates", jsonschema, "clause.alternatives", "slices.Clip(more)", "nil", jsonschema, schemas},
		{"unevaluatedItems: contains evaluates in draft 2019-09", jsonschema, "compiler.leaveItems", "c.draft >= draft2020", "c.draft >= draft2019", jsonschema, schemas},
		{"negated maps: a member need not satisfy all of them", jsonschema, "compiler.lead", "include(values, m.value)", "include(values[:0], m.value)", jsonschema, schemas},
		{"uniqueItems is ignored next to contains", jsonschema, "compiler.countingRule", "s, true, max(n.last, 1)", "s, false, max(n.last, 1)", jsonschema, schemas},
		{"a schema holds with its negation", jsonschema, "compiler.add", "cl.denied = append(cl.denied, t); slices.Contains(cl.seen, t)", "cl.denied = append(cl.denied, t); false", jsonschema, schemas},
		{"maxLength next to a pattern", jsonschema, "compiler.stringText", "lesser(longest, most) != longest", "lesser(longest, most) == longest", jsonschema, schemas},
		{"minLength next to a pattern", jsonschema, "compiler.stringText", "least, -1", "min(least, 0), -1", jsonschema, schemas},
		{"required members that are not declared", jsonschema, "namesOf", "of.add(required)", "", jsonschema, schemas},
		{"an array continues after an item without a text", jsonschema, "pruneArray", "a.Prefix, a.Items = a.Prefix[:i], -1", "a.Prefix = a.Prefix[:i]", jsonschema, schemas},
		{"calls: text that is not UTF-8", automaton, "leads", "0x80, 0x9F", "0x80, 0xBF", automaton, "^TestText$"},
		{"calls: a text that no call ends with its mark", automaton, "Budget.Until", "to.state >= 0 || to.ends", "to.state >= 0", automaton, "^TestUntil"},
		{"calls: contents without escapes", automaton, "DFA.character", `b != '\\'`, "true", automaton, "^TestContents$"},
		{"calls: an undeclared argument", calls, "builder.declared", "o.Extra = nil", "o.Lead = nil", calls, "^TestDeclared"},
		{"calls: only declared arguments where the schema allows others", calls, "declaresAll", `"additionalProperties"`, `"additional"`, calls, "^TestDeclared"},
		{"calls: the first letter is the name", toolcall, "Reader.readName", `rest == "" && n > 0`, "false", toolcall, "NamesWithoutMiddle"},
		{"calls: an optional argument must come", calls, "writer.members", "props[i].Required", "true", calls, "^Test"},
		{"calls: a required argument may be left out", calls, "writer.members", "!required && p.n >= o.Min", "(required || !required) && p.n >= o.Min", calls, "^Test"},
		{"calls: one argument more", calls, "writer.members", "p.n >= o.Max", "p.n > o.Max", calls, "^Test"},
		{"calls: a form without an end", "pkg/chat", "Template.derive", `s.End != ""`, "true", "pkg/chat", "^TestFormsWithoutEnd$"},
		{"calls: states of arguments cost nothing", calls, "writer.spendPlace", "64*(n+8)+150*marks", "0", calls, "^TestManyParameters$"},
		{"calls: true in Python", calls, "literals", "e.Lo -= 'a' - 'A'", "e.Lo -= 0", calls, "^Test"},
		{"calls: a string's length", calls, "writer.texts", "r.Text.Max + automaton.Characters(w.syntax.Close)", "r.Text.Max", calls, "^TestLongestStrings$"},
		{"calls: a string's least length", calls, "writer.until", "key.min, -1", "0 * key.min, -1", calls, "^TestLongestStrings$"},
		{"calls: a quote is no character of a string without quotes", automaton, "State.Begins", "b != '\"' || s.Plain", "b != '\"'", calls, "^TestLongestStrings$"},
		{"calls: the automaton of a string is made for each parameter", calls, "writer.until", "w.untils[key] = until", "_ = until", calls, "^TestSharedStrings$"},
		{"calls: bytes of a mark's character count", automaton, "begins", "b < 0x80 || b > 0xBF", "b > 0", automaton, "^TestCharacters$"},
		{"exponents beyond the greatest of a range", automaton, "Range.exponentials", "power-1", "power", automaton, "^TestExponentials$"},
		{"a long constant in another spelling than its schema's", grammar, "search.part", "automaton.Exponential(short)", "short", grammar, "^TestExponents$"},
		{"escapes of characters that the vocabulary has", pushdown, "Vocabulary.escaped", "v.spell(string(r))[0] >= never", "true", grammar, "^TestLackingCharacters$"},
		{"escapes: constants of calls have none", jsonschema, "compiler.text", "t.JSON = true", "t.JSON = false", grammar, "^TestLackingCharactersOfCalls$"},
		{"grammars: repetitions have one more", gbnf, "compiler.calls", "e, n.min, n.max", "e, n.min, max(n.max, n.max+min(n.max, 1))", gbnf, "^Test(Compile|Match)"},
	}
}

// held: an engine's rows and their form.
func held() []mutant {
	return []mutant{
		{"constrained: a text that may end cannot", engine, "constrainedRow.allow", "!h.matcher.Accepts()", "h.matcher.Cost() >= 0", engine, "^TestConstrainedOpenEnd$"},
		{"constrained: a bound that changed the text is not reported", engine, "generation.sampleConstrained", "h.limitedBy = bound", "_ = bound", engine, "^TestConstrainedFinish$"},
		{"constrained: forced tokens are not counted", engine, "generation.tokensLeft", "len(r.decided) - r.written", "0 * (len(r.decided) - r.written)", engine, "^TestEveryLength$"},
		{"constrained: penalties count syntax", engine, "generation.accept", "h.matcher.Free()", "h.matcher.Cost() >= 0", engine, "^TestConstrainedPenalties$"},
		{"constrained: forced text takes the model's choice", engine, "generation.force", "h.hasLonger(mask.Bits, len(h.text))", "false", engine, "^TestForced"},
		{"constrained: forced text hides a choice that a bound takes", engine, "generation.force", "h.hasLonger(mask.Over, len(h.text))", "false", engine, "^TestForced"},
		{"constrained: other tokens of the only text are another text", engine, "generation.sampleConstrained", "h.respelt = bound", "h.limitedBy = cmp.Or(bound)", engine, "^TestConstrainedFinish$"},
		{"constrained: other tokens of a text choose the same", engine, "generation.sampleConstrained", "h.limitedBy = cmp.Or(h.limitedBy, h.respelt)", "_ = h", engine, "^TestConstrainedFinish$"},
		{"stops: a rune's tokens before its last stay", engine, "text.push", "end++", "_ = end", engine, "^TestText$"},
		{"encoders: a pass that failed has results", engine, "core.readTexts", "if err == nil { then(p, parts, rows) }", "then(p, parts, rows)", engine, "^TestEmbedClosed$"},
		{"calls: text has no mark", calls, "builder.answer", `syntax.Text != "" || form.Text != nil`, "false", calls, "^TestFamilies$"},
		{"calls: another head has the first one's middle", calls, "builder.answer", "b.names(b.chain(calls, head.Call), last, head.Middle, tools)", "b.names(b.chain(calls, head.Call), last, syntax.Middle, tools)", calls, "^TestFamilies$"},
		{"calls: the reader knows one head", toolcall, "Syntax.Heads", "s.Also.Call == \"\"", "true", toolcall, "^TestReader"},
		{"calls: tags that tell types apart", calls, "writer.key", "!w.strings[name]", "w.strings[name]", calls, "^TestFamilies$"},
		{"calls: the first of two tags counts", toolcall, "Reader.key", "len(before) < len(name)", "true", toolcall, "^TestReader"},
		{"calls: the history tells types apart", toolcall, "writer.arguments", `values[i][0] != '"'`, "false", toolcall, "^TestWrite"},
		{"calls: the last call of ERNIE ends without its line", toolcall, "Ernie", `s.End+"\n"`, "s.End", calls, "^TestFamilies$"},
		{"calls: the calls of HunYuan are not closed", toolcall, "HunYuan", `"]</tool_calls>"`, `"]"`, calls, "^TestFamilies$"},
		{"calls: the mark of a text is read", toolcall, "Reader.open", "r.syntax.Text != \"\"", "false", toolcall, "^TestReader"},
		{"chats: a second call of a message is lost", "pkg/chat", "Template.turns", "t.nature.oneCall", "false", "pkg/chat", "^TestOneCall$"},
		{"chats: ids have no names", "pkg/chat", "Template.variables", "t.nature.namedIDs", "false", "pkg/chat", "^TestNamedIDs$"},
		{"chats: a text beside reasoning is refused", "pkg/chat", "Template.turns", "t.nature.oneText", "false", "pkg/chat", "^TestOneCall$"},
		{"marks: a special token in letters", engine, "callSyntax.vocabulary", "v.WithMarks(c.marks)", "v", engine, "^TestMarkedCalls$"},
		{"marks: a byte of the vocabulary spells one", pushdown, "Vocabulary.WithMarks", "!withoutMarks(token)", "withoutMarks(token) && !withoutMarks(token)", pushdown, "^TestWithMarks$"},
		{"marks: the shorter of two tokens", engine, "callSyntax.mark", "len(spelling) > len(longest)", "(longest == \"\" || len(spelling) < len(longest))", engine, "^TestCallSyntax$"},
		{"marks: a token that the model cannot write", engine, "callSyntax.mark", "id < size", "id >= 0", engine, "^TestCallSyntax$"},
		{"marks: the trigger is a part of a token", engine, "newCallSyntax", "c.Trigger = begin[:1]", "_ = begin[:1]", engine, "^TestCallSyntax$"},
		{"marks: clients see them in tokens", engine, "text.shown", "t.calls != nil && isMark(bytes)", "false", engine, "^TestMarkedCalls$"},
		{"marks: clients see those of a call that was cut off", engine, "callReader.push", "strings.ToValidUTF8(piece.Text, \"\")", "piece.Text", engine, "^TestMarksCutOff$"},
		{"marks: an end token does not close a call", engine, "generation.decideConstrained", "g.engine.ends[id] && r.constrained.matcher.Accepts()", "g.engine.ends[id]", engine, "^TestMarkedCalls$"},
		{"marks: text follows an end token", engine, "generation.accept", "g.engine.ends[id] && h.matcher.Accepts()", "false", engine, "^TestEndOfCall$"},
		{"deadline: no reserve", engine, "pace.steps", "p.deadline.Sub(p.last) - deadlineReserve", "p.deadline.Sub(p.last) - 0*deadlineReserve", engine, "^TestPace$"},
		{"constraints: a grammar and a schema of the same text", engine, "constraintCache.get", `param + "\x00"`, `"\x00"`, engine, "^TestConstraintsCached$"},
		{"constraints: tools that must be called and those that may", engine, "Engine.constraint", "or(p.MustCall, false)", "false", engine, "Tool"},
		{"calls: arguments end with the first bracket", toolcall, "valueReader.read", "closed = v.depth <= 0", "closed = v.depth <= 1", toolcall, "^TestReader"},
		{"formed tools: what a text quotes is a call", engine, "callSyntax.of", "s.Anywhere && len(p.Schema) == 0 && p.Grammar == nil", "s.Anywhere", engine, "^TestFormedToolDraws$"},
		{"formed tools: a text that begins as calls do", grammar, "Compiler.Calls", "form.Text.begins(head.Call)", "false", engine, "^TestFormedToolsRefused$"},
		{"formed tools: a mark of text does not tell it apart", grammar, "Compiler.Calls", `syntax.Text == ""`, "true", engine, "^TestFormedToolsRefused$"},
		{"formed tools: a model that cannot write the text", engine, "Engine.toolGrammar", "text != nil", "false", engine, "^TestFormedToolsUnspelled$"},
		{"formed tools: any text", calls, "builder.answer", `syntax.Text != "" || form.Text != nil`, `syntax.Text != ""`, calls, "^TestFormedText$"},
		{"formed tools: the same tools with another form", engine, "Engine.constraint", "toolsKey(p.Tools), param, source", `toolsKey(p.Tools), param, ""`, engine, "^TestFormedToolsCached$"},
		{"formed tools: a stop string cuts the text", engine, "Engine.constraint", `len(p.Stop) > 0 && param != ""`, `len(p.Stop) > 0 && param != "" && len(p.Tools) == 0`, engine, "^TestFormedToolsRefused$"},
		{"calls: an escaped quote ends a string", toolcall, "valueReader.inString", `c == '\\'`, "false", toolcall, "^TestReader"},
		{"calls: a mark that two chunks share", toolcall, "ends", "len(mark)-1", "len(mark)-2", toolcall, "^TestReader"},
		{"calls: strings of tags are JSON", toolcall, "Reader.key", "r.tagged(r.name, name)", "false", toolcall, "^TestReader"},
		{"calls: a text follows a call", calls, "builder.answer", "strings.HasPrefix(syntax.Text, syntax.Begin())", "false", calls, "^TestFamilies$"},
		{"calls: a stop string is in the mark of a text", engine, "text.find", "min(t.header(), n)", "0", engine, "^TestTextWithCalls$"},
		{"calls: None between marks", toolcall, "markedReader.flush", `"None"`, `"none"`, toolcall, "^TestReader"},
		{"calls: members with bare keys are not sorted", calls, "writer.sortProps", "strings.ToLower(a.Name)", `""`, calls, "^TestMarkedObjects$"},
		{"calls: a bare key may be declared and not", calls, "writer.extras", "automaton.Literals(names)", "automaton.Literals(nil)", calls, "^TestMarkedObjects$"},
		{"calls: None in Python", toolcall, "valueReader.flush", `"None"`, `"none"`, toolcall, "^TestReader"},
		{"mask: a penalty on a NaN", sampler, "Config.apply", "kernel.Finite(l)", "l", sampler, "^TestMask"},
		{"answers: a model with tools must not call them", structured, "formatOf", "len(p.Tools) > 0", "false", structured, "^TestAskingWithTools$"},
		{"answers: half a surrogate", structured, "paired", "low != high", "low && !high", structured, "^TestParse$"},
	}
}
