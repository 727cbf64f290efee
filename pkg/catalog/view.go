package catalog

import (
	"fmt"
	"io/fs"
	"time"

	"glossa/pkg/llm"
)

// view is what one look at records and runs has found. It does not change.
type view struct {
	at time.Time // when the source was asked
	window
	entries  []Entry
	names    map[string]*Entry     // every way to call a model
	unserved map[string]*llm.Error // the names of models that are listed and not served; nil: not for clients
	records  shelf                 // that may describe models which are not listed; nil: these are refused
	serves   map[string]bool       // the remote families that can be opened
	problems []error
	good     bool  // records could be read, now or before
	err      error // why they cannot be read now
}

// scan is what one root holds.
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

// place is where a run stands: the index of its root and its name.
type place struct {
	root int
	id   string
}
