package app

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
	"glossa/pkg/catalog"
	"glossa/pkg/table"
	"glossa/schemas"
)

var (
	shownItem    = regexp.MustCompile("(?s)(?:Item=|```json\n)(\\{.*?\\n?\\})(?:\\)\n```|\n```)")
	shownCommand = regexp.MustCompile(`(?m)^\$ curl -s 127\.0\.0\.1:8080(\S+)(?: -H '[^']*' -d '([^']*)')?( \| jq -c '\.models\[\]')?\n((?:\{.*\n)+)`)
)

// The items that schemas/README.md shows are records without a mistake, and the server
// answers what it shows.
func TestRecordsReadme(t *testing.T) {
	b, err := os.ReadFile("../../schemas/README.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	shipped, err := catalog.Files{FS: schemas.Files()}.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var groups, items []table.Item
	parse := func(text []byte) (it table.Item) {
		if err := json.Unmarshal(text, &it); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return it
	}
	for _, it := range shipped {
		if !strings.HasPrefix(it.Name, "all-models") && !strings.HasPrefix(it.Name, "local-") {
			groups = append(groups, parse(it.JSON))
		}
	}
	for _, found := range shownItem.FindAllStringSubmatch(page, -1) {
		items = append(items, parse([]byte(found[1])))
	}
	if len(items) != 10 || strings.Count(page, `"pk": "models"`) != len(items) {
		t.Fatalf("%d items are read: %v", len(items), items)
	}
	m := remoteModels[0]
	says := func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		w.Whole(`{"content": [{"type": "text", "text": "It stood at the end of the pier."}], "stop_reason": "end_turn", "usage": {"input_tokens": 11, "output_tokens": 9}}`)
	}
	commands := shownCommand.FindAllStringSubmatch(page, -1)
	if len(commands) != 4 || strings.Count(page, "$ curl") != len(commands) {
		t.Fatalf("%q", commands)
	}
	for i, c := range commands {
		stored := slices.Concat(groups, items)
		if i < 2 {
			stored = stored[:len(groups)+1] // the first item alone
		}
		tableOf(t, stored...)
		a, _ := remoteApp(t, &m, Config{Table: "glossa"}, says)
		method := "GET"
		if c[2] != "" {
			method = "POST"
		}
		got := text(t, ask(a.Handler(), method, c[1], "", strings.NewReader(c[2])))
		if c[3] != "" { // a row for each model, as jq prints them
			got = strings.NewReplacer(`{"models":[`, "", "]}", "", "},{", "}\n{").Replace(got)
		}
		if got != c[4] {
			t.Errorf("%s %s: %s, want %s", c[1], c[2], got, c[4])
		}
		if _, problems := a.Catalog().Entries(t.Context()); len(problems) > 0 {
			t.Error(problems)
		}
	}
}
