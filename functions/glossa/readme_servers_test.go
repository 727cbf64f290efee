package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
	"glossa/pkg/table/tabletest"
)

// servers holds the servers that the README's commands call, by the addresses that it
// shows. Each is started by the first command that calls it.
type servers struct {
	dir     string // of the commands, which contains the program
	started map[string]string
}

// newServers returns the servers of one document, with a directory for its commands and with
// stand-ins for AWS.
func newServers(t *testing.T) *servers {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "glossa")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	standIns(t)
	return &servers{dir, map[string]string{}}
}

// metered is the server whose output is in metrics.log.
const metered = "127.0.0.1:8082"

// priced is the server whose records are in the directory records.
const priced = "127.0.0.1:8083"

// arguments are the arguments of glossa serve, as the README gives them.
var arguments = map[string][]string{
	"127.0.0.1:8080": nil,
	"127.0.0.1:8081": {"--table-name", "glossa"},
	metered:          {"--table-name", "glossa", "--auth", "--namespace", "acme/models"},
	priced:           {"--auth"},
}

var shownAddress = regexp.MustCompile(`127\.0\.0\.1:808[0-3]`)

// real returns a command with the servers' real addresses.
func (s *servers) real(t *testing.T, command string) string {
	return shownAddress.ReplaceAllStringFunc(command, func(shown string) string {
		if s.started[shown] == "" {
			var rest io.Writer
			if shown == metered {
				file, err := os.Create(filepath.Join(s.dir, "metrics.log"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { file.Close() })
				rest = file
			}
			args := append(slices.Clone(arguments[shown]), "--batches", filepath.Join(s.dir, "batches-"+strings.TrimPrefix(shown, "127.0.0.1:")))
			if shown == priced {
				t.Setenv("GLOSSA_RECORDS", filepath.Join(s.dir, "records"))
				args = append(args, "--accounts", filepath.Join(s.dir, "accounts.json"))
			}
			s.started[shown] = startServer(t, filepath.Join(s.dir, "glossa"), nil, rest, args...)
		}
		return s.started[shown]
	})
}

// shown returns an output with the addresses that the README shows.
func (s *servers) shown(out string) string {
	for shown, address := range s.started {
		out = strings.ReplaceAll(out, address, shown)
	}
	return out
}

// standIns starts fakes of a table and of remote models and sets the environment to them.
func standIns(t *testing.T) {
	once := 0
	bedrock := backendtest.NewService(t, "bedrock", func(_ int, r *backendtest.Request, w *backendtest.Reply) { fakeClaude(r, w) })
	sagemaker := backendtest.NewService(t, "sagemaker", func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		if strings.Contains(r.Path, "llm-eu") {
			if once++; once > 1 {
				w.Fail(424, "ModelError", `{"Message": "the container ended", "OriginalStatusCode": 500}`)
				return
			}
		}
		fakeTGI(r, w)
	})
	for name, value := range map[string]string{
		"GLOSSA_DYNAMODB_ENDPOINT": tabletest.New(t).URL, "GLOSSA_BEDROCK_ENDPOINT": bedrock.URL, "GLOSSA_SAGEMAKER_ENDPOINT": sagemaker.URL,
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "GLOSSA_TABLE": "", "GLOSSA_ACCOUNTS": "", "GLOSSA_KEYS": "", "UPLOAD_SECRET": "",
	} {
		t.Setenv(name, value)
	}
}

// The fakes' answer to every request, except one for structured output.
var (
	claudeWords = []string{"It stood", " at the end", " of the pier."}
	tgiWords    = []string{" stood", " empty", " all winter."}
)

// fakeClaude answers like Anthropic's models on Bedrock.
func fakeClaude(r *backendtest.Request, w *backendtest.Reply) {
	words := claudeWords
	if sent, _ := json.Marshal(r.Body); strings.Contains(string(sent), "JSON Schema") {
		words = []string{"Here it is: ", `{"name": "Carl", `, `"age": 10}`}
	}
	if !r.Stream {
		w.Whole(fmt.Sprintf(`{"type": "message", "role": "assistant", "content": [{"type": "text", "text": %s}], "stop_reason": "end_turn", "usage": {"input_tokens": 11, "output_tokens": 9}}`, quoted(strings.Join(words, ""))))
		return
	}
	for _, word := range words {
		w.Event(`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ` + quoted(word) + `}}`)
	}
	w.Event(`{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}`)
	w.Event(`{"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 11, "outputTokenCount": 9}}`)
}

// fakeTGI answers like Text Generation Inference.
func fakeTGI(r *backendtest.Request, w *backendtest.Reply) {
	const details = `"details": {"finish_reason": "eos_token", "generated_tokens": 4, "seed": null}`
	if !r.Stream {
		w.Whole(`[{"generated_text": ` + quoted(strings.Join(tgiWords, "")) + `, ` + details + `}]`)
		return
	}
	for _, word := range tgiWords {
		w.Event(`data:{"token": {"text": ` + quoted(word) + `, "special": false}, "generated_text": null, "details": null}`)
	}
	w.Event(`data:{"token": {"text": "</s>", "special": true}, "generated_text": null, ` + details + `}`)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// recordTable lists the built-in records of remote models, with the source pages of the
// fixtures of pkg/schema.
func recordTable(t *testing.T) string {
	items, err := builtinRecords(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	made := "| record | models | tests rest on |\n|---|---|---|\n"
	for _, it := range items {
		var record struct{ SK, Description string }
		var fixture struct{ Source []string }
		b, err := os.ReadFile("../../pkg/schema/testdata/records/" + it.Name)
		if err = errors.Join(err, json.Unmarshal(it.JSON, &record), json.Unmarshal(b, &fixture)); err != nil {
			t.Fatalf("%s: %v", it.Name, err)
		}
		about, _, _ := strings.Cut(record.Description, ": ")
		var pages []string
		for _, page := range fixture.Source {
			if strings.HasPrefix(page, "https://") {
				pages = append(pages, fmt.Sprintf("[%s](%s)", strings.TrimSuffix(path.Base(page), ".html"), page))
			}
		}
		made += fmt.Sprintf("| `%s` | %s | %s |\n", record.SK, strings.ReplaceAll(about, "<", "&lt;"), strings.Join(pages, ", "))
	}
	return made
}
