package hub

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestHostileListings(t *testing.T) {
	sha, oid := strings.Repeat("a", 64), strings.Repeat("b", 40)
	entry := func(size, oid, lfs string) string {
		return fmt.Sprintf(`[{"type":"file","path":"config.json","size":%s,"oid":%q%s}]`, size, oid, lfs)
	}
	for name, test := range map[string]struct{ info, tree, link, says string }{
		"no JSON":           {"<html>", "", "", "not from a Hugging Face hub"},
		"no commit":         {`{}`, "", "", "is not a commit"},
		"commit is a path":  {`{"sha":"../../../x"}`, "", "", "is not a commit"},
		"tree is no array":  {"", `{}`, "", "not from a Hugging Face hub"},
		"negative size":     {"", entry("-1", oid, ""), "", "size -1"},
		"huge size":         {"", entry("1e18", oid, ""), "", "Hugging Face hub"},
		"too large":         {"", entry("99999999999999", oid, ""), "", "is not in 0.."},
		"oid":               {"", entry("1", "../x", ""), "", "not a SHA-1"},
		"upper case":        {"", entry("1", strings.ToUpper(oid), ""), "", "not a SHA-1"},
		"lfs without oid":   {"", entry("1", oid, `,"lfs":{}`), "", "not a SHA-256"},
		"lfs negative":      {"", entry("1", oid, `,"lfs":{"oid":"`+sha+`","size":-5}`), "", "size -5"},
		"page of itself":    {"", "[]", `</x?recursive=true>; rel="next"`, "leads to itself"},
		"pages without end": {"", "[]", `</x?cursor=%d>; rel="next"`, "more than 1000 pages"},
		"too much":          {strings.Repeat(" ", maxAnswer+1), "", "", "more than 33554432 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			page := 0
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/revision/") {
					if test.info == "" {
						test.info = `{"sha":"` + oid + `"}`
					}
					fmt.Fprint(w, test.info)
					return
				}
				if page++; strings.Contains(test.link, "%d") {
					w.Header().Set("Link", fmt.Sprintf(test.link, page))
				} else if test.link != "" {
					w.Header().Set("Link", test.link)
				}
				fmt.Fprint(w, test.tree)
			}))
			defer h.Close()
			_, err := (&Client{Endpoint: h.URL}).List(t.Context(), "acme/tiny", "")
			expectError(t, err, test.says)
		})
	}
}

func TestNextQuery(t *testing.T) {
	for value, want := range map[string]string{
		`<https://h/api?cursor=a%2Cb&limit=2>; rel="next"`:          "cursor=a%2Cb&limit=2",
		`<https://h/api?cursor=1>; rel=next`:                        "cursor=1",
		`<https://h/?p=0>; rel="prev", <https://h/?p=2>;rel="next"`: "p=2",
		`<https://h/?p=2>; title="x"; rel="next"`:                   "p=2",
		`<https://h/?p=0>; rel="prev"`:                              "",
		`https://h/?p=2; rel="next"`:                                "",
		`<:%>; rel="next"`:                                          "",
		"":                                                          "",
	} {
		if got, ok := nextQuery(http.Header{"Link": {value}}); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", value, got, ok)
		}
	}
}

func TestRepoNames(t *testing.T) {
	good := []string{"acme/tiny", "gpt2", "A-b_c.9/Llama-3.2-1B", "_x/y"}
	bad := []string{
		"", "/", "a/", "/a", "a/b/c", "../a", "a/..", "a/.", ".", "..", "a/b..c", "a/b--c", "a/b.", "a b/c", "a/b?x", "a\\b",
		"a/aux", "nul/b", "a/.hidden", "a/-x", "a/" + strings.Repeat("x", 97), "a/b\n",
	}
	for _, name := range slices.Concat(good, bad) {
		if err := CheckRepo(name); (err == nil) != slices.Contains(good, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, revision := range []string{" ", "a\nb", strings.Repeat("x", 256), "a\x80b"} {
		if _, err := (&Client{}).List(t.Context(), "a/b", revision); err == nil {
			t.Errorf("%q", revision)
		}
	}
}

func TestRevisionIsEscaped(t *testing.T) {
	h := newHub(t, tinyTree())
	h.push("refs/pr/1", tinyTree())
	if s, err := h.client().List(t.Context(), "acme/tiny", "refs/pr/1"); err != nil || len(s.Commit) != 40 {
		t.Error(s, err)
	}
	_, err := h.client().List(t.Context(), "acme/tiny", "v9")
	expectError(t, err, `has no revision "v9"`)
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte(`[{"type":"file","oid":"` + strings.Repeat("0", 40) + `","size":1,"path":"a","lfs":null},{"type":"directory"}]`))
	f.Add([]byte(`[{"type":"file","oid":"` + strings.Repeat("0", 40) + `","path":"a","lfs":{"oid":"` + strings.Repeat("f", 64) + `","size":7}}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := parseTree(b)
		if err != nil && files != nil {
			t.Error("files with an error")
		}
		for _, file := range files {
			if file.Size < 0 || file.Size > maxSize || !isHex(file.Blob, blobDigits) || file.SHA256 != "" && !isHex(file.SHA256, shaDigits) {
				t.Errorf("%+v", file)
			}
		}
	})
}
