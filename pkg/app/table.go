package app

import (
	"io/fs"

	"glossa/pkg/catalog"
	"glossa/pkg/table"
	"glossa/schemas"
)

// OpenTable returns the DynamoDB table of that name, in the account of cfg. It makes
// no call yet.
func (cfg Config) OpenTable(name string) (*table.Table, error) { return newCloud(cfg).table(name) }

// records returns the source of model records: the table or, without one, files. With a
// table, files only describe the starters, for which local is.
func records(cfg Config, open func(name string) (*table.Table, error)) (source, local catalog.Source, err error) {
	files := catalog.Files{FS: cfg.Records}
	if cfg.Records == nil {
		files.FS = schemas.Files()
	}
	if cfg.Table == "" {
		return files, nil, nil
	}
	t, err := open(cfg.Table)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Starters != nil {
		local = files
	}
	return catalog.Table{Table: t}, local, nil
}

// standard returns the embedded records that describe the requests of endpoints with OpenAI's
// API: those of a table need none of their own.
func standard() (list []catalog.Item) {
	files, _ := fs.Glob(schemas.Files(), catalog.OpenAI+"-*.json") // the pattern is valid
	for _, name := range files {
		list = append(list, catalog.ReadItem(schemas.Files(), name))
	}
	return list
}
