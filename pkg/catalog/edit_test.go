package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
	"glossa/schemas"
)

// tableOf returns the table of a service with these items.
func tableOf(t *testing.T, items ...table.Item) *table.Table {
	t.Helper()
	tab := tabletest.New(t).Table()
	for _, it := range items {
		if err := tab.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	return tab
}

// decoded returns an item as in a table, with native values.
func decoded(t *testing.T, b []byte) (it table.Item) {
	t.Helper()
	if err := decode(b, &it); err != nil {
		t.Fatal(err)
	}
	return it
}

// described formats a source's records, independent of the notation of its items.
func described(t *testing.T, s Source) string {
	t.Helper()
	items, err := s.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var r reader
	l := r.read(items, nil)
	var b strings.Builder
	for _, rec := range l.records {
		text := fmt.Sprint(rec.Reasons != nil && *rec.Reasons)
		if rec.Schema != nil {
			var v any
			raw, _ := json.Marshal(rec.Schema)
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			sorted, _ := json.Marshal(v)
			text += string(sorted)
		}
		rec.raw, rec.Schema, rec.Reasons = "", nil, nil
		fmt.Fprintf(&b, "%+v %s\n", rec, text)
	}
	return b.String() + fmt.Sprint(len(l.problems))
}

// Files and tables have the same meaning, with native values or JSON strings, and after
// an editor has written them.
func TestOneMeaningInFilesAndTables(t *testing.T) {
	whole := files(rows("a.b", "c"), group("c", `,"model_id":"id","hostings":["x","y"],"context":8192,"created":1700000000,"cache_seconds":3,"fallbacks":["a.b"]`),
		group("a", ""), `{"pk":"models","sk":"local-l","created":"2026-01-02T03:04:05Z","parse_special":true,"schema":{"checkpoint":"l","cap":12.5,"aliases":["m"]}}`)
	items, err := whole.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := described(t, whole)
	if !strings.Contains(want, "Context:8192") || !strings.Contains(want, "Cap:12.5") || !strings.HasSuffix(want, "\n0") {
		t.Error(want)
	}
	var native []table.Item
	for _, it := range items {
		native = append(native, decoded(t, it.JSON))
	}
	if got := described(t, Table{tableOf(t, native...)}); got != want {
		t.Errorf("native:\n%s\nwant\n%s", got, want)
	}
	written := Editor{tableOf(t)}
	if keys, err := written.Add(t.Context(), Addition{Items: items}); err != nil || len(keys) != 4 {
		t.Error(keys, err)
	}
	if got := described(t, Table(written)); got != want {
		t.Errorf("written:\n%s\nwant\n%s", got, want)
	}
	for _, key := range []string{"local-l", "bedrock-c", allSK} {
		it, err := written.Table.Get(t.Context(), table.Key{PK: pk, SK: key})
		schema, ok := it["schema"].(string)
		models, all := it["models"].(string)
		if err != nil || !ok && !all || !strings.HasPrefix(schema+models, "[") && !strings.HasPrefix(schema+models, "{") {
			t.Errorf("%s is written as %v, %v", key, it, err)
		}
	}
}

// The list keeps its format, and its unchanged rows; upstream's attributes stay the
// same.
func TestListKeepsItsForm(t *testing.T) {
	odd := `[{"model_type": "X", "model_family": "bedrock", "model_name": "a.1", "streaming": true, "note": 1.50}]`
	for _, native := range []bool{false, true} {
		all := table.Item{"pk": pk, "sk": allSK, "models": odd, "comment": "of another"}
		if native {
			all["models"] = decoded(t, []byte(`{"models":`+odd+`}`))["models"]
		}
		e := Editor{tableOf(t, all, decoded(t, []byte(group("a", ""))))}
		if _, err := e.Add(t.Context(), Addition{Rows: []Row{{"T", "a.2", Bedrock, true}}}); err != nil {
			t.Fatal(err)
		}
		it, err := e.Table.Get(t.Context(), table.Key{PK: pk, SK: allSK})
		if err != nil || it["comment"] != "of another" {
			t.Error(it, err)
		}
		if !native {
			want := `[{"model_type": "X", "model_family": "bedrock", "model_name": "a.1", "streaming": true, "note": 1.50},` +
				`{"model_type":"T","model_name":"a.2","model_family":"bedrock","streaming":false}]`
			if got := strings.ReplaceAll(it["models"].(string), " ", ""); got != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%s", got)
			}
		} else if list, ok := it["models"].([]any); !ok || len(list) != 2 {
			t.Errorf("%v", it["models"])
		}
		removed, err := e.Remove(t.Context(), []string{"a.2"}, false)
		if err != nil || !slices.Equal(removed, []string{"bedrock/a.2"}) {
			t.Error(removed, err)
		}
		l, err := e.Table.Get(t.Context(), table.Key{PK: pk, SK: allSK})
		if s := fmt.Sprint(l["models"]); err != nil || strings.Contains(s, "a.2") || !strings.Contains(s, "note") {
			t.Error(s, err)
		}
	}
}

