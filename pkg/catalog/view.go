package catalog

import (
	"fmt"
	"io/fs"
	"time"

	"glossa/pkg/llm"
)

// view is the result of one read of records and roots. It does not change.
type view struct {
	at time.Time // when the read began
	window
	entries  []Entry
	names    map[string]*Entry     // by name, alias and family/name
	unserved map[string]*llm.Error // names of models that are listed but not served; nil: the error is not for clients
	items    itemSet               // all, by sort key
	records  itemSet               // they may describe models that are not listed; nil: no such models are served
	serves   map[string]bool       // the remote families that can be opened
	problems []error
	good     bool  // records were read, now or earlier
	err      error // why they cannot be read now
}

// scan is the content of a root.
type scan struct {
	runs     []Run
	problems []error
	done     bool
}

func (c *Catalog) scanRoot(i int, root Root) scan {
	if c.fixed[i].done {
		return c.fixed[i]
	}
	s := scanFS(c.cfg.Loader, root.FS, root.Name)
	if s.done = root.Fixed; s.done {
		c.fixed[i] = s
	}
	return s
}

func scanFS(loader Loader, fsys fs.FS, source string) (s scan) {
	if loader == nil {
		return s
	}
	runs, problems := loader.Scan(fsys)
	for _, run := range runs {
		run.FS, run.Source = fsys, source
		s.runs = append(s.runs, run)
	}
	for _, err := range problems {
		s.problems = append(s.problems, fmt.Errorf("%s: %w", source, err))
	}
	return s
}

// place is the index of a run's root, and the run's name.
type place struct {
	root int
	id   string
}
