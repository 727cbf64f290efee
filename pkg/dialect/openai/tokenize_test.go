package openai

import (
	"context"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// speller has a token for each letter, with its code as its id, begins prompts with token 1,
// and writes a chat as its roles.
type speller struct{ llmtest.Script }

func (speller) Tokenize(_ context.Context, parts []llm.Part, start bool) (tokens []llm.Token, err error) {
	if start {
		tokens = append(tokens, llm.Token{ID: 1, Piece: "<s>"})
	}
	for _, part := range parts {
		for _, c := range part.Text {
			piece := string(c)
			if part.Special {
				piece = "!" + piece
			}
			tokens = append(tokens, llm.Token{ID: int(c), Piece: piece, Text: string(c)})
		}
	}
	return tokens, nil
}

func (speller) Detokenize(_ context.Context, ids []int) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		if id > 127 {
			return "", &llm.Error{Code: llm.Invalid, Param: "prompt", Message: "there is no such token"}
		}
		b.WriteByte(byte(id))
	}
	return b.String(), nil
}

func (speller) Render(_ context.Context, p llm.Prompt, params *llm.Params, open bool) (parts []llm.Part, start bool, err error) {
	for _, m := range p.Messages {
		parts = append(parts, llm.Part{Text: "<", Special: true}, llm.Part{Text: m.Role[:1]}, llm.Part{Text: m.Parts[0].Text})
	}
	for _, tool := range params.Tools {
		parts = append(parts, llm.Part{Text: tool.Name})
	}
	if open {
		parts = append(parts, llm.Part{Text: ">", Special: true})
	}
	return parts, false, nil
}

func spellers(names ...string) (c catalog) {
	for _, name := range names {
		c = append(c, llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", Context: 64, StartToken: "<s>", EndToken: "</s>"}, Backend: speller{}})
	}
	return c
}

func TestTokenize(t *testing.T) {
	const missing = `{"error":{"message":"Invalid value for 'prompt': is required unless messages is sent","type":"invalid_request_error","param":"prompt","code":"invalid_value"}}`
	h := muxOf(Routes(Config{Models: append(spellers("m", "n/o"), testCatalog()...)})...)
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string // or a part of an error
	}{
		{"POST", "/tokenize", `{"prompt":"ab"}`, 200, `{"count":3,"max_model_len":64,"tokens":[1,97,98],"token_strs":null}`},
		{"POST", "/tokenize", `{"prompt":"ab","add_special_tokens":false,"return_token_strs":true,"model":"m"}`, 200, `{"count":2,"max_model_len":64,"tokens":[97,98],"token_strs":["!a","!b"]}`},
		{"POST", "/tokenize", `{` + hi + `,"return_token_strs":true}`, 200, `{"count":5,"max_model_len":64,"tokens":[60,117,104,105,62],"token_strs":["!<","u","h","i","!>"]}`},
		{"POST", "/tokenize", `{` + hi + `,"add_generation_prompt":false,"add_special_tokens":true,"tools":[` + clock + `]}`, 200, `{"count":9,"max_model_len":64,"tokens":[1,60,117,104,105,116,105,109,101],"token_strs":null}`},
		{"POST", "/tokenize", `{"prompt":"a","continue_final_message":false,"chat_template":null,"chat_template_kwargs":{},"mm_processor_kwargs":null}`, 200, `{"count":2,"max_model_len":64,"tokens":[1,97],"token_strs":null}`},
		{"POST", "/vllm/n/o/tokenize", `{"prompt":"a","model":"n/o"}`, 200, `{"count":2,"max_model_len":64,"tokens":[1,97],"token_strs":null}`},
		{"POST", "/tokenize", `{}`, 400, missing},
		{"POST", "/tokenize", `{"prompt":"a",` + hi + `}`, 400, "cannot be combined with messages"},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function"}]}`, 400, "Invalid value for 'tools[0].function.name': is required"},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":[]}]}`, 400, "Invalid value for 'messages[0].content': at least one part is required"},
		{"POST", "/tokenize", `{"messages":[]}`, 400, "at least one message is required"},
		{"POST", "/tokenize", `{"prompt":"a","tools":[]}`, 400, "is only accepted with messages"},
		{"POST", "/tokenize", `{"prompt":"a","add_generation_prompt":true}`, 400, "is only accepted with messages"},
		{"POST", "/tokenize", `{"prompt":"a","chat_template":"x"}`, 400, "Unsupported parameter 'chat_template'"},
		{"POST", "/tokenize", `{"prompt":"a","continue_final_message":true}`, 400, "Unsupported parameter 'continue_final_message'"},
		{"POST", "/tokenize", `{"prompt":"a","truncate":1}`, 400, "Unrecognized request argument supplied: truncate"},
		{"POST", "/tokenize", `{` + hi + `,"model":"vectors"}`, 400, "Unsupported parameter 'messages': this server cannot tokenize chats for the model"},
		{"POST", "/tokenize", `{"prompt":"a","model":"novels-5hr"}`, 400, "this model has no tokenizer"},
		{"POST", "/tokenize", `{"prompt":"a","model":"nope"}`, 404, "The model 'nope' does not exist"},
		{"POST", "/vllm/m/tokenize", `{"prompt":"a","model":"n/o"}`, 400, "differs from the model in the path, m"},
		{"POST", "/vllm/nope/tokenize", `{"prompt":"a"}`, 404, "The model 'nope' does not exist"},
		{"POST", "/detokenize", `{"tokens":[97,98.0]}`, 200, `{"prompt":"ab"}`},
		{"POST", "/vllm/m/detokenize", `{"tokens":[]}`, 200, `{"prompt":""}`},
		{"POST", "/detokenize", `{}`, 400, "Invalid value for 'tokens': is required"},
		{"POST", "/detokenize", `{"tokens":[null]}`, 400, "Invalid value for 'tokens[0]': must be an integer, not null"},
		{"POST", "/detokenize", `{"tokens":[128]}`, 400, "Invalid value for 'tokens': there is no such token"},
		{"GET", "/tokenizer_info?model=n%2Fo", "", 200, `{"tokenizer_class":"PreTrainedTokenizerFast","model":"n/o","bos_token":"\u003cs\u003e","eos_token":"\u003c/s\u003e","pad_token":null,"model_max_length":64}`},
		{"GET", "/vllm/vectors/tokenizer_info", "", 200, `{"tokenizer_class":"PreTrainedTokenizerFast","model":"vectors","bos_token":null,"eos_token":null,"pad_token":null}`},
		{"GET", "/vllm/novels-5hr/tokenizer_info", "", 400, "this model has no tokenizer"},
		{"GET", "/tokenizer_info?model=nope", "", 404, "The model 'nope' does not exist"},
		{"GET", "/tokenizer_info?name=m", "", 400, "Unrecognized request argument supplied: name"},
		{"GET", "/tokenizer_info?model=m&model=m", "", 400, "Invalid value for 'model': appears twice"},
		{"GET", "/vllm/m/tokenizer_info?model=n%2Fo", "", 400, "differs from the model in the path, m"},
		{"GET", "/tokenizer_info", "", 400, "For lm_eval, set base_url, for example to http://HOST/vllm/m/v1/completions"},
		{"POST", "/vllm/novels-5hr/v1/completions", `{"model":"novels-5hr","prompt":"a"}`, 200, ""},
		{"POST", "/vllm/novels-5hr/v1/completions", `{"model":"m","prompt":"a"}`, 400, "differs from the model in the path, novels-5hr"},
	} {
		w := ask(h, test.method, test.target, test.body)
		got := strings.TrimSpace(w.Body.String())
		if w.Code != test.status || test.status == 200 && test.want != "" && unescaped(got) != unescaped(test.want) || test.status != 200 && !strings.Contains(got, test.want) {
			t.Errorf("%s %s %s: got %d %s", test.method, test.target, test.body, w.Code, got)
		}
	}
	one := muxOf(Routes(Config{Models: spellers("m")})...)
	if w := ask(one, "GET", "/tokenizer_info", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"model":"m"`) {
		t.Errorf("of one model: %d %s", w.Code, w.Body)
	}
}

