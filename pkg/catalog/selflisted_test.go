package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
	"glossa/schemas"
)

const (
	sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	haiku  = "anthropic.claude-3-haiku-20240307-v1:0"
)

// shipped returns the embedded records with these names as items of a table.
func shipped(t *testing.T, keys ...string) (list []table.Item) {
	t.Helper()
	for _, key := range keys {
		it := ReadItem(schemas.Files(), key+".json")
		if it.Err != nil {
			t.Fatal(it.Err)
		}
		list = append(list, decoded(t, it.JSON))
	}
	return list
}

// A record in the table is a model, immediately and without a row; a deleted record is
// not.
func TestOneItemIsAModel(t *testing.T) {
	schema := decoded(t, []byte(group("x", "")))["schema"]
	for name, it := range map[string]table.Item{
		"without a schema": {"sk": "bedrock-" + sonnet},
		"of a map":         {"sk": "bedrock-" + haiku, "schema": schema},
		"of a string":      {"sk": "bedrock-" + haiku, "schema": tiny},
		"of an ARN":        {"sk": "bedrock-arn:aws:bedrock:eu-west-1:1:inference-profile/" + sonnet},
		"by its id":        {"sk": "bedrock-mine", "schema": schema, "model_id": "arn:aws:bedrock:eu-west-1:1:imported-model/x"},
		"of an endpoint":   {"sk": "sagemaker-support", "schema": tiny},
		"under a group":    {"sk": "sagemaker-tgi.my-endpoint"},
		"that says so":     {"sk": "bedrock-name", "schema": tiny, "listed": true},
	} {
		tab := tableOf(t, shipped(t, "bedrock-anthropic", "sagemaker-tgi")...)
		c := remotes(Table{tab})
		c.cfg.TTL, c.source.ttl = 1, 1 // read each time
		if got := names(t, c); len(got) > 0 {
			t.Errorf("%s: before %q", name, got)
		}
		it["pk"] = pk
		if err := tab.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
		want := it["sk"].(string)
		_, want, _ = strings.Cut(want, "-")
		if got := names(t, c); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
		if m, err := c.Open(t.Context(), want); err != nil || m.Name != want {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if _, problems := c.Entries(t.Context()); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		if err := tab.Delete(t.Context(), it.Key()); err != nil {
			t.Fatal(err)
		}
		if got := names(t, c); len(got) > 0 {
			t.Errorf("%s: after %q", name, got)
		}
	}
}

// The values of a row come from the item, or are derived.
func TestTypesOfModelsWithoutARow(t *testing.T) {
	stream := strings.Replace(tiny, `"response":`, `"response-with-stream":{"mapping":{}},"response":`, 1)
	record := func(sk, more string) string { return `{"pk":"models","sk":"` + sk + `"` + more + `}` }
	c := remotes(files(
		record("bedrock-eu.amazon.titan-v1", `,"schema":`+stream), record("bedrock-arn:aws:bedrock:eu-west-1:1:imported-model/x", `,"schema":`+tiny),
		record("bedrock-"+haiku, `,"model_type":"Claude","model_family":"bedrock","model_name":"`+haiku+`","streaming":false,"schema":`+stream),
		record("sagemaker-tgi.x", `,"schema":`+tiny), record("sagemaker-x", `,"streaming":true,"schema":`+tiny),
	))
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprint(m.Type, " ", m.Streaming))
	}
	if want := []string{"Claude false", "bedrock false", "amazon true", "tgi false", "sagemaker false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, problems := c.Entries(t.Context())
	if len(problems) != 1 || !IsWarning(problems[0]) || !strings.Contains(problems[0].Error(), "record 04.json: /streaming: it does not stream") {
		t.Error(problems)
	}
}

