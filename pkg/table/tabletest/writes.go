package tabletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"glossa/pkg/table"
)

// conditions checks each condition against an item in each state, for each write.
func conditions(t *testing.T, tab *table.Table) {
	all := []table.Condition{table.Absent(), table.Present(), table.Missing("n"), table.Equal("n", 5), table.AtMost("n", 5)}
	names := []string{"Absent", "Present", "Missing(n)", "Equal(n, 5)", "AtMost(n, 5)"}
	for _, c := range []struct {
		state string
		item  table.Item
		met   string // writes that meet it in each state
	}{
		{"no item", nil, "+-+-+"},
		{"no n", table.Item{}, "-++-+"},
		{"4", table.Item{"n": 4}, "-+--+"},
		{"5", table.Item{"n": 5}, "-+-++"},
		{"5.0", table.Item{"n": json.Number("5.0")}, "-+-++"},
		{"5.01", table.Item{"n": 5.01}, "-+---"},
		{"-6", table.Item{"n": -6}, "-+--+"},
		{"10", table.Item{"n": 10}, "-+---"},
		{"text", table.Item{"n": "5"}, "-+---"},
		{"null", table.Item{"n": nil}, "-+---"},
		{"list", table.Item{"n": []any{5}}, "-+---"},
	} {
		for i, condition := range all {
			t.Run(names[i]+"/"+c.state, func(t *testing.T) { writes(t, tab, condition, c.item, c.met[i] == '+') })
		}
	}
}

// writes checks that each write of an item in a state, or of none, happens only if the
// condition is met.
func writes(t *testing.T, tab *table.Table, condition table.Condition, item table.Item, met bool) {
	k := place(t, "x")
	var was table.Item
	for name, write := range map[string]func() (table.Item, error){
		"Put": func() (table.Item, error) {
			now := with(k, table.Item{"m": "1"})
			return now, tab.Put(t.Context(), now, condition)
		},
		"Delete": func() (table.Item, error) { return nil, tab.Delete(t.Context(), k, condition) },
		"Update": func() (table.Item, error) {
			return tab.Update(t.Context(), k, table.Change{Set: table.Item{"n": "new"}, Add: map[string]int64{"m": 1}}, condition)
		},
	} {
		if item == nil {
			if err := tab.Delete(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, tab, with(k, item))
			was, _ = tab.Get(t.Context(), k)
		}
		now, err := write()
		switch {
		case met && err != nil:
			t.Errorf("%s: %v", name, err)
		case met:
			holds(t, tab, k, now)
		case err != table.ErrCondition:
			t.Errorf("%s: %v, want ErrCondition", name, err)
		default:
			holds(t, tab, k, was)
		}
	}
}

// equal checks that scalars of all kinds equal only themselves.
func equal(t *testing.T, tab *table.Table) {
	Equal(t, tab, nil, true, false, "", "a", "A", "0", "true", 0, 1, -1, 1.5)
}

// Equal checks that each of the values equals only itself.
func Equal(t *testing.T, tab *table.Table, values ...any) {
	for i, kept := range values {
		k := place(t, fmt.Sprint(i))
		put(t, tab, with(k, table.Item{"v": kept}))
		for j, v := range values {
			_, err := tab.Update(t.Context(), k, table.Change{Add: map[string]int64{"n": 1}}, table.Equal("v", v))
			if (i == j) != (err == nil) || i != j && err != table.ErrCondition {
				t.Errorf("%v is kept and %v expected: %v", kept, v, err)
			}
		}
	}
}

// several checks that all conditions must be met, including several on one attribute.
func several(t *testing.T, tab *table.Table) {
	k := place(t, "x")
	put(t, tab, with(k, table.Item{"n": 5, "name": "a"}))
	met := []table.Condition{table.Present(), table.AtMost("n", 7), table.Equal("n", 5), table.Equal("name", "a"), table.Missing("other"), table.AtMost("other", 0)}
	unmet := []table.Condition{table.Absent(), table.AtMost("n", 4), table.Equal("n", 6), table.Equal("name", "b"), table.Missing("n"), table.Equal("other", nil)}
	for i := range unmet {
		for at := range met {
			list := append(append(append([]table.Condition{}, met[:at]...), unmet[i]), met[at:]...)
			if _, err := tab.Update(t.Context(), k, table.Change{Add: map[string]int64{"n": 1}}, list...); err != table.ErrCondition {
				t.Errorf("unmet condition %d at %d: %v", i, at, err)
			}
		}
	}
	got, err := tab.Update(t.Context(), k, table.Change{Add: map[string]int64{"n": 1}}, met...)
	if err != nil || got["n"] != json.Number("6") {
		t.Errorf("all are met: %v (%v)", got, err)
	}
}

