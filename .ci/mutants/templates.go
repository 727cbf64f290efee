package main

// templates: what chat templates print, and which of its bytes are data.
func templates() []mutant {
	const (
		goldens = "^TestGoldens$"
		markers = "^TestMarkersStayUntrusted$"
		other   = "^TestOtherDataSameTemplate$"
		spans   = "^TestSpans$"
		bounds  = "^TestBounds$"
	)
	return []mutant{
		{"jinja: the first line feed after a block goes", jinja, "lexer.closing", `trim && strings.HasPrefix(rest[n:], "\n")`, "false", jinja, goldens},
		{"jinja: white space before a block goes only if it begins the line", jinja, "lexer.stripLine", "line > 0 || l.lineStart", "true", jinja, goldens},
		{"jinja: set in a loop does not leak", jinja, "forStmt.iterate", "inner := &frame{parent: parent}", "inner := parent", jinja, goldens},
		{"jinja: macros see the scope of their definition", jinja, "run.callMacro", "parent: m.frame", "parent: r.frame", jinja, goldens},
		{"jinja: and returns its operand", jinja, "logicExpr.eval", "return v", "return verdict(e.or)", jinja, goldens},
		{"jinja: the remainder has the divisor's sign", jinja, "run.integers", "mod.Sign() != 0 && mod.Sign() != y.Sign()", "false", jinja, goldens},
		{"jinja: tojson puts a space after a comma", jinja, "filterToJSON", `item: trusted(", ")`, `item: trusted(",")`, jinja, goldens},
		{"jinja: slices count from the end", jinja, "run.slice", "if i < 0 { i += length }", "if i < 0 { i = 0 }", jinja, goldens},
		{"jinja: tojson's contents are data", jinja, "jsonWriter.text", "w.r.emit(&w.b, w.escape(s), trusted)", "w.r.emit(&w.b, w.escape(s), true)", jinja, markers},
		{"jinja: a slice keeps its provenance", jinja, "text.slice", "trusted: t.at(from)", "trusted: t.trusted", jinja, spans},
		{"jinja: reversed characters keep their provenance", jinja, "run.pickText", "b.write(t.s[from:to], t.at(from))", "b.write(t.s[from:to], t.trusted)", jinja, spans},
		{"jinja: concatenated data stays data", jinja, "join", "x.trusted == y.trusted", "true", jinja, markers},
		{"jinja: printed numbers of the data are data", jinja, "run.binary", "a.trusted && b.trusted", "true", jinja, other},
		{"jinja: copies of long texts cost steps", jinja, "run.scan", "r.step(1 + len(s)/64)", "r.step(1)", jinja, bounds},
		{"jinja: iterators over iterators are bounded", jinja, "run.generate", "r.enter()", "r.step(0)", jinja, bounds},
	}
}
