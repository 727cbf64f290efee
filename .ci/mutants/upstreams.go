package main

// upstreams: endpoints that speak OpenAI's API, and their keys.
func upstreams() []mutant {
	const responses = "pkg/dialect/responses"
	return []mutant{
		{"endpoints: a redirect is followed", upstream, "NewClient", "http.ErrUseLastResponse", "nil", upstream, "^TestRefused$"},
		{"endpoints: a function calls its own network", upstream, "NewClient", "dialer.ControlContext = public", "", upstream, "^TestPublicClient$"},
		{"endpoints: a private address is public", upstream, "isPublic", "ip.IsPrivate()", "false", upstream, "^TestIsPublic$"},
		{"endpoints: an event has no limit", upstream, "events", "len(data) > maxEvent", "false", upstream, "^TestStream$"},
		{"endpoints: a silent one is not told from one that leaves", upstream, "cause", "errors.Is(context.Cause(ctx), errSilent)", "false", upstream, "^TestCause$"},
		{"endpoints: a slow client makes an endpoint silent", upstream, "watch.reader", "defer w.rest()", "", upstream, "^TestSlowClient$"},
		{"endpoints: a cut stream is a whole one", upstream, "events", "yield(nil, errEnd)", "", upstream, "^TestStream$"},
		{"endpoints: an error quotes the key", upstream, "refused", `shows(message, key)`, "false", upstream, "^TestRefused$"},
		{"endpoints: a replaced key is not read again", upstream, "endpoint.post", "e.Key.Forget(rejected)", "", upstream, "^TestRotatedKey$"},
		{"endpoints: a wrong key is tried for ever", upstream, "endpoint.post", "again = true", "again = false", upstream, "^TestWrongKeys$"},
		{"endpoints: vectors in the order of the answer", remote, "vectorOf", "i = int(x)", "_ = x", upstream, "^TestEmbedAndRank$"},
		{"endpoints: a key of the record is a reference", secret, "Parse", "!form.MatchString(r.Name)", "false", secret, "^TestParse$"},
		{"endpoints: http goes anywhere", catalog, "checkURL", "!loopback(u.Hostname())", "false", catalog, "^TestUpstreamRecords$"},
		{"endpoints: a url holds a password", catalog, "checkURL", "u.User != nil", "false", catalog, "^TestUpstreamRecords$"},
		{"endpoints: a stop sequence is dropped", remote, "mayDrop", `"stop"`, `"max_new_token"`, remote, "^TestDropped$"},
		{"endpoints: hosted tools are left out unasked", responses, "offer.leaveOut", "!model.Drops", "false", app, "^TestHostedTools$"},
		{"endpoints: a choice among tools that are not here", responses, "createRequest.structure", "len(g.hosted) > 0", "false", app, "^TestHostedTools$"},
		{"endpoints: what is dropped is not told", remote, "Backend.rows", "b.model.OnDrop(ctx, slices.Compact(dropped))", "", remote, "^TestDropped$"},
		{"endpoints: a rejected key is sent again", upstream, "endpoint.post", "err == nil && key == rejected", "false", upstream, "^TestRefused$"},
		{"endpoints: an error shows the end of the key", upstream, "shows", "i+part <= len(key)", "i < 1 && i+part <= len(key)", upstream, "^TestRefused$"},
		{"endpoints: a private address within NAT64", upstream, "isPublic", "ip = netip.AddrFrom4([4]byte(b[12:]))", "_ = b", upstream, "^TestIsPublic$"},
		{"endpoints: a record sends the server's own credentials", secret, "Parse", "kind == Env && ownVariable(r.Name)", "false", secret, "^TestParse$"},
		{"endpoints: a key in the place of a name is shown", secret, "Parse", "looksLikeKey(r.Name)", "false", secret, "^TestParse$"},
		{"endpoints: each request reads what cannot be read", secret, "Value.Get", "k.err != nil && time.Since(k.read) < Pause", "false", secret, "^TestKept$"},
		{"endpoints: a wrong key is read for each request", secret, "Value.Forget", "!now.Before(k.again)", "true", secret, "^TestKept$"},
		{"endpoints: one caller's end is the failure of others", secret, "Value.Get", "err != nil && ctx.Err() != nil", "false", secret, "^TestGivenUp$"},
		{"endpoints: secrets are kept for ever", secret, "Value.Get", "time.Now().Before(k.until)", "true", secret, "^TestKept$"},
	}
}