// updates checks the results of changes, one after the other.
func updates(t *testing.T, tab *table.Table) {
	k := place(t, "x")
	for _, c := range []struct {
		change table.Change
		want   table.Item
	}{
		{table.Change{Add: map[string]int64{"n": 3}}, table.Item{"n": json.Number("3")}}, // creates the item
		{table.Change{Add: map[string]int64{"n": -5, "zero": 0}}, table.Item{"n": json.Number("-2"), "zero": json.Number("0")}},
		{table.Change{Set: table.Item{"n": 1.5, "s": "x"}, Remove: []string{"zero", "none"}}, table.Item{"n": json.Number("1.5"), "s": "x"}},
		{table.Change{Add: map[string]int64{"n": 1, "m": 1 << 62}, Set: table.Item{"s": nil, "t": ""}, Remove: []string{"u"}},
			table.Item{"n": json.Number("2.5"), "m": json.Number("4611686018427387904"), "s": nil, "t": ""}},
		{table.Change{Add: map[string]int64{"m": 1 << 62}, Remove: []string{"n", "s", "t"}}, table.Item{"m": json.Number("9223372036854775808")}},
		{table.Change{Set: table.Item{"status": "reserved", "a.b": "path", "#": "sign", ":v0": "value", "#a0": "name", "é 日": "unicode"}, Remove: []string{"m"}},
			table.Item{"status": "reserved", "a.b": "path", "#": "sign", ":v0": "value", "#a0": "name", "é 日": "unicode"}},
	} {
		got, err := tab.Update(t.Context(), k, c.change)
		if err != nil || !reflect.DeepEqual(got, with(k, c.want)) {
			t.Errorf("%v: %v (%v), want %v", c.change, got, err, c.want)
		}
		holds(t, tab, k, got)
	}
}

// misused checks that invalid changes change nothing.
func misused(t *testing.T, tab *table.Table) {
	k := place(t, "x")
	kept := with(k, table.Item{"text": secret, "list": []any{}, "null": nil, "n": json.Number("1")})
	put(t, tab, kept)
	for name, c := range map[string]table.Change{
		"nothing": {}, "empty": {Add: map[string]int64{}, Set: table.Item{}, Remove: []string{}},
		"add to text": {Add: map[string]int64{"text": 1}}, "add to a list": {Add: map[string]int64{"list": 1, "n": 1}}, "add to null": {Add: map[string]int64{"null": 1}},
		"key": {Set: table.Item{"pk": secret}}, "remove the key": {Remove: []string{"sk"}},
		"twice": {Add: map[string]int64{"n": 1}, Set: table.Item{"n": 2}}, "set and remove": {Set: table.Item{"n": secret}, Remove: []string{"n"}},
	} {
		_, err := tab.Update(t.Context(), k, c)
		fails(t, err, "")
		if t.Failed() {
			t.Fatalf("it was %s", name)
		}
	}
	holds(t, tab, k, kept)
}

// many makes n concurrent calls.
func many(n int, call func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { call(i) })
	}
	all.Wait()
}

// bound checks that concurrent additions never exceed a bound, and reach it.
func bound(t *testing.T, tab *table.Table) {
	const most, each = 40, 5
	k := place(t, "x")
	var done atomic.Int64
	many(16, func(int) {
		for range each {
			got, err := tab.Update(t.Context(), k, table.Change{Add: map[string]int64{"n": 1}}, table.AtMost("n", most-1))
			switch {
			case err == nil:
				done.Add(1)
				if n, _ := got["n"].(json.Number).Int64(); n > most {
					t.Errorf("%d is over the bound", n)
				}
			case err != table.ErrCondition:
				t.Error(err)
			}
		}
	})
	if done.Load() != most {
		t.Errorf("%d additions were done, want %d", done.Load(), most)
	}
	holds(t, tab, k, with(k, table.Item{"n": json.Number(fmt.Sprint(most))}))
}

// first checks that exactly one of many concurrent writers comes first.
func first(t *testing.T, tab *table.Table) {
	k := place(t, "x")
	var won atomic.Int64
	many(16, func(i int) {
		switch err := tab.Put(t.Context(), with(k, table.Item{"by": i}), table.Absent()); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, table.ErrCondition):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d made the item", won.Load())
	}
	got, err := tab.Get(t.Context(), k)
	if err != nil || len(maps.Clone(got)) != 3 {
		t.Errorf("%v (%v)", got, err)
	}
}