// Records of groups are not listed, nor are keys that are not valid names.
func TestGroupsAreNotListed(t *testing.T) {
	for key, more := range map[string]string{
		"bedrock-anthropic": "", "bedrock-anthropic.claude-v2": "", "bedrock-mine": "", "sagemaker-tgi": "", "sagemaker-x.y": `,"listed":false`,
		"bedrock-a.b": `,"model_id":"x","listed":false`, "bedrock-a.": "", "bedrock-a.*": "", "bedrock-a.b-": "", "sagemaker-a*": "", "bedrock-a.b/../c": "",
		"bedrock-a.b\\u001b[2J": `,"model_id":"x"`, "sagemaker-a b": "", "sagemaker- a": `,"endpoint":"e"`, "bedrock-a..b": "",
		"sagemaker-" + strings.Repeat("x", maxName+1): `,"endpoint":"e"`,
	} {
		c := remotes(files(`{"pk":"models","sk":"` + key + `","schema":` + tiny + more + `}`))
		if got := names(t, c); len(got) > 0 {
			t.Errorf("%s: %q", key, got)
		}
		for _, p := range c.now.Load().problems {
			if !IsWarning(p) || !strings.Contains(p.Error(), "/sk: ") {
				t.Errorf("%s: %v", key, p)
			}
		}
	}
}

// The groups without an attribute for it are the embedded records.
func TestShippedGroups(t *testing.T) {
	entries, err := os.ReadDir("../../schemas")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), ".json"); ok && (strings.HasPrefix(key, Bedrock) || strings.HasPrefix(key, SageMaker) || strings.HasPrefix(key, OpenAI)) {
			want = append(want, key)
		}
	}
	if got := groups(); !slices.Equal(slices.Sorted(slices.Values(want)), got) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Rows come first, in their order, each model once; records that rows use as groups
// are not models themselves.
func TestRowsComeFirst(t *testing.T) {
	c := remotes(files(rows("own.z", "g.h.2", "own.a", "g.h.1", "us.x.y", "own.z", "t.v.1"),
		group("own.a", ""), group("own.b", ""), group("own.z", ""), group("g.h", ""), group("x.y", ""), group("t", `,"model_id":"one"`)))
	if got, want := names(t, c), []string{"own.z", "g.h.2", "own.a", "g.h.1", "us.x.y", "t.v.1", "own.b", "x.y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, problems := c.Entries(t.Context())
	if len(problems) != 1 || !IsWarning(problems[0]) || !strings.Contains(problems[0].Error(), "all-models: /models/5: bedrock/own.z has an earlier row") {
		t.Error(problems)
	}
}

// Items that are not models, and invalid ones, do not affect others, and are reported by name.
func TestBadItemsAreNamed(t *testing.T) {
	good := table.Item{"pk": pk, "sk": "bedrock-" + haiku, "schema": tiny}
	c := remotes(Table{tableOf(t, good,
		table.Item{"pk": pk, "sk": "lock#1"}, table.Item{"pk": pk, "sk": "bedrock-a\x1b[2J.b\n", "schema": tiny}, table.Item{"pk": "lock#1", "sk": "bedrock-a.b", "schema": tiny},
		table.Item{"pk": "accounts", "sk": "key#1", "secret": "x"}, table.Item{"pk": "budget#a", "sk": "2026"},
		table.Item{"pk": pk, "sk": "bedrock-a.bad", "schema": "{"}, table.Item{"pk": pk, "sk": "bedrock-a.none"},
		table.Item{"pk": pk, "sk": "bedrock-a.kind", "schema": int64(7)}, table.Item{"pk": pk, "sk": allSK, "models": int64(7)},
		table.Item{"pk": pk, "sk": "bedrock-", "schema": tiny}, table.Item{"pk": pk, "sk": "-", "schema": tiny}, table.Item{"pk": pk, "sk": "azure-a.b", "schema": tiny},
	)})
	if got := names(t, c); !slices.Equal(got, []string{haiku}) {
		t.Errorf("%q", got)
	}
	_, problems := c.Entries(t.Context())
	said := errors.Join(problems...).Error()
	for _, want := range []string{
		"record models/lock#1: /sk: ", "record models/bedrock-a.bad: /schema: ", "record models/bedrock-a.none: /schema: it is missing, and no record of a group",
		"record models/bedrock-a.kind: /schema: ", "record models/all-models: /models: it is a number", "record models/bedrock-: /sk: ",
		"record models/-: /sk: ", `record "models/bedrock-a\x1b[2J.b\n": /sk: `, "record models/azure-a.b: /sk: ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in:\n%s", want, said)
		}
	}
	if len(problems) != 9 || strings.Contains(said, "\x1b") {
		t.Errorf("%d problems:\n%s", len(problems), said)
	}
	if _, err := c.Open(t.Context(), "a.bad"); err == nil || !strings.Contains(err.Error(), "is listed but cannot be served") {
		t.Error(err)
	}
}

