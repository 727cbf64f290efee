package invoke

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client behaves like the client of API layer's server: it takes models from the list, with
// all four fields, sends JSON without a Content-Type, reads generated_text of an answer or of
// each line, else error, and reads lines of a stream as they arrive, without the model's end
// token.
type client struct{ url string }

func (c client) list() (map[string]map[string]any, error) {
	res, err := http.Get(c.url + "/list_models")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var list struct{ Models []map[string]any }
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		return nil, err
	}
	models := map[string]map[string]any{}
	for _, m := range list.Models {
		for _, field := range []string{"model_type", "model_name", "model_family", "streaming"} {
			if _, ok := m[field]; !ok {
				return nil, fmt.Errorf("%v has no %s", m, field)
			}
		}
		models[m["model_name"].(string)] = m
	}
	return models, nil
}

// post sends a body with no Content-Type.
func (c client) post(suffix, body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, c.url+"/invoke"+suffix, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// read returns the text of one object.
func read(b []byte) (string, error) {
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return "", err
	}
	if text, ok := out["generated_text"].(string); ok {
		return text, nil
	}
	message, ok := out["error"].(string)
	if !ok {
		return "", fmt.Errorf("%s has neither a text nor an error", b)
	}
	return "", errors.New(message)
}

func (c client) invoke(body string) (string, error) {
	res, err := c.post("", body)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	return read(b)
}

func (c client) stream(body, end string) (texts []string, err error) {
	res, err := c.post("_stream", body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		text, err := read(lines.Bytes())
		if err != nil {
			return texts, err
		}
		if text != end {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// TestClient: the real client can read every answer.
func TestClient(t *testing.T) {
	server := httptest.NewServer(handler(testModels()))
	defer server.Close()
	c := client{server.URL}
	models, err := c.list()
	if err != nil || len(models) != len(testModels()) {
		t.Fatalf("%v, %v", models, err)
	}
	for _, test := range []struct{ model, body, text, err string }{
		{"org/story:1", `{"prompt":"a"}`, "Once upon a time", ""},
		{"org/story:1", `{"prompt":"a","max_new_tokens":1}`, "Once", ""},
		{"org/story:1", `{"prompt":5}`, "", "An error occurred: prompt: must be a string, not number"},
		{"breaks", `{"prompt":"a"}`, "", "An error occurred: internal error"},
		{"full", `{"prompt":"a"}`, "", "An error occurred: 8 requests are waiting"},
		{"anthropic.claude-v2:1", `{"prompt":"fail"}`, "", "An error occurred: the endpoint is gone"},
		{"tgi.llama-2-13b", `{"watermark":true}`, "", `An error occurred: watermark: this model does not support it: remove it, or send "ignore_unmapped": true next to body`},
	} {
		request := to(models[test.model]["model_family"].(string), test.model, test.body)
		text, err := c.invoke(request)
		if text != test.text || fmt.Sprint(err) != fmt.Sprint(cause(test.err)) {
			t.Errorf("%s: %q, %v", request, text, err)
		}
		texts, err := c.stream(request, "</s>")
		whole := strings.Join(texts, "")
		if fmt.Sprint(err) != fmt.Sprint(cause(test.err)) || test.err == "" && whole != test.text || test.err != "" && whole != "" && whole != "so far" {
			t.Errorf("%s streamed: %q, %v", request, texts, err)
		}
	}
	texts, err := c.stream(to("local", "org/story:1", `{"prompt":"a"}`), " upon")
	if strings.Join(texts, "|") != "Once| a time|" || err != nil {
		t.Errorf("%q, %v", texts, err)
	}
}

func cause(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
