package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"glossa/pkg/account"
	"glossa/pkg/bucket/buckettest"
)

// cachedTokens returns the cached tokens that an answer of OpenAI's API reports.
func cachedTokens(t *testing.T, a *App, key, model, prompt string) int {
	t.Helper()
	body := text(t, ask(a.Handler(), "POST", "/v1/completions", key, strings.NewReader(`{"model":"`+model+`","prompt":"`+prompt+`","max_tokens":1}`)))
	var answer struct {
		Usage *struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Usage == nil {
		t.Fatalf("%s, %v", body, err)
	}
	return answer.Usage.Details.Cached
}

// A key's prompt begins with what the key has had computed, and with what others have only if
// the model's record says that prompts are public.
func TestPrefixOwners(t *testing.T) {
	var keys []account.Key
	for _, name := range []string{"ann", "bob"} {
		key, err := account.NewKey(name, account.Client, name+"-secret")
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for schema, shared := range map[string]int{`"prefixes":"public"`: 2, `"prefixes":"private"`: 0, `"aliases":[]`: 0} {
		a := golden(t, Config{Auth: true, Keys: keys, Records: fstest.MapFS{"m.json": {Data: []byte(
			`{"pk":"models","sk":"local-m","schema":{"checkpoint":"golden",` + schema + `}}`)}}})
		for i, step := range []struct {
			key  string
			want int
		}{{"ann-secret", 0}, {"ann-secret", 2}, {"bob-secret", shared}, {"bob-secret", 2}} {
			if got := cachedTokens(t, a, step.key, "m", "aba"); got != step.want {
				t.Errorf("%s, request %d: %d cached tokens, want %d", schema, i, got, step.want)
			}
		}
	}
}

// Without accounts there is one owner, and the memory of prefixes is what models leave.
func TestPrefixMemory(t *testing.T) {
	const gib = 1 << 30
	a := golden(t, Config{Memory: 8 * gib, RequestMemory: gib})
	before := a.prefixMemory()
	for _, want := range []int{0, 2} {
		if got := cachedTokens(t, a, "", "golden", "aba"); got != want {
			t.Errorf("%d cached tokens, want %d", got, want)
		}
	}
	if after := a.prefixMemory(); before != 2*gib || after >= before || after < gib {
		t.Errorf("%d bytes for prefixes, with an open model %d", before, after)
	}
	if got := golden(t, Config{}).prefixMemory(); got != gib/8 {
		t.Errorf("%d bytes without a bound of models", got)
	}
}

// Another process, with the same directory or bucket, does not compute what prompts of this one
// begin with. The settled handler of a function has it written when an answer ends.
func TestPrefixesOutliveTheProcess(t *testing.T) {
	prompt := func(question int) string {
		ids := make([]string, 200)
		for i := range ids {
			ids[i] = strconv.Itoa(i % 50)
		}
		return fmt.Sprintf(`[%s,%d,7,7]`, strings.Join(ids, ","), question)
	}
	inPlace := func(cfg Config) func() *App {
		return func() *App {
			cfg.Starters, cfg.Records = os.DirFS("../starter/runs"), fstest.MapFS{}
			a, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
	}
	server := httptest.NewServer(&buckettest.Store{})
	defer server.Close()
	account := func(*awshttp.BuildableClient) (aws.Config, error) {
		return aws.Config{Region: "eu-west-1", HTTPClient: http.DefaultClient, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, nil
	}
	for name, process := range map[string]func() *App{
		"directory": inPlace(Config{Prefixes: filepath.Join(t.TempDir(), "prefixes")}),
		"bucket":    inPlace(Config{Prefixes: "s3://models/prefixes", Endpoints: Endpoints{S3: server.URL}, AWS: account}),
	} {
		t.Run(name, func(t *testing.T) {
			var a *App
			for i, step := range []struct {
				restart        bool
				question, want int
			}{{true, 1, 0}, {false, 2, 200}, {true, 3, 192}, {false, 3, 202}, {true, 4, 192}} {
				if step.restart {
					a = process()
				}
				body := fmt.Sprintf(`{"model":"novels","prompt":%s,"max_tokens":1}`, prompt(step.question))
				answer := text(t, ask(a.settled(a.Handler()), "POST", "/v1/completions", "", strings.NewReader(body)))
				if want := fmt.Sprintf(`"cached_tokens":%d`, step.want); strings.Contains(answer, "cached_tokens") != (step.want > 0) || step.want > 0 && !strings.Contains(answer, want) {
					t.Errorf("request %d: %s, want %s", i, answer, want)
				}
			}
		})
	}
}

// A place that cannot be used is an error at the start.
func TestPrefixesPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{file, "s3://", filepath.Join(file, "in")} {
		if _, err := New(Config{Prefixes: place}); err == nil || !strings.HasPrefix(err.Error(), "prefixes: ") {
			t.Errorf("%s: %v", place, err)
		}
	}
	if _, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_PREFIXES_SIZE": "-1"}[name] }); err == nil || !strings.Contains(err.Error(), "GLOSSA_PREFIXES_SIZE") {
		t.Error(err)
	}
}
