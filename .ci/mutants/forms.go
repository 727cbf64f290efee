package main

const (
	pushdownTests   = "./pkg/grammar/pushdown"
	automatonTests  = "./pkg/grammar/automaton"
	schemaTests     = "./pkg/grammar/jsonschema"
	canonicalTests  = "./pkg/grammar"
	callTests       = "./pkg/grammar/calls"
	notationTests   = "./pkg/grammar/gbnf"
	samplerTests    = "./pkg/sampler"
	structuredTests = "./pkg/structured"

	masks   = "^Test(MaskMatchesReader|Ends|EndsAtCost|Min|Share|ShareAround|Limited)$"
	schemas = "^Test(Scalars|Enums|Arrays|Objects|Logic|Unevaluated|References|Refusals|Pruned)$"
)

// costs: how few tokens end a text, and which tokens leave enough for that.
func costs() []mutant {
	const mask, masktext, texts, vocabulary, budget = "pkg/grammar/pushdown/mask.go", "pkg/grammar/pushdown/masktext.go", "pkg/grammar/pushdown/texts.go", "pkg/grammar/pushdown/vocabulary.go", "pkg/grammar/pushdown/budget.go"
	return []mutant{
		{"costs: a key's last token is free", vocabulary, "least = min(least, 1+cost[i+1])", "least = min(least, min(1, cost[i+1])+cost[i+1])", pushdownTests, masks},
		{"costs: longer tokens end a bounded string", texts, "return sum(short.bytes[state], t.filling(missing))", "return sum(min(short.bytes[state], t.cost[state]), t.filling(missing))", pushdownTests, "^Test(BoundedCharacters|RandomPrograms)$"},
		{"costs: what must still come of a counted string", texts, "return sum(short.bytes[state], t.filling(missing))", "return sum(short.bytes[state], t.filling(max(0, missing-1)))", pushdownTests, masks},
		{"budget: the last token is not used", mask, "\tif cost > budget {", "\tif cost >= budget {", pushdownTests, masks},
		{"budget: a token too many", mask, "\tif cost > budget {", "\tif cost > budget+1 {", pushdownTests, masks},
		{"budget: the last token is not used within a string", masktext, "if l.inside[i].cost <= room {", "if l.inside[i].cost < room {", pushdownTests, masks},
		{"budget: what it shuts out is not told", mask, "k.Cut, k.Over = true, m.over", "k.Cut, k.Over = false, m.over", pushdownTests, masks},
		{"share: nothing is kept for the strings to come", budget, "room: spare - others*min(keptTokens, spare/(others+1))}", "room: spare - 0*others}", pushdownTests, masks},
		{"share: strings of the values around are forgotten", "pkg/grammar/pushdown/run.go", "f.open = below.open + r.costs.opens(r, &e)", "f.open = r.costs.opens(r, &e)", pushdownTests, masks},
		{"pull: none", budget, "if span := min(pulledTokens, s.room/4); room < span && budget < never/2 {", "if span := min(pulledTokens, s.room/4); room < span && budget < 0 {", pushdownTests, masks},
		{"pull: to what brings the end no nearer", mask, "m.fill(m.cost - 1)", "m.fill(m.cost)", pushdownTests, masks},
	}
}

