package httpx

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// word is an error shape with a fixed word.
type word string

func (s word) Body(e *llm.Error) (int, any) { return Status(e.Code), string(s) + " " + e.Message }
func (s word) InBand(*llm.Error) []byte     { return []byte(s) }

// A shared route calls pick with the header, then with the body; the picked route
// answers and shapes the errors.
func TestShared(t *testing.T) {
	pick := func(h http.Header, body []byte) (int, error) {
		switch {
		case strings.Contains(string(body), "both"):
			return 1, llm.Errorf(llm.Invalid, "both")
		case strings.Contains(string(body), "second") || h.Get("Second") != "":
			return 1, nil
		}
		return 0, nil
	}
	side := func(name string) Route {
		return Route{Method: "POST", Pattern: "/p", Errors: word(name), Handle: func(w http.ResponseWriter, r *http.Request) error {
			body, err := ReadBody(r)
			if err != nil || strings.Contains(string(body), "fail") {
				return errors.Join(err, llm.Errorf(llm.Invalid, "failed"))
			}
			return JSON(w, http.StatusOK, name+" read "+string(body))
		}}
	}
	second := side("two")
	second.Streams = true
	route := Shared(pick, side("one"), second)
	if !route.Streams || route.Method != "POST" || route.Pattern != "/p" {
		t.Errorf("%+v", route)
	}
	refuse := errors.New("refused")
	for _, test := range []struct {
		body, header string
		want         string
	}{
		{"first", "", `200 "one read first"`},
		{"second", "", `200 "two read second"`},
		{"x", "yes", `200 "two read x"`},
		{"fail", "", `400 "one failed"`},
		{"fail second", "", `400 "two failed"`},
		{"both", "", `400 "two both"`},
		{strings.Repeat("x", 101), "", `413 "one the body is larger than 100 bytes"`},
		{strings.Repeat("x", 101), "yes", `413 "two the body is larger than 100 bytes"`},
		{"guarded", "", `500 "one internal error"`},
		{"guarded", "yes", `500 "two internal error"`},
	} {
		route.MaxBody = 100
		m := &Mux{Routes: []Route{route}}
		if test.body == "guarded" {
			m.Guard = func(r *http.Request, _ *Route) (*http.Request, error) { return r, refuse }
		}
		r := httptest.NewRequest("POST", "/p", strings.NewReader(test.body))
		r.Header.Set("Second", test.header)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != test.want {
			t.Errorf("%.20s %s: got %s, want %s", test.body, test.header, got, test.want)
		}
	}
}

// The dialect of a request is that of the route that was picked, or else that of the combined route.
func TestSharedDialect(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) error { return JSON(w, http.StatusOK, "") }
	pick := func(h http.Header, _ []byte) (int, error) { return len(h["Second"]), nil }
	route := Shared(pick, Route{Method: "POST", Pattern: "/p", Handle: answer}, Route{Handle: answer, Dialect: "two"})
	route.Dialect = "all"
	for want, header := range map[string]string{"all": "First", "two": "Second"} {
		var got string
		m := &Mux{Routes: []Route{route}, Observe: func(rec *Record) { got = rec.Dialect }}
		r := httptest.NewRequest("POST", "/p", nil)
		r.Header.Set(header, "yes")
		m.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got != want {
			t.Errorf("the dialect is %q, want %q", got, want)
		}
	}
}
