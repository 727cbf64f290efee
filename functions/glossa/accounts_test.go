package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/table/tabletest"
)

// glossa runs a command with an input and returns its status and output.
func glossa(t *testing.T, input, args string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), strings.Fields(args), strings.NewReader(input), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// A step is a command with its input and expected result.
type step struct {
	args, input string
	status      int
	output      string // a pattern that stdout or stderr matches
}

const password = "correct horse"

// steps runs commands on one file of accounts. None shows a password or its hash.
func steps(t *testing.T, list ...step) {
	t.Helper()
	t.Setenv("GLOSSA_ACCOUNTS", filepath.Join(t.TempDir(), "accounts.json"))
	for _, s := range list {
		status, out, errs := glossa(t, s.input, s.args)
		if status != s.status || !regexp.MustCompile(s.output).MatchString(out+errs) {
			t.Errorf("%s: status %d, %s%s, want %d, %q", s.args, status, out, errs, s.status, s.output)
		}
		if strings.Contains(out+errs, password) || strings.Contains(out+errs, "$argon2id") {
			t.Errorf("%s shows the password: %s%s", s.args, out, errs)
		}
	}
}

func TestUsers(t *testing.T) {
	today := time.Now().UTC().Format(time.DateOnly)
	steps(t, []step{
		{"user list", "", 1, "no such file.*glossa user add"},
		{"user remove ann@example.org", "", 1, "no user"},
		{"user add Ann@Example.org --role admin", password + "\n", 0, "the user ann@example.org of the role admin is added"},
		{"user add ann@example.org --role client", password, 1, "the user ann@example.org exists"},
		{"user add --role client bob", password, 0, "the user bob"},
		{"user add carl --role client", "short\n", 1, "8 to 1024"},
		{"user add carl --role client", "", 1, "8 to 1024"},
		{"user add carl --role root", password, 2, "unknown role"},
		{"user add carl", password, 2, "--role is required: admin, "},
		{"user add ca,rl --role client", password, 2, "letters"},
		{"user add --role client", password, 2, "missing argument NAME\nRun 'glossa user add --help' for usage."},
		{"user add carl correct-horse --role client", "", 2, "unexpected argument \"correct-horse\""},
		{"user", "", 2, "missing command: add, limit, list, remove"},
		{"user limit bob --requests 10/s", "", 0, "limits of the user bob: 10/s; .* 5 s"},
		{"user limit carl --requests 10/s", "", 1, "no user carl"},
		{"user list", "", 0, `NAME +ROLE +CREATED +LIMITS\nann@example.org +admin +` + today + ` +none\nbob +client +` + today + ` +10/s\n`},
		{"user remove bob", "", 0, "removed"},
		{"user remove bob", "", 1, "no user bob"},
	}...)
}

func TestKeys(t *testing.T) {
	today, year := time.Now().UTC().Format(time.DateOnly), time.Now().AddDate(0, 0, 365).UTC().Format(time.DateOnly)
	steps(t, []step{
		{"key list", "", 1, "no such file.*glossa user add"},
		{"key revoke ci", "", 1, "no such file"},
		{"key create ci --role client", "", 0, `(?s)gls_[\w-]{43}\n.*expires: ` + year + `; it is not shown again`},
		{"key create ci --role worker", "", 1, "the key ci exists"},
		{"key create ever --role monitor --expires never", "", 0, "expires: never"},
		{"key create none --role monitor --expires -1d", "", 2, "--expires: \"-1d\" must be a duration with a unit"},
		{"key create none", "", 2, "--role is required: admin, "},
		{"key create", "", 2, "missing argument NAME"},
		{"key list extra", "", 2, "unexpected argument \"extra\""},
		{"key limit ci --requests 600/m --tokens-per-day 100", "", 0, "ci: 600/m, 100 tokens a day; "},
		{"key limit --tokens-per-month 5000 CI --tokens-per-day 0", "", 0, "ci: 600/m, 5000 tokens a month; "},
		{"key limit CI --tokens-per-month 5000 --tokens-per-day 0", "", 0, "ci: 600/m, 5000 tokens a month; "},
		{"key limit ever --none --requests 1/s", "", 0, "ever: 1/s; "},
		{"key limit ever --none", "", 0, "ever: none; "},
		{"key limit ever", "", 2, "--requests"},
		{"key limit ever --requests 5", "", 2, "N/s"},
		{"key limit ever --requests 0/s", "", 2, "N/s"},
		{"key limit ever --tokens-per-day -1", "", 2, "from 1"},
		{"key limit nobody --none", "", 1, "no key nobody"},
		{"key limit", "", 2, "missing argument NAME"},
		{"key revoke ever --none", "", 2, "unknown flag \"--none\""},
		{"key list", "", 0, `NAME +ROLE +KEY +CREATED +EXPIRES +LIMITS\nci +client +….{4} +` + today + ` +` + year + ` +600/m, 5000 tokens a month\never +monitor +….{4} +` + today + ` +never +none\n`},
		{"key revoke CI", "", 0, "the key ci is revoked"},
		{"key revoke ci", "", 1, "no key ci"},
		{"key create ci --role worker", "", 0, "gls_"},
		{"key list --accounts .", "", 1, "not a regular file"},
	}...)
	t.Setenv("GLOSSA_ACCOUNTS", "")
	if status, _, errs := glossa(t, "", "key list"); status != 2 || !strings.Contains(errs, "--accounts") || !strings.Contains(errs, "--table-name") {
		t.Errorf("no file: %d, %s", status, errs)
	}
}