// rules: what may come next in a text, and what is kept of it.
func rules() []mutant {
	const step, run, local, derive, masktext, matcher = "pkg/grammar/pushdown/step.go", "pkg/grammar/pushdown/run.go", "pkg/grammar/pushdown/local.go", "pkg/grammar/pushdown/derive.go", "pkg/grammar/pushdown/masktext.go", "pkg/grammar/pushdown/matcher.go"
	return []mutant{
		{"keys: one begins at its second byte", run, "from: int32(len(r.text) + 1)", "from: int32(len(r.text))", pushdownTests, masks},
		{"keys: a taken one is not shut", masktext, "\tif e.from >= 0 {\n\t\tm.shutTaken(t, e, room)", "\tif e.from >= 0 && room < 0 {\n\t\tm.shutTaken(t, e, room)", pushdownTests, masks},
		{"keys: a free one costs what any does", "pkg/grammar/pushdown/texts.go", "if len(rests) == 0 || t.cost[e.state] >= never {", "if true || len(rests) == 0 {", pushdownTests, masks},
		{"members: required ones are skipped", run, "i > t.required[e.reg] || r.closed", "r.closed", pushdownTests, masks},
		{"members: more than there may be", run, "return o.Max < 0 || int(e.count+1+t.needs[i+1])+len(o.Lead) <= o.Max", "return o.Max < 0 || int(e.count+1)+len(o.Lead) <= o.Max", pushdownTests, masks},
		{"items: fewer than there must be", step, "e.state == afterOne && b == ']' && int(e.reg) >= a.Min:", "e.state == afterOne && b == ']':", pushdownTests, masks},
		{"items: one more than there may be", run, "(a.Max < 0 || int(e.reg) < a.Max) {\n\t\tback", "(a.Max < 0 || int(e.reg) <= a.Max) {\n\t\tback", pushdownTests, masks},
		{"counted strings: one character more", step, "if t.Max >= 0 && int(*n) >= t.Max {", "if t.Max >= 0 && int(*n) > t.Max {", pushdownTests, masks},
		{"counted strings: one character less", step, "if int(e.reg) < u.Text.Min {", "if int(e.reg) < u.Text.Min-1 {", pushdownTests, masks},
		{"derived sets: what no longer goes on stays", derive, "all[i] |= w &^ f.gone[i]", "all[i] |= w", pushdownTests, "^TestDerive"},
		{"derived sets: alike over a byte less", derive, "t.alike(q.to, q.other, t.v.heights[at])", "t.alike(q.to, q.other, max(t.v.heights[at], 1)-1)", pushdownTests, "^TestDerive"},
		{"counted patterns: what must still come is not counted in tokens", masktext, "int(e.reg)+l.chars+int(t.shortest().most) > u.Text.Max", "int(e.reg)+l.chars > u.Text.Max", pushdownTests, masks},
		{"counted patterns: the quote counts", "pkg/grammar/pushdown/shortest.go", `if !from.Content || b == '"' {`, `if !from.Content {`, pushdownTests, masks},
		{"texts: a token that goes on after one is left out", local, "if len(token) > depth {", "if len(token) > depth+1 {", pushdownTests, masks},
		{"texts: what was counted is lost where one ends", local, "exit{id, place.chars, token[depth:]}", "exit{id, 0 * place.chars, token[depth:]}", pushdownTests, masks},
		{"texts: states that take other bytes are the same", local, "e.Lo == f.Lo && e.Hi == f.Hi", "e.Lo == f.Lo || e.Hi == f.Hi", pushdownTests, masks},
		{"forced text ends within a character", matcher, "n < utf8.UTFMax && len(forced) > 0", "n < 0 && len(forced) > 0", pushdownTests, "^TestForced"},
		{"the end of a string is its content", matcher, "m.free, m.share.on = stayed, m.share.on && stayed", "m.free, m.share.on = inside, m.share.on && stayed", pushdownTests, "^TestFree"},
	}
}

