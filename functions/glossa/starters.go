package main

import (
	"io/fs"

	"glossa/pkg/starter"
)

// starters returns the embedded runs.
func starters() fs.FS { return starter.Runs() }
