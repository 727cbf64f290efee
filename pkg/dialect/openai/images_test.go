package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// pixel is the smallest PNG.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func show(url string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":%q,"detail":"low"}}]}]}`, url)
}

func TestImages(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Part{{Text: "What is it?"}, {Image: &llm.Image{Type: "image/png", Data: data}}}
	for _, url := range []string{"data:image/png;base64," + pixel, "DATA:IMAGE/PNG;BASE64," + pixel} {
		got, err := translate(show(url))
		if err != nil || !reflect.DeepEqual(got.Prompts[0].Messages[0].Parts, want) {
			t.Errorf("%s: %+v %v", url, got, err)
		}
	}
	shown := show("data:image/png;base64," + pixel)
	system := strings.Replace(shown, `"user"`, `"developer"`, 1)
	result := strings.Replace(shown, `{"role":"user"`, `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1"`, 1)
	for _, body := range []string{system, result} {
		got, err := translate(body)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if messages := got.Prompts[0].Messages; !reflect.DeepEqual(messages[len(messages)-1].Parts, want) {
			t.Errorf("%s: %+v", body, messages)
		}
	}
	jpeg := "/9j/" + strings.Repeat("A", 40)
	if got, err := translate(show("data:image/jpg;base64," + jpeg)); err != nil || got.Prompts[0].Messages[0].Parts[1].Image.Type != "image/jpeg" {
		t.Errorf("%v %v", got, err)
	}
}

// The list of models says which of them read images.
func TestImagesListed(t *testing.T) {
	for images, want := range map[bool]string{true: `"input_modalities":["text","image"]`, false: `"owned_by":"bedrock"}`} {
		b, err := json.Marshal(newModel(llm.ModelInfo{Name: "m", Family: "bedrock", Images: images}))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("images %v: %s, %v", images, b, err)
		}
	}
}

// A bad image is rejected by its path, in words that tell what would work; the server
// never fetches anything.
func TestBadImages(t *testing.T) {
	const url = "messages[0].content[1].image_url.url"
	large := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, openaiapi.MaxImage-7)...))
	for _, test := range []struct{ body, param, message string }{
		{show("https://example.com/a.png"), url, "does not fetch"},
		{show("HTTP://169.254.169.254/latest/meta-data"), url, "does not fetch"},
		{show("file:///etc/passwd"), url, "must be a data URL"},
		{show(""), url, "is required"},
		{show("a"), url, "must be a data URL"},
		{show("data:"), url, "must be base64"},
		{show("data:image/png," + pixel), url, "must be base64"},
		{show("data:image/svg+xml;base64," + pixel), url, "must be image/jpeg or image/png, or for remote models image/gif or image/webp, not"},
		{show("data:image/png;base64,"), url, "not valid base64"},
		{show("data:image/png;base64,%%%"), url, "not valid base64"},
		{show("data:image/jpeg;base64," + pixel), url, "not of the type image/jpeg"},
		{show("data:image/png;base64," + large), url, "must not exceed 3750000 bytes"},                                     // by a byte
		{show("data:image/png;base64," + strings.Repeat("%", 2*openaiapi.MaxImage)), url, "must not exceed 3750000 bytes"}, // not decoded
		{strings.Replace(show("data:image/png;base64,"+pixel), `"user"`, `"assistant"`, 1), "messages[0].content[1]", "not allowed in texts of the assistant"},
		{`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages[0].content[0].image_url", "is required"},
		{`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, "messages[0].content[0].image_url.url", "is required"},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a","image_url":{"url":"data:"}}]}]}`, "messages[0].content[0].image_url", "is not allowed"},
		{`{"messages":[{"role":"user","content":[{"type":"image_url","text":"a","image_url":{"url":"data:"}}]}]}`, "messages[0].content[0].text", "is not allowed"},
	} {
		_, err := translate(test.body)
		if e := llm.AsError(err); err == nil || e.Param != test.param || !strings.Contains(e.Message, test.message) {
			t.Errorf("%.200s: %v, want %s at %s", test.body, err, test.message, test.param)
		}
	}
}

// A choice that withholds tools declares them all the same: the chat may have calls of
// them, and providers cache the list.
func TestDeclared(t *testing.T) {
	const two = `"tools":[` + weather + `,{"type":"function","function":{"name":"now"}}],`
	for choice, want := range map[string]string{
		`"auto"`: "2 0", `"required"`: "2 0", `"none"`: "0 2",
		`{"type":"function","function":{"name":"now"}}`:                                                                    "1 2",
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"now"}}]}}`: "1 2",
	} {
		req, err := translate(`{` + two + `"tool_choice":` + choice + `,` + hi + `}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(len(req.Tools), len(req.Declared)); got != want {
			t.Errorf("%s: %s, want %s", choice, got, want)
		}
	}
}