// spellings: strings, keys and numbers as bytes.
func spellings() []mutant {
	const text, spelling, number, boolean, canonical = "pkg/grammar/automaton/text.go", "pkg/grammar/automaton/spelling.go", "pkg/grammar/automaton/number.go", "pkg/grammar/automaton/boolean.go", "pkg/grammar/canonical.go"
	return []mutant{
		{"strings: half a surrogate", text, `octal := Class([]rune("07"), UTF8)`, `octal := Class([]rune("09"), UTF8)`, automatonTests, "String|Key|Quote|Text"},
		{"canonical: a control character as it is", text, "case b < 0x20:", "case b < 0x1f:", automatonTests, "String|Key|Quote|Text"},
		{"lengths: one character less", boolean, "(max < 0 || n <= max)", "(max < 0 || n < max)", automatonTests, "Length"},
		{"lengths: the end one character early", boolean, "if c.n >= min {", "if c.n >= min-1 {", automatonTests, "Length"},
		{"numbers: one digit less than the limits", spelling, "int(s.digits) > n.integer\n", "int(s.digits) >= n.integer\n", automatonTests, "Limit"},
		{"numbers: exclusive bounds are inclusive", spelling, "o.sign == 0 && !b.open", "o.sign == 0", automatonTests, "Range"},
		{"numbers: multiples of the larger only", number, "num := new(big.Int).Mul(all.Num(), new(big.Int).Quo(m.Num(), common))", "num := new(big.Int).Mul(m.Num(), new(big.Int).Quo(common, common))", automatonTests, "Multiple"},
		{"canonical: 1.50 is not 1.5", canonical, `strings.TrimRight(digits[point:], "0")`, `digits[point:]`, canonicalTests, "Canonical|Plain"},
		{"canonical: another order of members is not tried", canonical, "if way+1 < ways {", "if way+2 < ways {", canonicalTests, "Canonical|Plain"},
	}
}

// meanings: what schemas, tools and grammars say.
func meanings() []mutant {
	const dir = "pkg/grammar/jsonschema/"
	const answer = "pkg/grammar/calls/answer.go"
	return []mutant{
		{"oneOf: what two alternatives accept", dir + "disjoint.go", "list = append(list, c.unless(m.types, ch.of.node, ch.lists[m.with]))", "_ = append(list, c.unless(m.types, ch.of.node, ch.lists[m.with]))", schemaTests, schemas},
		{"$ref: what stands beside it", dir + "read.go", "ref != nil && c.draft <= draft7", "ref != nil", schemaTests, schemas},
		{"additionalProperties: of one conjunct, for members of another", dir + "object.go", "if !said && o.others != nil {", "if !said && len(set) == 0 && o.others != nil {", schemaTests, schemas},
		{"additionalProperties: of one conjunct, for patterns of another", dir + "object.go", "if !said && s.object.others != nil {", "if !said && len(set) == 0 && s.object.others != nil {", schemaTests, schemas},
		{"allOf: the laxer maxItems", dir + "disjoint.go", "if a < 0 || b >= 0 && b < a {", "if a < 0 || b >= 0 && b > a {", schemaTests, schemas},
		{"uniqueItems is ignored", dir + "array.go", "a.Unique = a.Unique || f.unique && (a.Max < 0 || a.Max > 1)", "a.Unique = a.Unique || f.unique && a.Max > 1<<30", schemaTests, schemas},
		{"unevaluatedProperties is ignored", dir + "unevaluated.go", "facts.others = s.object.rest\n", "facts.others = c.anything\n", schemaTests, schemas},
		{"unevaluatedProperties: one alternative alone evaluates", dir + "unevaluated.go", "lists, besides = append(lists, list), append(besides, slices.Clip(more))", "lists, besides = append(lists, list), append(besides, nil)", schemaTests, schemas},
		{"unevaluatedItems: contains evaluates in draft 2019-09", dir + "unevaluated.go", "case a.contains != nil && c.draft >= draft2020:", "case a.contains != nil && c.draft >= draft2019:", schemaTests, schemas},
		{"negated maps: the member of one is as others ask", dir + "object.go", "of, values = include(of, m.key), include(values, m.value)", "of, values = include(of, m.key), include(values[:0], m.value)", schemaTests, schemas},
		{"uniqueItems is ignored next to contains", dir + "count.go", "n.unique, n.proc.Unique, n.last = s, true, max(n.last, 1)", "n.unique, n.proc.Unique, n.last = s, false, max(n.last, 1)", schemaTests, schemas},
		{"a negation next to what it negates", dir + "expand.go", "slices.Contains(cl.seen, t) {\n\t\t\tcl.dead = true", "slices.Contains(cl.seen, t) {\n\t\t\tcl.dead = false", schemaTests, schemas},
		{"maxLength beside a pattern", dir + "text.go", "t.Counted = lesser(longest, most) != longest", "t.Counted = lesser(longest, most) == longest", schemaTests, schemas},
		{"minLength beside a pattern", dir + "text.go", "c.stringDFA(place, matches, differs, excluded, least, -1)", "c.stringDFA(place, matches, differs, excluded, min(least, 0), -1)", schemaTests, schemas},
		{"required members that are not declared", dir + "object.go", "\tof.add(required)\n", "", schemaTests, schemas},
		{"an array goes on after an item that there is not", dir + "prune.go", "a.Prefix, a.Items = a.Prefix[:i], -1", "a.Prefix = a.Prefix[:i]", schemaTests, schemas},
		{"calls: text that is no UTF-8", answer, "{0xED, 0xED, 2, 0x80, 0x9F},", "{0xED, 0xED, 2, 0x80, 0xBF},", callTests, "^Test"},
		{"grammars: repetitions have one more", "pkg/grammar/gbnf/lower.go", "return automaton.Repeat(e, n.min, n.max), size * times", "return automaton.Repeat(e, n.min, max(n.max, n.max+min(n.max, 1))), size * times", notationTests, "^Test(Compile|Match)"},
	}
}

