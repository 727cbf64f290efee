package catalog

import (
	"strings"
	"testing"
)

// TestStatus: each item is served, or says why not.
func TestStatus(t *testing.T) {
	tab := tableOf(t, shipped(t, "bedrock-anthropic")...)
	for sk, text := range map[string]string{
		allSK:           `{"models":[{"model_name":"` + haiku + `","model_family":"bedrock","model_type":"Claude"},{"model_name":"` + haiku + `","model_family":"bedrock","model_type":"Twice"},{"model_name":"lost","model_family":"sagemaker","model_type":"x"}]}`,
		"bedrock-wrong": `{"context":-1}`, "local-gone": `{"schema":{"checkpoint":"gone"}}`, "bedrock-" + sonnet: `{"owner":"me"}`,
	} {
		it := decoded(t, []byte(text))
		it["pk"], it["sk"] = pk, sk
		if err := tab.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	for _, only := range []bool{false, true} {
		c := remotes(Table{tab})
		c.cfg.ListedOnly = only
		got := map[string]Status{}
		list, problems := c.Status(t.Context())
		for _, s := range list {
			got[s.Item] = s
			if (s.Served == nil) != (s.Why != "") {
				t.Errorf("%+v", s)
			}
		}
		if len(list) != 5 || len(problems) == 0 {
			t.Errorf("%d items, problems %v", len(list), problems)
		}
		if strings.Contains(got[allSK].Why, "earlier row") {
			t.Errorf("a warning is no reason: %+v", got[allSK])
		}
		if s := got["bedrock-anthropic"]; len(s.Served) != 1 || s.Served[0] != haiku {
			t.Errorf("%+v", s)
		}
		if s := got["bedrock-"+sonnet]; len(s.Served) != 1 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "owner") {
			t.Errorf("%+v", s)
		}
		for key, why := range map[string]string{allSK: "no record of sagemaker/lost", "bedrock-wrong": "/context: ", "local-gone": `checkpoint "gone": no such run`} {
			if s := got[key]; s.Served != nil || s.Unlisted || !strings.Contains(s.Why, why) {
				t.Errorf("%s: %+v", key, s)
			}
		}
	}
	groups := remotes(Table{tableOf(t, shipped(t, "bedrock-anthropic")...)})
	list, _ := groups.Status(t.Context())
	if len(list) != 1 || !list[0].Unlisted || !strings.Contains(list[0].Why, "served when a request names it") {
		t.Errorf("%+v", list)
	}
	groups.cfg.ListedOnly = true
	groups.Refresh()
	if list, _ = groups.Status(t.Context()); len(list) != 1 || !list[0].Unlisted || !strings.Contains(list[0].Why, "only listed models") {
		t.Errorf("%+v", list)
	}
}