// Unknown attributes are reported once for an item, without their values, and the model
// is served.
func TestUnknownAttributesAreReportedOnce(t *testing.T) {
	var log bytes.Buffer
	it := table.Item{"pk": pk, "sk": "bedrock-a.b", "schema": tiny, "team": "secret-1", "api_key": "secret-2", "tags": []any{"secret-3"}, "evil\nname": true}
	for i := range 20 {
		it[fmt.Sprint("x", i)] = "secret-4"
	}
	row := `[{"model_type":"T","model_name":"a.c","model_family":"bedrock","streaming":true,"note":"secret-5"},{"model_name":"a.d","model_family":"bedrock","note":1}]`
	tab := tableOf(t, it, table.Item{"pk": pk, "sk": allSK, "models": row, "comment": "secret-6"}, table.Item{"pk": pk, "sk": "bedrock-a", "schema": tiny})
	c := remotes(Table{tab})
	c.cfg.TTL, c.source.ttl, c.cfg.Log = 1, 1, slog.New(slog.NewTextHandler(&log, nil))
	for range 3 {
		if got := names(t, c); !slices.Equal(got, []string{"a.c", "a.d", "a.b"}) {
			t.Errorf("%q", got)
		}
	}
	said := log.String()
	if lines := strings.Count(said, "\n"); lines != 3+1 || strings.Contains(said, "secret") { // and a warning that a.c does not stream
		t.Errorf("%d lines:\n%s", lines, said)
	}
	for _, want := range []string{`api_key`, `16 more; known are cache_seconds`, `/models: unknown and ignored: \\\"note\\\"`, `comment`} {
		if !strings.Contains(strings.ReplaceAll(said, `\"`, `\\\"`), want) {
			t.Errorf("%s is not in\n%s", want, said)
		}
	}
}

// A name that a group's record covers is served on request, with or without its family;
// the operator can disable that.
func TestUnlistedModels(t *testing.T) {
	open := map[string]string{ // configuration of the backend; "": rejected
		haiku: "bedrock-anthropic", "bedrock/" + haiku: "bedrock-anthropic", sonnet: "bedrock-anthropic", "tgi.my-endpoint": "sagemaker-tgi",
		"sagemaker/tgi.my-endpoint": "sagemaker-tgi", "anthropic.claude-v2:1": "bedrock-anthropic.claude-v2", "h.idden": "bedrock-h.idden", "odd name": "sagemaker-odd name",

		"bedrock/tgi.my-endpoint": "", "sagemaker/" + haiku: "", "local/" + haiku: "", "anthropic": "", "bedrock/anthropic": "", "tgi": "", "mine.more": "",
		"bedrock/mine-2": "", "odd name.x": "", "bad.one": "", "listed.wrong": "", "bedrock/": "", "sagemaker/tgi.": "", "tgi..x": "", "nobody.knows": "",
		"arn:aws:bedrock:x.evil.example/y?:1:inference-profile/us." + haiku: "", "arn:aws:bedrock:eu-west-1::foundation-model/" + haiku: "",
		"anthropic.a/../b": "", "anthropic.a%2f": "", "anthropic.\x1b[2J": "", "anthropic.a b": "", "tgi.a?x=1": "", "anthropic.é": "",
		"anthropic." + strings.Repeat("x", maxName): "",
	}
	items := append(shipped(t, "bedrock-anthropic", "bedrock-anthropic.claude-v2", "sagemaker-tgi"),
		table.Item{"pk": pk, "sk": "bedrock-mine", "schema": tiny, "model_id": "id"}, table.Item{"pk": pk, "sk": "bedrock-h.idden", "schema": tiny, "listed": false},
		table.Item{"pk": pk, "sk": "sagemaker-odd name", "schema": tiny, "listed": false}, table.Item{"pk": pk, "sk": "bedrock-bad", "schema": "{"},
		table.Item{"pk": pk, "sk": allSK, "models": `[{"model_name":"listed.wrong","model_family":"bedrock"}]`},
		table.Item{"pk": pk, "sk": "sagemaker-listed", "schema": tiny})
	for _, only := range []bool{false, true} {
		c := remotes(Table{tableOf(t, items...)})
		c.cfg.ListedOnly = only
		for name, want := range open {
			m, err := c.Open(t.Context(), name)
			switch {
			case want == "" || only:
				if e := llm.AsError(err); err == nil || e.Code != llm.NotFound {
					t.Errorf("%q, listed only %t: %+v, %v", name, only, m, err)
				}
			case err != nil:
				t.Errorf("%q: %v", name, err)
			default:
				if got := say(t, c, name); !strings.HasPrefix(got, want+" ") {
					t.Errorf("%q is %s, want %s", name, got, want)
				}
				_, bare, _ := strings.Cut("/"+name, "/")
				if m.Name != strings.TrimPrefix(strings.TrimPrefix(bare, "bedrock/"), "sagemaker/") || c.Has(t.Context(), m.Name) {
					t.Errorf("%q: %+v", name, m)
				}
			}
		}
		if got := names(t, c); !slices.Equal(got, []string{"mine", "listed"}) {
			t.Errorf("%q", got)
		}
	}
}

