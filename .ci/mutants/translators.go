package main

// translators: what Marian and NLLB do otherwise than M2M100.
func translators() []mutant {
	const goldens, searches, languages, texts = "^TestGoldens$", "^TestBeamSearch$", "^TestTranslateLanguages$", "^TestTexts$"
	return []mutant{
		{"Marian: positions count from 0", transformer, "Model.addPosition", "math.Sincos(float64(pos) / d)", "math.Sincos(float64(pos+sinusoidOffset) / d)", arch, goldens},
		{"Marian: a pair's divisor has its place among all dimensions", transformer, "sinusoidDivisors", "float64(2*i)/float64(width)", "float64(i)/float64(width/2-1)", arch, goldens},
		{"Marian: logits have a bias", arch, "builder.stacks", `l.lastBias != ""`, "false", arch, goldens},
		{"Marian: the norm of the cross-attention is behind it", arch, "normsBehind", "l.attentionPostNorm, l.crossPostNorm, l.ffnPostNorm = l.attentionNorm, l.crossNorm, l.ffnNorm", "l.attentionPostNorm, l.crossPostNorm, l.ffnPostNorm = l.attentionNorm, l.attentionNorm, l.ffnNorm", arch, goldens},
		{"Marian: a token may never be written", engine, "beamSearch.treated", "ban(b.Suppressed...)", "", engine, searches},
		{"Marian: probabilities are those of what may be written", engine, "beamSearch.likeliest", "b.Renormalize", "false", engine, searches},
		{"Marian: some token may be written", arch, "Search.writesSome", "len(distinct) < vocab", "len(distinct) <= vocab", arch, "^TestHostileSearch$"},
		{"Marian: the end is forced", engine, "beamSearch.likeliest", "b.ForcedEnd && len(h.tokens)+1 == b.limit", "false", engine, searches},
		{"Marian: suppressed tokens leave enough", engine, "beamSearch.likeliest", "b.width()+len(treated)", "b.width()", engine, "^TestSuppressed$"},
		{"Marian: a search begins without a token", engine, "beamSearch.text", "tokens[b.begin:]", "tokens[1:]", engine, languages},
		{"Marian: sources begin with the target's language", engine, "translation.add", "tokensOf(source.Source, w.target.Source)", "tokensOf(source.Source)", engine, languages},
		{"Marian: tokens of the target's words are spelled", sentencepiece, "markDecoder.Next", `strings.ReplaceAll(d.of.pieces[id], spaceMark, " ")`, "d.of.pieces[id]", arch, texts},
		{"Marian: a source has one language", arch, "Translation.setPair", "known = []string{code}", "_ = code", arch, "^TestLanguagesOfMarian$"},
		{"NLLB: two scripts are two languages", arch, "codesOf", "code = name", "_ = name", arch, "^TestLanguages$"},
		{"mBART: norms are before branches", arch, "mBART", "f.spec.NoLastNorm, f.kind = false, transformer.Kind{}", "f.spec.NoLastNorm = false", arch, goldens},
		{"mBART: and at the end", arch, "mBART", "f.spec.NoLastNorm, f.kind = false, transformer.Kind{}", "f.kind = transformer.Kind{}", arch, goldens},
		{"mBART: it translates", arch, "translates", "kind == mBARTType", "false", arch, "^TestLanguagesOfMBART$"},
		{"mBART: it writes one language", arch, "tokenizerReader.limitMBART", "l.Target != w.written", "false", arch, "^TestLanguagesOfMBART$"},
		{"mBART: before it the language was behind a text", arch, "tokenizerReader.limitMBART", `strings.TrimSuffix(got, "Fast") != class && w.Tokenizer != nil`, "false", arch, "^TestLanguagesOfMBART$"},
		{"mBART: countries are part of codes", arch, "scriptOrCountry", "`^([a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2})$`", "`^([a-z]{3}_[A-Z][a-z]{3})$`", arch, "^TestLanguagesOfMBART$"},
		{"mBART: languages follow the pieces", sentencepiece, "ParseMBART50", "t.first = len(t.pieces)", "t.first = len(t.pieces) + 1", sentencepiece, "^TestMBART50$"},
		{"NLLB: codes have a script", language, "Code", `strings.Cut(strings.ToLower(model), "_")`, `strings.Cut(model, "?")`, arch, "^TestLanguages$"},
	}
}
