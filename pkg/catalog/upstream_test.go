package catalog

import (
	"strings"
	"testing"

	"glossa/pkg/secret"
)

// TestUpstreamRecords: what a record of the family openai may say.
func TestUpstreamRecords(t *testing.T) {
	const group = `{"pk":"models","sk":"openai-chat","schema":{"api":"chat/completions",` +
		`"request":{"defaults":{"p":""},"mapping":{"prompt":"$.p"}},"response":{"mapping":{"generated_text":"$.t"}}}}`
	standard := []Item{{Name: "chat", JSON: []byte(group)}}
	for members, want := range map[string]string{
		`"url":"https://llm.example.com/v1"`:                                                 "",
		`"url":"http://127.0.0.1:8000/v1","key":"env:KEY","model_id":"org/m","private":true`: "",
		`"url":"http://[::1]:8000","unsupported":"drop"`:                                     "",
		`"url":"http://localhost/v1/","unsupported":"reject"`:                                "",
		`"url":"http://llm.example.com","insecure":true`:                                     "",
		`"url":"http://llm.example.com"`:                                                     "/url: it must begin with https",
		`"url":"http://127.0.0.1.example.com"`:                                               "/url: it must begin with https",
		`"url":"https://user:sk-12345@e.com"`:                                                "/url: it must have no user",
		`"url":"https://e.com?api_key=sk-12345"`:                                             "/url: it must have no user",
		`"url":"https://e.com/#sk-12345"`:                                                    "/url: it must have no user",
		`"url":"ftp://e.com"`:                                                                "/url: it must be https://HOST",
		`"url":"llm.example.com"`:                                                            "/url: it must be https://HOST",
		`"url":"https://"`:                                                                   "/url: it must be https://HOST",
		`"url":7`:                                                                            "/url: it is a number, not a string",
		`"model_id":"m"`:                                                                     "/url: it is missing",
		`"url":"https://e.com","key":"sk-12345"`:                                             "/key: it must say where the key is",
		`"url":"https://e.com","key":"Bearer sk-12345"`:                                      "/key: it must say where the key is",
		`"url":"https://e.com","unsupported":"ignore"`:                                       "/unsupported: ",
		`"url":"https://e.com","like":"none"`:                                                "looked for openai-none",
		`"url":"https://e.com","endpoint":"e"`:                                               "/endpoint: only records of the family sagemaker",
		`"url":"https://e.com","guardrail":{"id":"a","version":"1"}`:                         "/guardrail: only records of the family bedrock",
		`"url":"https://e.com","schema":{"api":"converse","request":{"defaults":{"p":""},"mapping":{"prompt":"$.p"}},"response":{"mapping":{"generated_text":"$.t"}}}`: "/schema/api: only records of the family bedrock may have converse",
	} {
		problems := Check([]Item{{Name: "m.json", JSON: []byte(`{"pk":"models","sk":"openai-m",` + members + `}`)}}, standard)
		got := ""
		for _, p := range problems {
			got += p.Error() + "\n"
		}
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "sk-12345") {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
	}
	for _, family := range []string{"local", "bedrock", "sagemaker"} {
		for name, value := range map[string]string{"url": `"https://e.com"`, "key": `"env:K"`, "like": `"chat"`, "insecure": "true", "private": "true"} {
			it := parseItem([]byte(`{"pk":"models","sk":"` + family + `-a.b","` + name + `":` + value + `}`))
			if len(it.mistakes) == 0 || !strings.Contains(it.mistakes[0].Error()+it.mistakes[len(it.mistakes)-1].Error(), "/"+name+": only records of the family openai") {
				t.Errorf("%s of %s: %v", name, family, it.mistakes)
			}
		}
	}
	own := parseItem([]byte(`{"pk":"models","sk":"openai-chat","url":"https://e.com"}`))
	if len(own.mistakes) != 1 || own.mistakes[0].Pointer != "/sk" {
		t.Errorf("a model with the key of a group: %v", own.mistakes)
	}
}

// TestUpstreamRecord: the record of a model, which a built-in group describes; groups and
// records without a url are not models.
func TestUpstreamRecord(t *testing.T) {
	const schema = `"schema":{"api":"chat/completions","request":{"defaults":{"p":""},"mapping":{"prompt":"$.p"}},"response":{"mapping":{"generated_text":"$.t"}}}`
	l := new(reader).read([]Item{
		{Name: "m", JSON: []byte(`{"pk":"models","sk":"openai-org/m","url":"https://e.com/v1/","model_id":"x","key":"ssm:/glossa/k","unsupported":"drop"}`)},
		{Name: "own", JSON: []byte(`{"pk":"models","sk":"openai-own",` + schema + `}`)},
		{Name: "mine", JSON: []byte(`{"pk":"models","sk":"openai-mine","like":"own","url":"https://e.com"}`)},
	}, must(t, `{"pk":"models","sk":"openai-chat",`+schema+`}`))
	if len(l.records) != 2 || len(l.problems) != 0 {
		t.Fatalf("%v %v", l.records, l.problems)
	}
	rec := l.records[1]
	u := Upstream{URL: "https://e.com/v1", Model: "x", Key: &secret.Reference{Kind: secret.Parameter, Name: "/glossa/k"}}
	if rec.Name != "org/m" || rec.Type != "openai" || *rec.Upstream.Key != *u.Key || rec.Upstream.URL != u.URL || rec.Upstream.Model != u.Model || !rec.Drop || !*rec.IgnoreUnmapped || rec.Schema == nil {
		t.Errorf("%+v", rec)
	}
	if l.items.covers(model{OpenAI, "own"}) != nil || l.items.covers(model{OpenAI, "org/m"}) == nil {
		t.Error("what answers by name")
	}
}

// must returns the items of records.
func must(t *testing.T, records ...string) itemSet {
	t.Helper()
	var items []Item
	for _, r := range records {
		items = append(items, Item{Name: r, JSON: []byte(r)})
	}
	var r reader
	all, problems := r.index(items, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return all
}
