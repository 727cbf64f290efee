package catalog

// Held is a model whose weights are in memory.
type Held struct {
	Name  string
	Bytes int64 // of its weights
	Users int   // requests that hold it
}

// Held returns the models whose weights are in memory, in no particular order. A model may
// occur twice: its old version stays until its last generation ends.
func (c *Catalog) Held() (list []Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(o *opened) {
		if o.bytes > 0 { // remote models have no weights here
			list = append(list, Held{o.name, o.bytes, o.users})
		}
	}
	for _, o := range c.open {
		add(o)
	}
	c.forgetGone()
	for _, o := range c.gone {
		add(o)
	}
	return list
}
