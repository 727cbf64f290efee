package automaton

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unmet lists the tests of the JSON Schema suite that a format of this package fails.
var unmet = map[string]string{
	"time: valid leap second, positive time-offset":                      "an offset to count with: see clock",
	"time: valid leap second, large positive time-offset":                "an offset to count with: see clock",
	"time: valid leap second, negative time-offset":                      "an offset to count with: see clock",
	"time: valid leap second, large negative time-offset":                "an offset to count with: see clock",
	"date-time: a valid date-time with a leap second, with minus offset": "an offset to count with: see clock",

	"hostname: exceeds maximum overall length (256)":                            "a bound that Longest returns",
	"hostname: a valid host name (example.test in Hangul)":                      "a label of RFC 5891",
	"hostname: Exceptions that are PVALID, left-to-right chars":                 "a label of RFC 5891",
	"hostname: Exceptions that are PVALID, right-to-left chars":                 "a label of RFC 5891",
	"hostname: MIDDLE DOT with surrounding 'l's":                                "a label of RFC 5891",
	"hostname: Greek KERAIA followed by Greek":                                  "a label of RFC 5891",
	"hostname: Hebrew GERESH preceded by Hebrew":                                "a label of RFC 5891",
	"hostname: Hebrew GERSHAYIM preceded by Hebrew":                             "a label of RFC 5891",
	"hostname: KATAKANA MIDDLE DOT with Hiragana":                               "a label of RFC 5891",
	"hostname: KATAKANA MIDDLE DOT with Katakana":                               "a label of RFC 5891",
	"hostname: KATAKANA MIDDLE DOT with Han":                                    "a label of RFC 5891",
	"hostname: Arabic-Indic digits not mixed with Extended Arabic-Indic digits": "a label of RFC 5891",
	"hostname: Extended Arabic-Indic digits not mixed with Arabic-Indic digits": "a label of RFC 5891",
	"hostname: ZERO WIDTH JOINER preceded by Virama":                            "a label of RFC 5891",
	"hostname: ZERO WIDTH NON-JOINER preceded by Virama":                        "a label of RFC 5891",
	"hostname: ZERO WIDTH NON-JOINER not preceded by Virama but matches regexp": "a label of RFC 5891",
}

