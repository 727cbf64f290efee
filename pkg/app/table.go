package app

import (
	"glossa/pkg/catalog"
	"glossa/pkg/table"
	"glossa/schemas"
)

// OpenTable returns the DynamoDB table of that name, in the account that cfg finds.
// Nothing is asked of it yet.
func (cfg Config) OpenTable(name string) (*table.Table, error) { return newCloud(cfg).table(name) }

// records returns where model records come from: the table or, without one, files. With
// a table, files describe no more than the starters, for which local is.
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
