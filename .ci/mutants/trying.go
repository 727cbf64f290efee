package main

// trying are mistakes in choosing and downloading models.
func trying() []mutant {
	return []mutant{
		{"fit: a quantisation larger than the memory is chosen", fit, "Choose", "room > 0 && c.Size > room", "false", fit, "^TestChoose$"},
		{"fit: a format larger than the memory is chosen", fit, "Format", "size > 0 && size <= room", "size > 0", fit, "^TestFormat$"},
		{"hub: a split model without all its parts is offered", hub, "Snapshot.Variants", `split && fmt.Sprintf("%05d", len(v.Files)) != all`, "split && all == fmt.Sprint(v)", hub, "^TestVariants$"},
	}
}