func TestFormatsOfSuite(t *testing.T) {
	dir := filepath.Join(data, "json-schema-test-suite/tests/draft2020-12/optional/format")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no suite next to the repository: ", err)
	}
	met := map[string]bool{}
	for name := range formats {
		raw, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Tests []struct {
				Description string
				Data        any
				Valid       bool
			}
		}
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		d, _ := Format(name)
		for _, g := range groups {
			for _, c := range g.Tests {
				s, ok := c.Data.(string)
				if !ok {
					continue
				}
				id := name + ": " + c.Description
				met[id] = d.Match(Quote(s)) == c.Valid
				if _, ok := unmet[id]; ok == met[id] {
					t.Errorf("%s: %q: %v", id, s, !c.Valid)
				}
			}
		}
	}
	for id := range unmet {
		if _, ok := met[id]; !ok {
			t.Errorf("%s is not a test of the suite", id)
		}
	}
}

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct{ in, out []string }{
		"date":      {[]string{"2024-02-29", "2000-02-29", "0000-02-29"}, []string{"1900-02-29", "2023-02-29", "2023-02-30", "2023-00-10", ""}},
		"time":      {[]string{"00:00:00Z", "23:59:60.5z", "12:00:00.000+23:59", "23:59:60-00:00"}, []string{"24:00:00Z", "12:00Z", "12:00:00.Z", "22:59:60Z"}},
		"date-time": {[]string{"2024-02-29T23:59:60Z", "2024-01-01t00:00:00-01:00"}, []string{"2024-01-01 00:00:00Z", "2024-02-30T00:00:00Z"}},
		"uuid":      {[]string{"2EB8AA08-aa98-11ea-b4aa-73b441d16380"}, []string{"2EB8AA08-aa98-11ea-b4aa-73b441d1638", "2EB8AA08aa9811eab4aa73b441d16380"}},
		"ipv4":      {[]string{"0.0.0.0", "255.249.199.9"}, []string{"256.0.0.0", "01.0.0.0", "1.1.1", "1.1.1.1.1"}},
		"email":     {[]string{"a@b", `"a b@c"@d.e`, "a.b+c@x-y.z", "a@[1.2.3.4]", "a@[IPv6:::]"}, []string{"a", "@b", `"a\"b@c"@d.e`, "a@-b", "a@b-", "a@b..c", `"a"b"@c`, "é@b", "a@[1.2.3]"}},
		"uri":       {[]string{"a:", "http://[::1]:80/a?b#c", "urn:a:b", "a:/b//c", "a:b@c", "x://u:p@h%20/"}, []string{"", "a", "//b", "a://[::1", "a: b", "a:%g0", "a:b#c#d", "é:b", "a:é"}},
		"hostname":  {[]string{"a", "1.2.3.4", "a-b.c--d", "aa-x", "a1-b", "x." + strings.Repeat("a", 63)}, []string{"", "a.", "-a", "a-", "xn--a", "ab--c", "a--", "é", "a_b", strings.Repeat("a", 64)}},
		"duration":  {[]string{"P1W", "P1Y2M3DT4H5M6S", "PT5M"}, []string{"P", "PT", "P1Y1D", "P1WT1H", "PT1H1S", "-P1D"}},

		"uri-reference":         {[]string{"", "a/b:c", "//a", "?x", "a:b", "./a:b"}, []string{"1:b", "a b", "%", "/[x]"}},
		"uri-template":          {[]string{"", "a{b}{+c,d*}", "{x:9999}"}, []string{"{", "{}", "{a:0}", "a b", "{a..b}"}},
		"json-pointer":          {[]string{"", "/", "/a~0b/c\n"}, []string{"a", "/~", "/~2"}},
		"relative-json-pointer": {[]string{"0", "10#", "1/a/b"}, []string{"", "01", "0##", "/a", "-1"}},

		"ipv6": {[]string{"::", "1::", "::1", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"}, []string{":", ":::", "1::2::3", "1:2:3:4:5:6:7:8::", "::1%eth0"}},
	} {
		d, ok := Format(name)
		if again, _ := Format(name); !ok || d != again {
			t.Fatalf("%s: %v, shared %v", name, ok, d == again)
		}
		check(t, d)
		for _, s := range c.in {
			checkContent(t, d, Quote(s))
		}
		for _, s := range c.out {
			if d.Match(Quote(s)) {
				t.Errorf("%s: %q", name, s)
			}
		}
		t.Logf("%s: %d states", name, len(d.States))
	}
	if _, ok := Format("idn-hostname"); ok {
		t.Error("idn-hostname is only an annotation")
	}
	loose, _ := LooseFormat("hostname")
	for _, s := range []string{"xn--a", "ab--c", "a.", "a"} {
		if !loose.Match(Quote(s)) {
			t.Errorf("%q may be a hostname", s)
		}
	}
	if loose.Match(`"a_b"`) {
		t.Error("a_b is not a hostname")
	}
}

func TestDatesOfAllYears(t *testing.T) {
	d, _ := Format("date")
	for year := range 10_000 {
		for month, days := range []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
			if month == 1 && time.Date(year, 2, 29, 0, 0, 0, 0, time.UTC).Day() == 29 {
				days = 29
			}
			for _, day := range []int{0, 1, 28, 29, 30, 31, 32} {
				s := fmt.Sprintf(`"%04d-%02d-%02d"`, year, month+1, day)
				if d.Match(s) != (day >= 1 && day <= days) {
					t.Fatal(s)
				}
			}
		}
	}
}

func TestAddressesAgainstNetip(t *testing.T) {
	v4, _ := Format("ipv4")
	v6, _ := Format("ipv6")
	matched := 0
	compare := func(s string) {
		a, err := netip.ParseAddr(s)
		if v4.Match(Quote(s)) != (err == nil && a.Is4()) || v6.Match(Quote(s)) != (err == nil && a.Is6()) {
			t.Fatalf("%q: %v %v, not %v", s, v4.Match(Quote(s)), v6.Match(Quote(s)), err)
		}
		if err == nil {
			matched++
		}
	}
	texts([]string{":", "::", "1", "1:2:3", "aB0f", "1.2.3.4", "g"}, 5, compare)
	texts([]string{".", "0", "1.", "25.", "255", "6"}, 6, compare)
	compare(strings.Repeat("ffff:", 7) + "ffff")
	if matched < 500 {
		t.Errorf("only %d matched", matched)
	}
}
