package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// words is a model of words: its tokens are the words of a text, in small letters, without the accents of é,
// between two tokens.
type words struct{ vectors }

func (words) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] { return nil }

func (words) Tokenize(_ context.Context, parts []llm.Part, start bool) (out []llm.Token, err error) {
	if start {
		out = append(out, llm.Token{ID: 101, Piece: "[CLS]"})
	}
	for i, word := range strings.Fields(strings.ToLower(parts[0].Text)) {
		word = strings.ReplaceAll(word, "é", "e")
		if out = append(out, llm.Token{ID: len(word), Text: " " + word, Piece: word}); i == 0 {
			out[len(out)-1].Text = word
		}
	}
	if start {
		out = append(out, llm.Token{ID: 102, Piece: "[SEP]"})
	}
	return out, nil
}

func (words) Detokenize(_ context.Context, ids []int) (string, error) {
	for _, id := range ids {
		if id < 0 {
			return "", &llm.Error{Code: llm.Invalid, Param: "prompt", Message: "token -1 does not exist"}
		}
	}
	return fmt.Sprint(ids), nil
}

// readers returns a handler over a model that continues texts and one whose tokens are words.
func readers() http.Handler {
	models := llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "tests", Family: "local"}, Backend: vectors{}},
		{ModelInfo: llm.ModelInfo{Name: "words", Family: "local", Task: llm.TaskEmbed, Context: 32, Version: "v1"}, Backend: words{}},
		{ModelInfo: llm.ModelInfo{Name: "weights", Family: "local", Task: llm.TaskEmbed, Embeds: []llm.EmbedKind{llm.EmbedSparse}}, Backend: words{}},
		{ModelInfo: llm.ModelInfo{Name: "moods", Family: "local", Task: llm.TaskClassify, Labels: []string{"odd", "even"}}, Backend: &moods{}},
		{ModelInfo: llm.ModelInfo{Name: "ranker", Family: "local", Task: llm.TaskRerank, Labels: []string{"LABEL_0"}}, Backend: &ranker{}},
	}
	return (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
}

// Clients of Text Embeddings Inference read tokens with the parts of the text that they stand for, as far as
// these are known, and descriptions of models.
func TestInputTokens(t *testing.T) {
	const (
		first = `{"id":101,"text":"[CLS]","special":true,"start":null,"stop":null}`
		last  = `{"id":102,"text":"[SEP]","special":true,"start":null,"stop":null}`
	)
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/tokenize", `{"inputs":"A  Cat"}`, `200 [[` + first + `,{"id":1,"text":"A","special":false,"start":0,"stop":1},{"id":3,"text":"Cat","special":false,"start":3,"stop":6},` + last + `]]`},
		{"POST", "/tokenize", `{"inputs":["é a",""],"add_special_tokens":false}`, `200 [[{"id":1,"text":"e","special":false,"start":null,"stop":null},{"id":1,"text":" a","special":false,"start":null,"stop":null}],[]]`},
		{"POST", "/tokenize", `{"inputs":[]}`, `422 {"error":"Invalid value for 'inputs': at least one text is required","error_type":"Validation"}`},
		{"POST", "/tokenize", `{"inputs":7}`, `422 {"error":"Invalid value for 'inputs': must be a string, not number","error_type":"Validation"}`},
		{"POST", "/tokenize", `{"inputs":"a","prompt_name":"query"}`, `422 {"error":"Unsupported parameter 'prompt_name': the tokens are those of the text alone","error_type":"Validation"}`},
		{"POST", "/tokenize", `{"model":"moods","inputs":"a"}`, `424 {"error":"Unsupported parameter 'model': this model classifies texts (/classify) and has no tokenizer","error_type":"Backend"}`},
		{"POST", "/tokenize", `{}`, `400 {"error":{"message":"Invalid value for 'prompt': is required unless messages is sent"`},
		{"POST", "/decode", `{"ids":[1,2]}`, `200 ["[1 2]"]`},
		{"POST", "/decode", `{"ids":[[1],[2,3],[]],"skip_special_tokens":true}`, `200 ["[1]","[2 3]","[]"]`},
		{"POST", "/decode", `{"ids":[]}`, `200 ["[]"]`},
		{"POST", "/decode", `{"ids":"a"}`, `422 {"error":"Invalid value for 'ids': must be an array of token ids, or an array of such arrays","error_type":"Validation"}`},
		{"POST", "/decode", `{"ids":[[1],"a"]}`, `422 {"error":"Invalid value for 'ids`},
		{"POST", "/decode", `{"ids":[-1]}`, `422 {"error":"Invalid value for 'ids': token -1 does not exist","error_type":"Validation"}`},
		{"POST", "/decode", `{"ids":[1],"skip_special_tokens":false}`, `422 {"error":"Unsupported parameter 'skip_special_tokens': special tokens stand for no text; only true is accepted","error_type":"Validation"}`},
		{"GET", "/info", "", `200 {"model_id":"words","model_sha":"v1","model_type":{"embedding":{}},"max_input_length":32,"max_client_batch_size":2048,"auto_truncate":false}`},
		{"GET", "/info?model=weights", "", `200 {"model_id":"weights","model_type":{"embedding":{"pooling":"splade"}},"max_client_batch_size":2048,"auto_truncate":false}`},
		{"GET", "/info?model=moods", "", `200 {"model_id":"moods","model_type":{"classifier":{"id2label":{"0":"odd","1":"even"},"label2id":{"even":1,"odd":0}}},"max_client_batch_size":2048,"auto_truncate":false}`},
		{"GET", "/info?model=ranker", "", `200 {"model_id":"ranker","model_type":{"reranker":{"id2label":{"0":"LABEL_0"},"label2id":{"LABEL_0":0}}},"max_client_batch_size":2048,"auto_truncate":false}`},
		{"GET", "/info?model=none", "", `404 {"error":"The model 'none' does not exist","error_type":"Validation"}`},
		{"GET", "/info?name=words", "", `422 {"error":"Unrecognized request argument supplied: name","error_type":"Validation"}`},
	} {
		w := ask(readers(), c.method, c.target, c.body)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.target, c.body, got, c.want)
		}
	}
}

