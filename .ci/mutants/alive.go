package main

// alive: silent streams are kept open.
func alive() []mutant {
	return []mutant{
		{"keep-alives: there are none", httpx, "keepAlive.send", "s.write([]byte(s.framing.KeepAlive))", "error(nil)", httpx, "^TestKeepAlives$"},
		{"keep-alives: one only", httpx, "keepAlive.send", "s.skipped = true", "s.skipped = true; return", httpx, "^TestKeepAlives$"},
		{"keep-alives: they come on time, not in silence", httpx, "keepAlive.send", "silent < rest", "silent < 0", httpx, "^TestKeepAlives$"},
		{"keep-alives: one is not a sign of life", httpx, "Stream.write", "s.sent = time.Now()", "s.sent = s.sent.Add(1)", httpx, "^TestKeepAlives$"},
		{"keep-alives: within an event", httpx, "Stream.flush", "s.mu.Lock(); defer s.mu.Unlock()", "", httpx, "^TestKeepAliveWithinAnEvent$"},
		{"keep-alives: after the last chunk", httpx, "Await", "err != nil || last(v)", "err != nil", httpx, "^TestKeepAlives$"},
		{"keep-alives: after the end", httpx, "Await", "defer k.stop()", "", httpx, "^TestKeepAlives$"},
		{"keep-alives: a stopped timer writes", httpx, "keepAlive.stop", "k.stopped = true; k.timer.Stop()", "", httpx, "^TestKeepAlives$"},
		{"keep-alives: they go on without a client", httpx, "keepAlive.send", "s.lost != nil", "s.lost == nil && k.stopped", httpx, "^TestKeepAliveFindsNoClient$"},
		{"keep-alives: the handler does not learn that the client left", httpx, "Stream.flush", "s.lost != nil", "false", httpx, "^TestKeepAliveFindsNoClient$"},
		{"keep-alives: a text has them", httpx, "Await", `s.framing.KeepAlive == ""`, "false", httpx, "^TestKeepAlives$"},
		{"keep-alives: headers come too late without a lock", httpx, "Record.SetHeader", "rec.Status == 0", "rec.Status != 0", httpx, "^TestKeepAliveHeaders$"},
		{"keep-alives: Anthropic's clients get comments", anthropic, "answer.stream", "httpx.SSE.KeptAliveBy(ping)", "httpx.SSE", app, "^TestKeepAlives$"},
		{"keep-alives: Aleph Alpha's clients get comments", alephalpha, "stream", "httpx.SSE.KeptAliveBy(httpx.BlankLine)", "httpx.SSE", app, "^TestKeepAlives$"},
		{"keep-alives: Aleph Alpha's clients get comments in chats", openai, "chatRequest.stream", "framing.KeptAliveBy(httpx.BlankLine)", "framing", app, "^TestKeepAlives$"},
		{"keep-alives: a space alone ends /invoke_stream", invoke, "Config.stream", "lines.Skipped()", "false", app, "^TestKeepAlives$"},
		{"keep-alives: a setting of 0 is the default", app, "ParseKeepAlive", "return -1, nil", "return 0, nil", app, "^TestKeepAliveSetting$"},
	}
}