// held: an engine's rows and their form.
func held() []mutant {
	const held, calls, pace, form, mask = "pkg/engine/held.go", "pkg/engine/calls.go", "pkg/engine/pace.go", "pkg/engine/form.go", "pkg/sampler/mask.go"
	return []mutant{
		{"held: a text that may end cannot", held, "if !h.matcher.Accepts() {", "if h.matcher.Cost() >= 0 {", engineTests, "^TestHeldOpenEnd$"},
		{"held: a bound that changed the text is not told", held, "\t\t\th.cut = bound\n", "\t\t\t_ = bound\n", engineTests, "^TestHeldFinish$"},
		{"held: forced tokens are not counted", held, "n -= len(r.fresh) - r.written", "n -= 0 * (len(r.fresh) - r.written)", engineTests, "^TestEveryLength$"},
		{"held: penalties see what the form asks for", held, "if h.matcher.Free() {", "if h.matcher.Cost() >= 0 {", engineTests, "^TestHeldPenalties$"},
		{"held: forced text takes the model's choice", held, "|| h.opens(mask, len(h.text)) {", "{", engineTests, "^TestForced"},
		{"deadline: no reserve", pace, "left := p.deadline.Sub(p.last) - deadlineReserve", "left := p.deadline.Sub(p.last) - 0*deadlineReserve", engineTests, "^TestPace$"},
		{"forms: a grammar and a schema of the same text", form, `param + "\x00" + source`, `"\x00" + source`, engineTests, "^TestFormsKept$"},
		{"forms: tools that must be called and those that may", form, `or(p.MustCall, false), or(p.OneCall, false), spellTools`, `false, or(p.OneCall, false), spellTools`, engineTests, "Tool"},
		{"calls: arguments end with the first bracket", calls, "if s.depth--; s.depth == 0 {", "if s.depth--; s.depth <= 1 {", engineTests, "^TestCallText"},
		{"calls: an escaped quote ends a string", calls, `s.escaped, s.quoted = b == '\\', b != '"'`, `s.escaped, s.quoted = false, b != '"'`, engineTests, "^TestCallText"},
		{"mask: a penalty on a NaN", "pkg/sampler/penalty.go", "c.penalise(float64(kernel.Finite(l)), ", "c.penalise(float64(l), ", samplerTests, "^TestMask"},
		{"answers: half a surrogate", "pkg/structured/parse.go", "if low != high {", "if low && !high {", structuredTests, "^TestParse$"},
	}
}