// turned is an embedder whose vectors turn with the length of a text; it rejects texts of more than 4 bytes
// unless it may cut them.
type turned struct {
	vectors
	last *llm.EmbedRequest
}

func (t *turned) Embed(_ context.Context, req *llm.EmbedRequest) (out []llm.Embedding, used llm.Usage, err error) {
	t.last = req
	for i, p := range req.Prompts {
		text, _ := p.Text()
		if len(text) > 4 && !req.Truncate {
			long := llm.TooManyTokens("the prompt has", len(text), 4)
			long.Param = fmt.Sprintf("prompt[%d]", i)
			return nil, used, long
		}
		v := [][]float32{{2, 0}, {0, 3}, {-1, 0}, {1, 1}}[len(text)%4]
		out = append(out, llm.Embedding{Layers: []llm.Layer{{Vectors: [][]float32{v}}}})
	}
	return out, used, nil
}

// Texts are compared with one, at the root too, as Hugging Face's clients ask for it.
func TestSimilarity(t *testing.T) {
	e := &turned{}
	h := (&httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "turned", Family: "local", Task: llm.TaskEmbed}, Backend: e}}}), Fallback: Errors}).Handler()
	for _, c := range []struct{ target, body, want string }{
		{"/similarity", `{"inputs":{"source_sentence":"abcd","sentences":["a","ab","wxyz"]}}`, `200 [0,-1,1]`},
		{"/", `{"inputs":{"source_sentence":"abcd","sentences":["ab"]},"parameters":{}}`, `200 [-1]`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":["abcde"]},"parameters":{"truncate":true,"prompt_name":"query","truncation_direction":"right"}}`, `200 [1]`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":["a","abcde"]}}`, `413 {"error":"This model's maximum context length is 4 tokens. However, your inputs.sentences[1] resulted in 5 tokens`},
		{"/similarity", `{"inputs":{"source_sentence":"abcde","sentences":["a"]}}`, `413 {"error":"This model's maximum context length is 4 tokens. However, your inputs.source_sentence resulted in 5 tokens`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":[]}}`, `422 {"error":"Invalid value for 'inputs.sentences': at least one sentence is required"`},
		{"/similarity", `{"inputs":{"source_sentence":"","sentences":["a"]}}`, `422 {"error":"Invalid value for 'inputs.source_sentence': must not be empty"`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":["a",""]}}`, `422 {"error":"Invalid value for 'inputs.sentences[1]': must not be empty"`},
		{"/similarity", `{"inputs":{"sentences":["a"]}}`, `422 {"error":"Invalid value for 'inputs.source_sentence': is required"`},
		{"/", `{"inputs":{"source_sentence":"a"}}`, `422 {"error":"Invalid value for 'inputs.sentences': is required"`},
		{"/similarity", `{"inputs":"a"}`, `422 {"error":"Invalid value for 'inputs': must be an object, not string"`},
		{"/similarity", `{"inputs":{"source_sentence":"a","sentences":["a"]},"parameters":{"truncation_direction":"left"}}`, `422 {"error":"Unsupported parameter 'parameters.truncation_direction'`},
	} {
		w := ask(h, "POST", c.target, c.body)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.target, c.body, got, c.want)
		}
	}
	if w := ask(h, "POST", "/similarity", `{"inputs":{"source_sentence":"a","sentences":["b"]},"parameters":{"prompt_name":"query"}}`); w.Code != 200 || e.last.PromptName != "query" || e.last.MaxValues != maxValues {
		t.Errorf("%s, %+v", w.Body, e.last)
	}
}
