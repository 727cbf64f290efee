//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// storedResponses checks that one process stores a response in the table, and that others read,
// continue and delete it, for its owner alone.
func storedResponses(t *testing.T, w *World, key string) string {
	doors := []string{w.api("/v1/responses"), w.url("responses", "/v1/responses")}
	var first, next struct {
		ID    string
		Store bool
		Usage struct {
			Input int `json:"input_tokens"`
		}
	}
	create := func(door, body string, into any) answer {
		a := w.ask(t, request{method: "POST", url: door, key: key, body: body})
		if a.status != 200 || json.Unmarshal([]byte(a.body), into) != nil {
			t.Fatalf("%s: %s", body, a)
		}
		return a
	}
	long := strings.Repeat("a lighthouse ", 40_000) // more than one item holds
	made := create(doors[0], `{"model": "novels", "input": "`+long+`", "truncation": "auto", "max_output_tokens": 4}`, &first)
	if !first.Store {
		t.Fatalf("it is not stored: %s", made)
	}
	create(doors[1], `{"model": "novels", "previous_response_id": "`+first.ID+`", "input": "Then", "truncation": "auto", "max_output_tokens": 4}`, &next)
	if got := w.ask(t, request{url: doors[1] + "/" + first.ID, key: key}); got.status != 200 || got.body != made.body {
		t.Errorf("it is read as %s, and was %s", got, made)
	}
	if got := w.ask(t, request{url: doors[0] + "/" + next.ID + "/input_items?order=asc", key: key}); got.status != 200 || !strings.Contains(got.body, long) || !strings.Contains(got.body, "Then") {
		t.Errorf("the items of the next: %.300s", got.body)
	}
	items := func(id string) int {
		list, err := w.Items.Query(t.Context(), "responses#key first", id)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list {
			if item["expires"] == nil {
				t.Errorf("the item %s never expires", item.Key().SK)
			}
		}
		return len(list)
	}
	whole := items(first.ID)
	if whole < 2 {
		t.Errorf("%d items hold it", whole)
	}
	other := w.glossa(t, "key", "create", "neighbour", "--role", "client", "--table-name", w.Table)
	body := `{"model": "novels", "previous_response_id": "` + first.ID + `", "input": "a"}`
	for name, r := range map[string]request{
		"read": {url: doors[0] + "/" + first.ID}, "deleted": {method: "DELETE", url: doors[0] + "/" + first.ID}, "continued": {method: "POST", url: doors[1], body: body},
	} {
		r.key = other
		if a := w.ask(t, r); a.status != 404 && a.status != 400 || !strings.Contains(a.body, "not found") {
			t.Errorf("%s by another owner: %s", name, a)
		}
	}
	if a := w.ask(t, request{method: "DELETE", url: doors[1] + "/" + first.ID, key: key}); a.status != 200 {
		t.Errorf("to delete it: %s", a)
	}
	if a := w.ask(t, request{url: doors[0] + "/" + first.ID, key: key}); a.status != 404 {
		t.Errorf("after it was deleted: %s", a)
	}
	if n := items(first.ID); n > 0 {
		t.Errorf("%d items are left", n)
	}
	return fmt.Sprintf("%d kB in %d items, continued and deleted by another process", len(long)>>10, whole)
}