// A long name costs nothing: clients can send megabytes.
func TestLongNames(t *testing.T) {
	c := remotes(files(group("a", "")))
	names(t, c)
	v, long := c.now.Load(), strings.Repeat("a-", 1<<20)
	if n := testing.AllocsPerRun(1, func() { v.unlisted(long) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
	if v.unlisted("a.x") == nil {
		t.Error("a short one is not found")
	}
}

// A fallback may be a model that is not listed.
func TestUnlistedFallback(t *testing.T) {
	c := remotes(files(group("a", ""), group("b.c", `,"fallbacks":["a.x"]`), group("b.d", `,"fallbacks":["z.x"]`)))
	_, problems := c.Entries(t.Context())
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "bedrock/b.d: ") {
		t.Error(problems)
	}
}

// A record without a schema uses the current one of its group.
func TestLentSchema(t *testing.T) {
	f := files(group("a", ""), `{"pk":"models","sk":"bedrock-a.b","context":7}`, `{"pk":"models","sk":"bedrock-a.b.c"}`)
	c := remotes(f)
	c.cfg.TTL, c.source.ttl = 1, 1 // read each time
	e, err := c.Entry(t.Context(), "a.b")
	if err != nil || e.Context != 7 || e.Record().Schema == nil || e.Item != "bedrock-a.b" {
		t.Fatalf("%+v, %v", e, err)
	}
	before := e.Version()
	f.FS.(fstest.MapFS)["00.json"] = &fstest.MapFile{Data: []byte(strings.Replace(group("a", ""), "$.t", "$.u", 1))}
	if e, err = c.Entry(t.Context(), "a.b"); err != nil || e.Version() == before {
		t.Errorf("the version is the same, %v", err)
	}
	f.FS.(fstest.MapFS)["00.json"] = &fstest.MapFile{Data: []byte(`{}`)}
	if got := names(t, c); len(got) > 0 {
		t.Errorf("without a group: %q", got)
	}
}

// An editor adds, unlists and deletes models without rows.
func TestEditorOfModelsWithoutARow(t *testing.T) {
	e := Editor{tableOf(t, shipped(t, "bedrock-anthropic")...)}
	listed := func() []string { return names(t, remotes(Table(e))) }
	add := Addition{Items: []Item{{Name: "f", JSON: []byte(`{"pk":"models","sk":"bedrock-` + sonnet + `"}`)}}}
	if written, err := e.Add(t.Context(), add); err != nil || !slices.Equal(written, []string{"bedrock-" + sonnet}) || !slices.Equal(listed(), []string{sonnet}) {
		t.Fatal(written, err, listed())
	}
	if _, err := e.Remove(t.Context(), []string{"bedrock/anthropic"}, true); err == nil || !strings.Contains(err.Error(), "the record bedrock-anthropic also belongs to bedrock/"+sonnet) {
		t.Error(err)
	}
	if removed, err := e.Remove(t.Context(), []string{sonnet}, false); err != nil || len(removed) != 1 || len(listed()) > 0 {
		t.Error(removed, err, listed())
	}
	it, err := e.Table.Get(t.Context(), table.Key{PK: pk, SK: "bedrock-" + sonnet})
	if err != nil || it["listed"] != false {
		t.Error(it, err)
	}
	if _, err := e.Add(t.Context(), Addition{Rows: []Row{{"Claude", sonnet, Bedrock, true}}}); err != nil || !slices.Equal(listed(), []string{sonnet}) {
		t.Error(err, listed())
	}
	if _, err := e.Remove(t.Context(), []string{sonnet}, true); err != nil || len(listed()) > 0 {
		t.Error(err, listed())
	}
	if _, err := e.Table.Get(t.Context(), it.Key()); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

// A table of any size costs no more than its first part: reading ends at a bound, and
// large answers are used for longer.
func TestLargeTables(t *testing.T) {
	s := tabletest.New(t)
	large := strings.Repeat("x", 350<<10)
	for i := range 48 {
		if err := s.Table().Put(t.Context(), table.Item{"pk": pk, "sk": fmt.Sprintf("bedrock-a.b%02d", i), "schema": tiny, "description": large}); err != nil {
			t.Fatal(err)
		}
	}
	items, err := Table{s.Table()}.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := remotes(fixed(items))
	entries, problems := c.Entries(t.Context())
	if n := maxItems / (350 << 10); len(entries) != n-1 && len(entries) != n {
		t.Errorf("%d models", len(entries))
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), fmt.Sprintf("record models/bedrock-a.b%02d: this record and those after it are not read", len(entries))) {
		t.Error(problems)
	}
	before := s.Requests("Query")
	for range s.Table().Pages(t.Context(), pk, "") {
		break
	}
	if n := s.Requests("Query") - before; n > 3 { // as often as one call is retried
		t.Errorf("%d pages were read, and one asked for", n)
	}
	if got := c.source.window; got != (window{DefaultTTL / 2 * 16, DefaultTTL * 16}) {
		t.Errorf("%v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &slow{names: []string{"m." + strings.Repeat("x", 3<<20)}}
		c := remotes(s)
		for range 600 {
			names(t, c)
			time.Sleep(100 * time.Millisecond)
		}
		if n := s.count(); n > 60/(4*2)+1 || n < 60/(4*5) { // in seconds; once in 4 times half of the TTL
			t.Errorf("asked %d times in a minute", n)
		}
	})
}

// schemas/README.md describes every attribute of an item.
func TestReadmeOfAttributes(t *testing.T) {
	b, err := os.ReadFile("../../schemas/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Attributes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var shown []string
	for _, line := range strings.Split(section, "\n") {
		if names, ok := strings.CutPrefix(line, "| `"); ok {
			names, _, _ = strings.Cut(names, "` |")
			shown = append(shown, strings.Split(names, "`, `")...)
		}
	}
	slices.Sort(shown)
	want := "known are " + strings.Join(shown, ", ")
	if got := parseItem([]byte(`{"pk":"models","sk":"bedrock-a.b","odd":1}`)).warnings; len(got) != 1 || !strings.HasSuffix(got[0].Message, want) {
		t.Errorf("%v, and the page has %s", got, want)
	}
}

// A record of an editor that begins files with a byte order mark is read.
func TestMarkedRecord(t *testing.T) {
	it := ReadItem(fstest.MapFS{"a.json": {Data: []byte("\ufeff{\"pk\":\"models\"}\r\n")}}, "a.json")
	if it.Err != nil || !json.Valid(it.JSON) {
		t.Errorf("%q, %v", it.JSON, it.Err)
	}
}
