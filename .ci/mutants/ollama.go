package main

// ollamaAPI: Ollama's API.
func ollamaAPI() []mutant {
	const dialect = "pkg/dialect/ollama"
	return []mutant{
		{"keep_alive: a model in use stays", "pkg/catalog", "Catalog.expire", "!unused(o)", "false", "pkg/catalog", "^TestKeep$"},
		{"keep_alive: a later use begins the time anew", "pkg/catalog", "Catalog.expire", "rest > 0", "rest > o.idle", "pkg/catalog", "^TestKeep$"},
		{"keep_alive: a model that was opened for nobody leaves", "pkg/catalog", "Catalog.start", "c.closeExpired(o)", "", "pkg/catalog", "^TestKeepOpening$"},
		{"embeddings: a list without texts needs no model", dialect, "embed", "len(req.Prompts) == 0", "false", dialect, "^TestAnswers$"},
		{"embeddings: an empty list has an empty list of vectors", dialect, "Config.embed", "[][]float32{}", "nil", dialect, "^TestAnswers$"},
		{"embeddings: an empty text has an empty vector", dialect, "embeddingsRequest.request", `e.Prompt != ""`, "true", dialect, "^TestAnswers$"},
		{"keep_alive: others' models stay", "pkg/app", "App.ollama", "p.Role != account.Admin", `p.Role == ""`, "pkg/app", "^TestKeepAlive$"},
		{"ollama: answers are not streamed unless a client asks", dialect, "settings.request", "s.Stream == nil || *s.Stream", "s.Stream != nil && *s.Stream", dialect, "^Test(Answers|Settings)$"},
		{"ollama: its port has no paths of OpenAI", app, "App.ollamaRoutes", `strings.HasPrefix(r.Pattern, "/v1/")`, `strings.HasPrefix(r.Pattern, "/v2/")`, app, "^TestServeOllama$"},
		{"ollama: the last line has the last text", dialect, "answer.add", `end := a.line("", "")`, "end := out; lines = nil", dialect, "^TestAnswers$"},
		{"ollama: a call is sent before it is complete", dialect, "answer.piece", `if err := out.take(a, len(a.calls), ""); err != nil { return out, err }; a.calls = append(a.calls, call)`, `a.calls = append(a.calls, call); if err := out.take(a, len(a.calls), ""); err != nil { return out, err }`, dialect, "^TestAnswers$"},
		{"ollama: two results answer one call", dialect, "conversation.answered", "t.asked = slices.Delete(t.asked, at, at+1)", "", dialect, "^TestResults$"},
		{"ollama: a deadline throws a whole answer away", dialect, "Config.answer", "err != nil { return rename(err) }", "err != nil || r.Context().Err() != nil { return rename(errors.Join(err, r.Context().Err())) }", dialect, "^TestEndedContext$"},
		{"ollama: vectors have any length", dialect, "Config.embed", "llm.Unit(e.Layers[0].Vectors[0])", "e.Layers[0].Vectors[0]", dialect, "^TestAnswers$"},
		{"ollama: Alpha's requests are Ollama's", dialect, "Ours", `"stream", "options"`, `"stream", "model", "options"`, dialect, "^TestOurs$"},
		{"ollama: a model is loaded to unload it", dialect, "open", "Request(in).unloads()", "false", dialect, "^TestKeepAlive$"},
		{"ollama: num_predict -1 is a limit", dialect, "settings.request", "o.NumPredict != nil && *o.NumPredict >= 0", "o.NumPredict != nil", dialect, "^TestSettings$"},
	}
}
