// Package schemas embeds the default model records, one JSON file each, in the
// form of the items that the table of records holds. It refuses to know what they
// mean.
//
// Source: the documentation of API layer, "schema" and "models".
package schemas

import (
	"embed"
	"io/fs"
)

//go:embed *.json
var files embed.FS

// Files returns the records.
func Files() fs.FS { return files }
