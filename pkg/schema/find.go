package schema

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/PaesslerAG/jsonpath"
)

// A finder reads the first value that a path leads to.
//
// PaesslerAG/jsonpath evaluates the runs of names and indices. This package walks
// steps that fan out itself: the library visits objects in Go's random order, so that
// the first match varies, and it visits all values.
type finder []stage

// A stage is a step that fans out, or a run of names and indices.
type stage struct {
	fan  *step
	list bool // the run starts at a list; else at an object
	path path // of the run
	run  func(ctx context.Context, value any) (any, error)
}

var errTooMany = errors.New("the path meets too many values")

func newFinder(p path) (finder, error) {
	var f finder
	var run path
	end := func() error {
		if len(run) == 0 {
			return nil
		}
		eval, err := jsonpath.New(spell(run))
		f, run = append(f, stage{list: run[0].kind == element, path: run, run: eval}), nil
		return err
	}
	for i, s := range p {
		fans := s.kind != member && s.kind != element || s.index < 0
		var err error
		if fans || ambiguous(s) {
			err = end()
		}
		if fans {
			f = append(f, stage{fan: &p[i]})
		} else {
			run = append(run, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, end()
}

// spell writes a run in the library's syntax: names as Go strings.
func spell(run path) string {
	text := "$"
	for _, s := range run {
		if s.kind == member {
			text += "[" + strconv.QuoteToASCII(s.name) + "]"
		} else {
			text += "[" + strconv.Itoa(s.index) + "]"
		}
	}
	return text
}

// ambiguous reports whether the library would apply a step to an object's member or a
// list's element, whichever it finds: it treats 0 and "0" alike. Such a step begins a
// run, and [finder.first] checks the type of the value.
func ambiguous(s step) bool {
	if s.kind == element {
		return true
	}
	_, err := strconv.ParseFloat(s.name, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// first returns the first match, in the order of the document; ok is false if there is none.
func (f finder) first(w *walk) (v any, ok bool, err error) { return f.firstIn(w, w.doc.root) }

// firstIn returns the first match in a value of the document.
func (f finder) firstIn(w *walk, in any) (v any, ok bool, err error) {
	f.walk(w, place{value: in}, func(at place) bool {
		v, ok = at.value, true
		return false
	})
	if w.budget < 0 {
		return nil, false, errTooMany
	}
	return v, ok, nil
}

// joined returns all texts that f leads to as one; without any, it is [finder.first].
func (f finder) joined(w *walk) (v any, ok bool, err error) {
	var all strings.Builder
	f.walk(w, place{value: w.doc.root}, func(at place) bool {
		if text, isText := at.value.(string); isText {
			all.WriteString(text)
		} else if !ok {
			v = at.value
		}
		ok = true
		return true
	})
	switch {
	case w.budget < 0:
		return nil, false, errTooMany
	case all.Len() > 0:
		v = all.String()
	}
	return v, ok, nil
}

func (f finder) walk(w *walk, at place, yield func(place) bool) bool {
	if len(f) == 0 {
		return yield(at)
	}
	if f[0].fan != nil {
		return w.step(*f[0].fan, at, func(next place) bool { return f[1:].walk(w, next, yield) })
	}
	if w.budget--; w.budget < 0 {
		return false
	}
	if _, isList := at.value.([]any); isList != f[0].list {
		return true
	}
	if _, ok := f[0].path.only(at.value); !ok {
		return true // as in most events; the library would format an error
	}
	v, err := f[0].run(context.Background(), at.value)
	if err != nil {
		return true // a member or an element is missing
	}
	return f[1:].walk(w, place{value: v}, yield)
}
