package catalog

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
	"glossa/schemas"
)

// inside returns the embedded records.
func inside(t *testing.T) []Item {
	t.Helper()
	items, err := Files{schemas.Files()}.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// sow writes a seed and fails the test on an error.
func sow(t *testing.T, e Editor, s Seed) SeedResult {
	t.Helper()
	sown, err := e.WriteSeed(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return sown
}

// A second seed writes nothing, and no seed undoes an operator's changes.
func TestSow(t *testing.T) {
	s := tabletest.New(t)
	e, seed := Editor{s.Table()}, Seed{Items: inside(t)}
	first := sow(t, e, seed)
	if len(first.Written) != len(seed.Items) || first.Kept != nil || first.Deleted != nil {
		t.Errorf("at first %+v", first)
	}
	if got, want := described(t, Table(e)), described(t, Files{schemas.Files()}); got != want {
		t.Errorf("the table says\n%s\nwant\n%s", got, want)
	}
	writes := 0
	s.Fault(func(op string) (int, string) {
		if op == "PutItem" || op == "UpdateItem" {
			writes++
		}
		return 0, ""
	})
	if again := sow(t, e, seed); again.Written != nil || len(again.Kept) != len(seed.Items)-1 || writes > 0 {
		t.Errorf("again %+v, %d writes", again, writes)
	}
	mine := table.Item{"pk": pk, "sk": "local-abc", "description": "mine", "schema": `{"checkpoint":"abc"}`}
	if err := e.Table.Put(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Remove(t.Context(), []string{"novels"}, true); err != nil {
		t.Fatal(err)
	}
	if got := sow(t, e, seed); got.Written != nil || !slices.Equal(got.Deleted, []string{"local-novels"}) {
		t.Errorf("after a change and a deletion %+v", got)
	}
	if it, err := e.Table.Get(t.Context(), mine.Key()); err != nil || it["description"] != "mine" {
		t.Errorf("the change is gone: %v, %v", it, err)
	}
	seed.Force = true
	if got := sow(t, e, seed); len(got.Written) != len(seed.Items) {
		t.Errorf("forced %+v", got)
	}
	if it, err := e.Table.Get(t.Context(), mine.Key()); err != nil || it["description"] == "mine" {
		t.Errorf("forced, and the change is still there: %v, %v", it, err)
	}
	if got := sow(t, e, Seed{Items: seed.Items}); len(got.Kept) != len(seed.Items)-1 {
		t.Errorf("after that %+v", got)
	}
}

// Existing items and rows of the table stay, and rows of new models follow them.
func TestSowBeside(t *testing.T) {
	mine := `{"pk":"models","sk":"local-abc","schema":{"checkpoint":"other"}}`
	list := `{"pk":"models","sk":"all-models","models":[{"model_type":"Mine","model_name":"abc","model_family":"local","streaming":false}]}`
	e := Editor{tableOf(t, decoded(t, []byte(mine)), decoded(t, []byte(list)))}
	if got := sow(t, e, Seed{Items: inside(t)}); !slices.Equal(got.Kept, []string{"local-abc"}) || !slices.Contains(got.Written, allSK) {
		t.Errorf("%+v", got)
	}
	var r reader
	stored, err := Table(e).Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, _ := r.index(stored, nil)
	rows := all[allSK].models
	if len(rows) != 7 || rows[0].Row != (Row{"Mine", "abc", Local, false}) || all["local-abc"].local.checkpoint != "other" {
		t.Errorf("%+v", rows)
	}
}

// The next seed completes one that was interrupted at any write.
func TestSowCut(t *testing.T) {
	want := described(t, Files{schemas.Files()})
	for cut, done := 1, false; !done; cut++ {
		s := tabletest.New(t)
		e, writes := Editor{s.Table()}, 0
		s.Fault(func(op string) (int, string) {
			if op == "PutItem" || op == "UpdateItem" {
				writes++
			}
			if writes >= cut {
				return http.StatusBadRequest, "AccessDeniedException"
			}
			return 0, ""
		})
		_, err := e.WriteSeed(t.Context(), Seed{Items: inside(t)})
		done = err == nil
		s.Fault(nil)
		if sow(t, e, Seed{Items: inside(t)}); described(t, Table(e)) != want {
			t.Errorf("cut at write %d: the table has\n%s", cut, described(t, Table(e)))
		}
		if cut > 100 {
			t.Fatal("it never ends")
		}
	}
}

// Invalid records are not written, nor is anything with them.
func TestSowRefused(t *testing.T) {
	e := Editor{tabletest.New(t).Table()}
	bad := Item{Name: "b", JSON: []byte(`{"pk":"models","sk":"local-b","schema":{}}`)}
	if _, err := e.WriteSeed(t.Context(), Seed{Items: append(inside(t), bad)}); err == nil {
		t.Error("it is taken")
	}
	if items, err := Table(e).Items(t.Context()); err != nil || len(items) > 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
	if _, err := e.Table.Get(t.Context(), seededItem); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}
