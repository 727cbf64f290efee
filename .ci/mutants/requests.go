package main

// requests: the table of a request decides what a client may send.
func requests() []mutant {
	return []mutant{
		{"requests: upper bounds are not checked", wire, "Bounds.holds", "x > b.max", "false", wire, "^TestTable$"},
		{"requests: a bound that is excluded is allowed", wire, "Bounds.holds", "b.above && x == b.min", "false", wire, "^TestTable$"},
		{"requests: texts of any length are accepted", wire, "field.text", "utf8.RuneCountInString(s) > f.MaxText", "false", wire, "^TestTable$"},
		{"requests: characters are bytes", wire, "field.text", "utf8.RuneCountInString(s)", "len(s)", wire, "^TestTable$"},
		{"requests: maps of any size are accepted", wire, "field.entries", `message != ""`, "false", wire, "^TestTable$"},
		{"requests: lists are not checked", wire, "field.list", "f.value(at, v.Index(i))", "error(nil)", wire, "^TestTable$"},
		{"requests: unknown keys are accepted", wire, "checker.object", `return []string{string(raw)}, llm.Errorf(UnknownParam, "unknown parameter")`, "c.skip(); continue", wire, "^Test(Table|Unmarshal)$"},
		{"requests: keys may come twice", wire, "seenKeys.add", "*word&bit != 0", "bit == 0", wire, "^TestUnmarshal$"},
		{"requests: required keys may be absent", wire, "field.check", `at.invalid("is required")`, "nil", wire, "^TestTable$"},
		{"requests: neutral values are refused", wire, "field.refuse", "!slices.Contains(f.Neutral, compact.String())", "true", wire, "^TestTable$"},
		{"requests: refused keys take any value", wire, "field.refuse", "err != nil || !slices.Contains(f.Neutral, compact.String())", "err != nil", wire, "^TestTable$"},
		{"requests: errors of models keep canonical names", wire, "Table.Rename", "renamed.Param = name + index", "_ = index", wire, "^TestRename$"},
		{"requests: an error names none of several values", wire, "Table.Rename", "name + index", "name + index[:0]", wire, "^TestRename$"},
		{"requests: errors name no keys of objects", wire, "object.nameOf", "f.inside != nil && shapeOf(f.of).kind == reflect.Struct", "false", wire, "^TestRename$"},
		{"bodies: every cut one should have been gzip", httpx, "bodyError", "truncated && packed", "truncated", httpx, "^TestBodyErrors$"},
		{"requests: users are one", openai, "messages.severalUsers", "len(names) > 1", "false", openai, "^TestNames$"},
		{"requests: errors name a key that was not sent", wire, "object.nameOf", "present(value)", "true", wire, "^TestRename$"},
	}
}

// documents: the OpenAPI document says what the server does.
func documents() []mutant {
	return []mutant{
		{"documents: a required key of a request is optional", wire, "object.schema", "s.Required = append(s.Required, f.key)", "", wire, "^TestSchema$"},
		{"documents: a required member of an answer is optional", wire, "Schemas.members", "o.Required = append(o.Required, name)", "", wire, "^TestSchemas$"},
		{"documents: a key that cannot be sent is documented", wire, "object.schema", "f.Disposition == Refused && len(f.Neutral) == 0", "false", wire, "^TestSchema$"},
		{"documents: a status of errors is left out", openapi, "codes", "llm.Upstream, llm.Timeout", "llm.Upstream", app, "^TestDocumentIsTheRouteTable$"},
		{"documents: streams have no errors", openapi, "document.answers", `res.addEvent(d.schemaOf(failed), "")`, "_ = failed", openapi, "^TestEvents$"},
		{"documents: the status of large bodies is left out", openapi, "codes", "wire.UnknownParam, httpx.TooLarge, llm.Overloaded", "wire.UnknownParam, llm.Overloaded", app, "^TestDocumentIsTheRouteTable$"},
	}
}
