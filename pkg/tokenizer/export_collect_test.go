package tokenizer

// held is the number of tokens in memory.
func (c *Collector) held() int { return len(c.out.ids) }

// encodesWhole tells whether all of text is encoded although only its last tokens are kept.
func encodesWhole(t Tokenizer, keep int, text string) bool {
	e, ok := t.(encoder)
	return ok && len((&Collector{Keep: keep}).tail(e, text, false)) == len(text)
}