// Concurrent additions and removals lose no model, whatever the format of the list,
// and even if connections break after writes.
func TestManyEditors(t *testing.T) {
	for _, start := range []any{nil, "[]", []any{}} {
		s := tabletest.New(t)
		seed := []table.Item{decoded(t, []byte(group("a", "")))}
		if start != nil {
			seed = append(seed, table.Item{"pk": pk, "sk": allSK, "models": start})
		}
		for _, it := range seed {
			if err := s.Table().Put(t.Context(), it); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		dice := rand.New(rand.NewPCG(1, 2))
		s.Fault(func(op string) (int, string) {
			mu.Lock()
			defer mu.Unlock()
			switch n := dice.IntN(20); {
			case n == 0 && op == "UpdateItem":
				return tabletest.Lost, ""
			case n == 1 && op != "Query":
				return http.StatusBadRequest, "ThrottlingException"
			}
			return 0, ""
		})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				e := Editor{s.Table()}
				for _, name := range []string{fmt.Sprint("a.", i), fmt.Sprint("a.gone", i)} {
					if _, err := e.Add(t.Context(), Addition{Rows: []Row{{"T", name, Bedrock, false}}}); err != nil {
						t.Error(err)
					}
				}
				if _, err := e.Remove(t.Context(), []string{fmt.Sprint("a.gone", i)}, false); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.Fault(nil)
		items, err := Table{s.Table()}.Items(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var r reader
		l := r.read(items, nil)
		var got []string
		for _, rec := range l.records {
			got = append(got, rec.Name)
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != 16 || len(l.records) != 16 || len(l.problems) > 0 || slices.ContainsFunc(got, func(n string) bool { return strings.Contains(n, "gone") }) {
			t.Errorf("%T: %d models: %v, %v", start, len(l.records), got, l.problems)
		}
	}
}

// Errors are returned before anything is written.
func TestRefusedBeforeWriting(t *testing.T) {
	large := strings.Repeat("x", maxStored/2)
	long := make([]Row, 0, 4000)
	for i := range cap(long) {
		long = append(long, Row{"Type", fmt.Sprintf("a.a-long-name-of-a-model-that-takes-place-%d", i), Bedrock, true})
	}
	good := group("good", "")
	item := func(text string) Item { return Item{Name: "f.json", JSON: []byte(text)} }
	for want, a := range map[string]Addition{
		"f.json: /schema: it is missing":   {Items: []Item{item(good), item(`{"pk":"models","sk":"bedrock-a"}`)}},
		"f.json: no such file":             {Items: []Item{item(good), {Name: "f.json", Err: errors.New("no such file")}}},
		"no record of bedrock/x.y: looked": {Items: []Item{item(good)}, Rows: []Row{{"T", "good.1", Bedrock, true}, {"T", "x.y", Bedrock, true}}},
		"no record of bedrock/x: looked":   {Items: []Item{item(good), item(rows("x"))}},
		`unknown family "azure"`:           {Items: []Item{item(good)}, Rows: []Row{{"T", "x.y", "azure", true}}},
		"bedrock-broken, the record of":    {Items: []Item{item(good)}, Rows: []Row{{"T", "broken.1", Bedrock, true}}},
		"models/bedrock-big has 409":       {Items: []Item{item(good), item(group("big", `,"description":"`+large+`","hostings":["`+large+`"]`))}},
		"models/all-models has ":           {Items: []Item{item(good), item(group("a", ""))}, Rows: long},
		"another file also has the sk":     {Items: []Item{item(good), item(good)}},
	} {
		e := Editor{tableOf(t, table.Item{"pk": pk, "sk": "bedrock-broken", "schema": "{}"})}
		written, err := e.Add(t.Context(), a)
		items, _ := e.Table.Query(t.Context(), pk, "")
		if err == nil || !strings.Contains(err.Error(), want) || len(written) > 0 || len(items) != 1 {
			t.Errorf("%.300v, want %q; written: %v, %d items", err, want, written, len(items))
		}
	}
	e := Editor{tableOf(t, table.Item{"pk": pk, "sk": allSK, "models": "[{"})}
	if written, err := e.Add(t.Context(), Addition{Items: []Item{item(good)}, Rows: []Row{{"T", "good.1", Bedrock, true}}}); err == nil || !strings.Contains(err.Error(), "fix it first") || len(written) > 0 {
		t.Error(written, err)
	}
}

// A record as large as a table takes is written.
func TestLargestItem(t *testing.T) {
	e := Editor{tableOf(t)}
	frame := len(group("a", `,"description":""`))
	for size := maxStored - frame; ; size += 8 {
		it := Item{Name: "f", JSON: []byte(group("a", `,"description":"`+strings.Repeat("x", size)+`"`))}
		_, err := e.Add(t.Context(), Addition{Items: []Item{it}})
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "an item of a table has at most 409600") || size == maxStored-frame {
			t.Errorf("at %d: %.200v", size, err)
		}
		break
	}
}

// A default is written where a row has no other record, and the list's row streams if
// its record does.
func TestDefaults(t *testing.T) {
	inside, err := Files{schemas.Files()}.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := Editor{tableOf(t, decoded(t, []byte(group("amazon", ""))))}
	claude, titan := Row{"Claude", "us.anthropic.claude-sonnet-4-20250514-v1:0", Bedrock, true}, Row{"Titan", "amazon.titan-text", Bedrock, true}
	if _, err := e.Add(t.Context(), Addition{Rows: []Row{claude}}); !errors.Is(err, NoRecord{Bedrock, claude.Name}) {
		t.Error(err)
	}
	written, err := e.Add(t.Context(), Addition{Rows: []Row{claude, titan}, Defaults: inside})
	if err != nil || !slices.Equal(written, []string{"bedrock-anthropic", allSK}) {
		t.Error(written, err)
	}
	entries, problems := remotes(Table(e)).Entries(t.Context())
	if len(problems) > 0 || len(entries) != 2 || !entries[0].Streaming || entries[1].Streaming || entries[1].Item != "bedrock-amazon" {
		t.Errorf("%+v %v", entries, problems)
	}
}

// A default that another editor writes at the same moment stays.
func TestDefaultOfAnother(t *testing.T) {
	s := tabletest.New(t)
	e := Editor{s.Table()}
	var once sync.Once
	s.Fault(func(op string) (status int, code string) {
		if op == "PutItem" {
			once.Do(func() { status, code = http.StatusBadRequest, "ConditionalCheckFailedException" })
		}
		return status, code
	})
	a := Addition{Rows: []Row{{"T", "a.1", Bedrock, true}}, Defaults: []Item{{Name: "a", JSON: []byte(group("a", ""))}}}
	if written, err := e.Add(t.Context(), a); err != nil || !slices.Equal(written, []string{allSK}) {
		t.Error(written, err)
	}
}

func TestRemove(t *testing.T) {
	two := `{"pk":"models","sk":"all-models","models":[
		{"model_type":"T","model_name":"a.x","model_family":"bedrock","streaming":false},
		{"model_type":"T","model_name":"a.x","model_family":"sagemaker","streaming":false},
		{"model_type":"T","model_name":"b","model_family":"bedrock","streaming":false},
		{"model_type":"T","model_name":"b.c","model_family":"bedrock","streaming":false}]}`
	items := []table.Item{decoded(t, []byte(two)), decoded(t, []byte(group("a.x", ""))), decoded(t, []byte(group("b", ""))), decoded(t, []byte(group("free", "")))}
	for _, c := range []struct {
		names string
		own   bool
		err   string
		left  string // rows and records
	}{
		{"a.x", false, "a.x is the name of several models: bedrock/a.x, sagemaker/a.x", ""},
		{"bedrock/a.x nope", false, "nope is not listed", ""},
		{"bedrock/a.x", false, "", "sagemaker/a.x bedrock/b bedrock/b.c bedrock-a.x bedrock-b bedrock-free"},
		{"bedrock/a.x b.c", true, "", "sagemaker/a.x bedrock/b bedrock-b bedrock-free"},
		{"b", true, "the record bedrock-b also belongs to bedrock/b.c", ""},
		{"b b.c", true, "", "bedrock/a.x sagemaker/a.x bedrock-a.x bedrock-free"},
		{"b", false, "", "bedrock/a.x sagemaker/a.x bedrock/b.c bedrock-a.x bedrock-b bedrock-free"},
		{"bedrock/free", false, "bedrock/free is not listed", ""},
		{"bedrock/free", true, "", "bedrock/a.x sagemaker/a.x bedrock/b bedrock/b.c bedrock-a.x bedrock-b"},
	} {
		e := Editor{tableOf(t, items...)}
		_, err := e.Remove(t.Context(), strings.Fields(c.names), c.own)
		if c.err != "" {
			c.left = "bedrock/a.x sagemaker/a.x bedrock/b bedrock/b.c bedrock-a.x bedrock-b bedrock-free"
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.names, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.names, err)
		}
		stored, err := Table(e).Items(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var r reader
		all, _ := r.index(stored, nil)
		var left []string
		for _, m := range all.rows() {
			left = append(left, m.String())
		}
		for _, it := range stored {
			if key := strings.TrimPrefix(it.Name, "models/"); key != allSK {
				left = append(left, key)
			}
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s %v: left are %s, want %s", c.names, c.own, got, c.left)
		}
	}
	if _, err := (Editor{tableOf(t)}).Remove(t.Context(), []string{"x"}, true); err == nil {
		t.Error("a model of an empty table is removed")
	}
}

// A permanent fault is finally returned, and a cancelled caller returns at once.
func TestChangeThatNeverSucceeds(t *testing.T) {
	s := tabletest.New(t)
	if err := s.Table().Put(t.Context(), decoded(t, []byte(group("a", "")))); err != nil {
		t.Fatal(err)
	}
	add := Addition{Rows: []Row{{"T", "a", Bedrock, false}}}
	s.Fault(func(op string) (int, string) {
		if op == "UpdateItem" {
			return http.StatusBadRequest, "ValidationException"
		}
		return 0, ""
	})
	if _, err := (Editor{s.Table()}).Add(t.Context(), add); err == nil || s.Requests("UpdateItem") != maxFaults {
		t.Errorf("%v after %d attempts", err, s.Requests("UpdateItem"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Fault(func(op string) (int, string) {
		if op == "UpdateItem" {
			if s.Requests(op) >= maxFaults+2 {
				cancel()
			}
			return http.StatusBadRequest, "ConditionalCheckFailedException"
		}
		return 0, ""
	})
	if _, err := (Editor{s.Table()}).Add(ctx, add); !errors.Is(err, context.Canceled) || s.Requests("UpdateItem") < maxFaults+2 {
		t.Errorf("%v after %d attempts", err, s.Requests("UpdateItem"))
	}
}