// A chat becomes the prompt of its completion, with the pieces that each side wrote.
func TestApplyTemplate(t *testing.T) {
	h := muxOf(Routes(Config{Models: append(spellers("m"), testCatalog()...)})...)
	for _, test := range []struct {
		body   string
		status int
		want   string // or a part of an error
	}{
		{`{"model":"m",` + hi + `}`, 200, `{"prompt":"<uhi>","spans":[{"text":"<","template":true},{"text":"uhi","template":false},{"text":">","template":true}]}`},
		{`{"model":"m",` + hi + `,"tools":[` + clock + `],"stream":true}`, 200, `{"prompt":"<uhitime>","spans":[{"text":"<","template":true},{"text":"uhitime","template":false},{"text":">","template":true}]}`},
		{`{"model":"m",` + hi + `,"tools":[` + clock + `],"tool_choice":"none"}`, 200, `{"prompt":"<uhi>","spans":[{"text":"<","template":true},{"text":"uhi","template":false},{"text":">","template":true}]}`},
		{`{"model":"vectors",` + hi + `}`, 400, "this server does not know the chat template of the model"},
		{`{"model":"nope",` + hi + `}`, 404, "The model 'nope' does not exist"},
		{`{"model":"m","messages":[]}`, 400, "at least one message is required"},
		{`{"model":"m",` + hi + `,"chat_template":"x"}`, 400, "chat_template"},
	} {
		w := ask(h, "POST", "/apply-template", test.body)
		got := unescaped(strings.TrimSpace(w.Body.String()))
		if w.Code != test.status || test.status == 200 && got != test.want || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %d %s", test.body, w.Code, got)
		}
	}
}

func unescaped(s string) string { return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(s) }
