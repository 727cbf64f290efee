package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/backend/backendtest"
)

// toolModels are models of the shipped records that call functions.
var toolModels = []struct {
	family, name, record string
	alternative          bool   // chats with tools take Converse
	path                 string // of calls, after the model
	listed               string // where the tools are in a request
	image                string // a part of a request with an image
}{
	{"bedrock", "anthropic.claude-3-haiku-20240307-v1:0", "bedrock-anthropic", false, "invoke", `"tools":[{"input_schema":`, `"source":{"data":"PIXEL","media_type":"image/png","type":"base64"},"type":"image"`},
	{"bedrock", "amazon.nova-lite-v1:0", "bedrock-amazon.nova", false, "invoke", `"toolConfig":{"tools":[{"toolSpec":`, `"image":{"format":"png","source":{"bytes":"PIXEL"}}`},
	{"bedrock", "mistral.mistral-large-2407-v1:0", "bedrock-mistral", false, "invoke", `"tools":[{"function":{"name":"weather"`, `"image_url":{"url":"data:image/png;base64,PIXEL"},"type":"image_url"`},
	{"bedrock", "meta.llama3-1-8b-instruct-v1:0", "bedrock-meta", true, "converse", `"toolConfig":{"tools":[{"toolSpec":`, `"image":{"format":"png","source":{"bytes":"PIXEL"}}`},
	{"bedrock", "cohere.command-r-v1:0", "bedrock-cohere.command-r", true, "converse", `"toolConfig":{"tools":[{"toolSpec":`, `"image":{"format":"png","source":{"bytes":"PIXEL"}}`},
	{"sagemaker", "tgi-chat.e", "sagemaker-tgi-chat", false, "invocations", `"tools":[{"function":{"name":"weather"`, `"image_url":{"url":"data:image/png;base64,PIXEL"},"type":"image_url"`},
	{"sagemaker", "lmi-chat.e", "sagemaker-lmi-chat", false, "invocations", `"tools":[{"function":{"name":"weather"`, `"image_url":{"url":"data:image/png;base64,PIXEL"},"type":"image_url"`},
}

// documented has a provider's answers and events, with the calls that pkg/schema reads
// from them.
type documented struct {
	Answers, Events []struct {
		Payload json.RawMessage
		Keys    map[string]any
	}
	Alternative *documented
}

// called is what a client sees of a call.
type called struct {
	Index    *int
	ID, Type string
	Function struct{ Name, Arguments string }
}

// Models of all shipped records with tools call functions, streamed or not, take the
// results, and see images, in the forms that their providers document.
func TestRemoteToolsOfShippedRecords(t *testing.T) {
	const question = `{"role":"user","content":"The weather in Paris?"}`
	const tools = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}},{"type":"function","function":{"name":"now"}}]`
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for _, m := range toolModels {
		docs := read(t, m.record, m.alternative)
		whole := docs.Answers[slices.IndexFunc(docs.Answers, func(a struct {
			Payload json.RawMessage
			Keys    map[string]any
		}) bool {
			return a.Keys["tool_calls"] != nil
		})].Payload
		model := remoteModel{family: m.family, name: m.name, kind: "Chat", record: m.record}
		a, service := remoteApp(t, &model, Config{}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
			if !r.Stream {
				w.Whole(string(whole))
				return
			}
			for _, e := range docs.Events {
				line := string(e.Payload)
				var text string
				if json.Unmarshal(e.Payload, &text) == nil {
					line = text
				}
				w.Event(line)
			}
		})
		h := a.Handler()
		post := func(messages, more string) string {
			t.Helper()
			body := fmt.Sprintf(`{"model":%q,"messages":[%s]%s}`, m.name, messages, more)
			res := ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(body))
			got := text(t, res)
			if res.StatusCode != 200 || strings.Contains(got, `"error"`) {
				t.Errorf("%s: %d %s", m.name, res.StatusCode, got)
			}
			return got
		}
		sent := func() string {
			list := service.Requests()
			b, _ := json.Marshal(list[len(list)-1].Body)
			return string(b)
		}

		// A call, whole.
		calls, why := wholeCalls(t, post(question, tools))
		if len(calls) == 0 || calls[0].Type != "function" || calls[0].ID == "" || !json.Valid([]byte(calls[0].Function.Arguments)) || why != "tool_calls" {
			t.Errorf("%s: %+v, %s", m.name, calls, why)
		}
		if r := service.Requests()[0]; !strings.HasSuffix(r.Path, "/"+m.path) || !strings.Contains(sent(), m.listed) {
			t.Errorf("%s: sent %s to %s", m.name, sent(), r.Path)
		}

		// The same in pieces.
		pieces, why := streamedCalls(t, post(question, tools+`,"stream":true`))
		if len(pieces) == 0 || why != "tool_calls" {
			t.Errorf("%s: %+v, %s", m.name, pieces, why)
		}
		for i, c := range pieces {
			if *c.Index != i || c.Type != "function" || c.ID == "" || c.Function.Name == "" || !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("%s: piece %d is %+v", m.name, i, c)
			}
		}

		// The results, with the ids that the client got.
		history, results := []string{}, []string{}
		for _, c := range calls {
			id, _ := json.Marshal(c.ID)
			arguments, _ := json.Marshal(c.Function.Arguments)
			history = append(history, fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%q,"arguments":%s}}`, id, c.Function.Name, arguments))
			results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":%s,"content":"20 degrees"}`, id))
		}
		post(question+`,{"role":"assistant","content":null,"tool_calls":[`+strings.Join(history, ",")+`]},`+strings.Join(results, ","), tools)
		if got := sent(); !strings.Contains(got, "20 degrees") || !strings.Contains(got, calls[0].Function.Name) {
			t.Errorf("%s: sent %s", m.name, got)
		}

		// The same by canonical keys, where messages have the provider's form.
		b, _ := json.Marshal(service.Requests()[0].Body["messages"])
		res := ask(h, "POST", "/invoke", "", strings.NewReader(fmt.Sprintf(
			`{"model_family":%q,"model_name":%q,"body":{"messages":%s%s}}`, m.family, m.name, b, tools)))
		if got := text(t, res); !strings.Contains(got, `"tool_calls":[{"function":{"arguments":"{`) || !strings.Contains(sent(), m.listed) {
			t.Errorf("%s: %s, sent %s", m.name, got, sent())
		}

		// An image.
		post(`{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+pixel+`"}}]}`, "")
		if got, want := sent(), strings.ReplaceAll(m.image, "PIXEL", pixel); !strings.Contains(got, want) {
			t.Errorf("%s: sent %s, want %s", m.name, got, want)
		}

		promptWithImage(t, h, &model, service, strings.ReplaceAll(m.image, "PIXEL", pixel), pixel)
	}
}

