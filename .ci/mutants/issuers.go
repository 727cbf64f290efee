package main

// issuers: tokens that must not open a door.
func issuers() []mutant {
	return []mutant{
		{"issuers: a token is for an audience", issuer, "provider.verify", "!slices.ContainsFunc(to, func(a string) bool { return slices.Contains(p.Audiences, a) })", "false", issuer, "^TestRefused$"},
		{"issuers: client_id counts only without aud", issuer, "provider.verify", `len(to) == 0 && c.Client != ""`, `c.Client != ""`, issuer, "^TestRefused$"},
		{"issuers: tokens expire", issuer, "provider.checkTimes", "at >= *c.Expires+leeway.Seconds()", "false", issuer, "^TestRefused$"},
		{"issuers: small RSA keys are refused", issuer, "suits", "rsa.Size()*8 < minRSABits", "rsa.Size() < 0", issuer, "^TestAlgorithms$"},
		{"issuers: a rule compares whole words", issuer, "Rule.applies", "slices.Contains(strings.Fields(v), r.Is)", "strings.Contains(v, r.Is)", issuer, "^TestRefused$"},
		{"issuers: made-up key ids cost no request", issuer, "keys.find", "now.Sub(k.tried) >= unknownPause", "true", issuer, "^TestRotation$"},
		{"issuers: withdrawn keys are forgotten", issuer, "keys.find", "now.Sub(k.fetched) >= k.lasts", "false", issuer, "^TestRotation$"},
		{"issuers: the document is the issuer's", issuer, "keys.request", "document.Issuer != k.url", "false", issuer, "^TestDocuments$"},
		{"issuers: what no rule allows is not done again", issuer, "Issuers.Again", "i >= 0", "i >= -1", issuer, "^TestAgain$"},
		{"issuers: data belong to the subject", app, "owner", "kind == account.User", `kind != ""`, app, "^TestIssuer$"},
	}
}