// The same commands change the users and keys of a table.
func TestAccountsOfATable(t *testing.T) {
	service := tabletest.New(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": service.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "GLOSSA_ACCOUNTS": "", "GLOSSA_TABLE": "",
	} {
		t.Setenv(name, value)
	}
	for i, s := range []step{
		{"key list --table-name glossa", "", 0, "NAME"},
		{"key create ci --role client --table-name glossa", "", 0, `gls_`},
		{"key create ci --role client --table-name glossa", "", 1, `the key ci exists`},
		{"key limit ci --tokens-per-day 5 --table-name glossa", "", 0, "5 tokens a day"},
		{"key list --table-name glossa", "", 0, `ci +client.*5 tokens a day`},
		{"key list --table-name glossa --accounts x", "", 2, `cannot be used together`},
		{"key list", "", 2, `GLOSSA_TABLE`},
		{"user add ann --role client --table-name glossa", password, 0, "ann"},
		{"user limit ann --requests 5/s --table-name glossa", "", 0, "5/s"},
		{"user list --table-name glossa", "", 0, `ann +client .*5/s`},
		{"user remove ann --table-name glossa", "", 0, "removed"},
		{"user remove ann --table-name glossa", "", 1, "no user ann"},
		{"key revoke ci --table-name glossa", "", 0, "revoked"},
		{"key list --table-name none", "", 1, "no such table: none"},
	} {
		status, out, errs := glossa(t, s.input, s.args)
		if status != s.status || !regexp.MustCompile(s.output).MatchString(out+errs) {
			t.Errorf("%d %s: status %d, %s%s, want %d, %q", i, s.args, status, out, errs, s.status, s.output)
		}
	}
	t.Setenv("GLOSSA_TABLE", "glossa")
	if status, out, errs := glossa(t, "", "key list"); status != 0 {
		t.Error(out, errs)
	}
}

// A limit that is set while a server runs takes effect.
func TestServeLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	_, secret, _ := glossa(t, "", "key create k --role client --accounts "+path)
	address, _ := serving(t, "--auth", "--accounts", path)
	post := func() (status int, retry string) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/v1/completions", strings.NewReader(`{"model":"","prompt":"a","max_tokens":1}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	if status, _ := post(); status == 429 {
		t.Error("limited before")
	}
	if status, _, errs := glossa(t, "", "key limit k --requests 1/m --accounts "+path); status != 0 {
		t.Fatal(errs)
	}
	if status, _ := post(); status == 429 {
		t.Error("the first request of the minute is refused")
	}
	if status, retry := post(); status != 429 || retry == "" {
		t.Errorf("%d, %q", status, retry)
	}
}

func TestExpiry(t *testing.T) {
	day := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	for want, expires := range map[string]time.Time{"never": {}, "2020-01-02 (expired)": day, "2999-01-02": day.AddDate(979, 0, 0)} {
		if got := expiry(account.Credential{Expires: expires}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A key that is created while a server runs is accepted, and rejected after it is revoked.
func TestServeAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	_, first, _ := glossa(t, "", "key create first --role client --accounts "+path)
	address, logs := serving(t, "--auth", "--accounts", path)
	_, second, _ := glossa(t, "", "key create second --role client --accounts "+path)
	try := func(when, key string, want int) {
		t.Helper()
		if got := listing(t, address, key); got != want {
			t.Errorf("%s: %d, want %d", when, got, want)
		}
	}
	try("first", first, 200)
	try("second", second, 200)
	if status, _, errs := glossa(t, "", "key revoke second --accounts "+path); status != 0 {
		t.Error(errs)
	}
	try("second, revoked", second, 401)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	try("first, when everybody can read the file", first, 500)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	try("first, at the end", first, 200)
	lines := logs()
	for _, want := range []string{`"principal":"key first"`, `"principal":"key second"`, `chmod 600`} {
		if !strings.Contains(lines, want) {
			t.Errorf("the log has no %s: %s", want, lines)
		}
	}
	for _, key := range []string{first, second} {
		if strings.Contains(lines, strings.TrimSpace(key)) {
			t.Error("the log has a key")
		}
	}
}

// The request that the help of glossa user describes returns a token that is an API key.
func TestUserHelp(t *testing.T) {
	_, help, _ := glossa(t, "", "user --help")
	route := regexp.MustCompile(`POST\s+(/\S+)`).FindStringSubmatch(help)
	if route == nil {
		t.Fatalf("the help names no request: %s", help)
	}
	path := filepath.Join(t.TempDir(), "accounts.json")
	if status, _, errs := glossa(t, password, "user add ann --role client --accounts "+path); status != 0 {
		t.Fatal(errs)
	}
	address, _ := serving(t, "--auth", "--accounts", path)
	res, err := http.Post("http://"+address+route[1], "application/json", strings.NewReader(`{"email":"ann","password":"`+password+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	if got := listing(t, address, answer.Token); got != http.StatusOK {
		t.Errorf("the list of models with the token: %d", got)
	}
}

// listing requests the list of models with a key and returns the status.
func listing(t *testing.T, address, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// serving starts a server that ends with the test. logs returns its log.
func serving(t *testing.T, args ...string) (address string, logs func() string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "glossa")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	address = startServer(t, filepath.Join(dir, "glossa"), file, nil, args...)
	return address, func() string {
		b, err := os.ReadFile(file.Name())
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
}