// promptWithImage sends an image in a prompt of another dialect: to a model that reads it as want, and to
// one whose record says that it reads text only.
func promptWithImage(t *testing.T, h http.Handler, m *remoteModel, service *backendtest.Service, want, pixel string) {
	t.Helper()
	prompt := fmt.Sprintf(`{"model":%q,"maximum_tokens":9,"prompt":[{"type":"image","data":%q},{"type":"text","data":"What?"}]}`, m.name, pixel)
	res := ask(h, "POST", "/complete", "", strings.NewReader(prompt))
	list := service.Requests()
	sent, err := json.Marshal(list[len(list)-1].Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(sent), want) || !strings.Contains(string(sent), "What?") {
		t.Errorf("%s: %d, %v, sent %s, want %s", m.name, res.StatusCode, err, sent, want)
	}
	records := catalogue(t, *m).(fstest.MapFS)
	records["model-0.json"].Data = bytes.Replace(records["model-0.json"].Data, []byte(`"context":`), []byte(`"images":false,"context":`), 1)
	a, blind := remoteApp(t, m, Config{Records: records}, nil)
	if got := text(t, ask(a.Handler(), "POST", "/complete", "", strings.NewReader(prompt))); !strings.Contains(got, "reads text only") || len(blind.Requests()) > 0 {
		t.Errorf("%s: %s", m.name, got)
	}
}

func read(t *testing.T, record string, alternative bool) *documented {
	t.Helper()
	var docs documented
	b, err := os.ReadFile("../schema/testdata/records/" + record + ".json")
	if err == nil {
		err = json.Unmarshal(b, &docs)
	}
	if err != nil {
		t.Fatal(err)
	}
	if alternative {
		return docs.Alternative
	}
	return &docs
}

func wholeCalls(t *testing.T, answer string) ([]called, string) {
	t.Helper()
	var got struct {
		Choices []struct {
			Message struct {
				ToolCalls []called `json:"tool_calls"`
			}
			Reason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Choices) != 1 {
		t.Fatal(answer, err)
	}
	return got.Choices[0].Message.ToolCalls, got.Choices[0].Reason
}

// streamedCalls joins the pieces as OpenAI's SDK does.
func streamedCalls(t *testing.T, stream string) (calls []called, why string) {
	t.Helper()
	for line := range strings.SplitSeq(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct {
				Delta struct {
					ToolCalls []called `json:"tool_calls"`
				}
				Reason *string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(data, err)
		}
		for _, c := range event.Choices {
			if c.Reason != nil {
				why = *c.Reason
			}
			for _, piece := range c.Delta.ToolCalls {
				switch i := *piece.Index; {
				case i == len(calls):
					calls = append(calls, piece)
				case i < len(calls) && piece.ID == "" && piece.Function.Name == "":
					calls[i].Function.Arguments += piece.Function.Arguments
				default:
					t.Errorf("a piece out of order: %s", data)
				}
			}
		}
	}
	return calls, why
}
