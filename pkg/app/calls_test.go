package app

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
)

// upload returns the body of an upload of the golden checkpoint.
func upload(t testing.TB, name string) string {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WriteJSON(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	return `{"name":"` + name + `","step":7,"config":` + goldenConfig + `,"metrics":"{\"loss\":2}\n","checkpoint":` + b.String() + `}`
}

// addTranslator adds a model that translates to the app's checkpoints.
func addTranslator(t testing.TB, a *App) {
	t.Helper()
	addModel(t, a, "translator", "../../functions/testdata/translator")
}

// addEncoder adds a model that embeds texts.
func addEncoder(t testing.TB, a *App) {
	t.Helper()
	addModel(t, a, "encoder", "../engine/testdata/encoders/bert")
}

// addModel adds the model of a directory, older than the golden run, which stays the default.
func addModel(t testing.TB, a *App, name, from string) {
	t.Helper()
	dir := filepath.Join(a.cfg.Checkpoints, name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, time.Time{}, time.Unix(1739800000, 0)))
	}); err != nil {
		t.Fatal(err)
	}
}

// addRanker adds a model that ranks documents to the app's checkpoints. It is the newest, but not
// the default model, because it continues no texts.
func addRanker(t testing.TB, a *App) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(a.cfg.Checkpoints, "ranker"), os.DirFS("../engine/testdata/rerankers/bert")); err != nil {
		t.Fatal(err)
	}
}

// calls lists requests to every route, good and bad.
func calls(t testing.TB) []call {
	return slices.Concat([]call{
		{"GET", "/health", "", "", "", 200},
		{"GET", "/ready", "", "", "", 200},
		{"GET", "/health/models", "", account.Monitor, "", 200},
		{"GET", "/api/version", "", "", "", 200},
		{"GET", "/openapi.json", "", account.Monitor, "", 200},
		{"GET", "/metrics", "", account.Monitor, "", 200},
		{"GET", "/activity", "", account.Monitor, "", 200},
		{"GET", "/usage", "", account.Monitor, "", 200},
		{"GET", "/usage?day=2026-11-22&principal=key%20ci", "/usage", account.Admin, "", 200},
		{"GET", "/usage?day=today", "/usage", account.Admin, "", 400},
	}, callsOpenAI(), callsEncoders(), callsClassifiers(), callsAnthropic(), callsOllama(), callsLamini(), callsAlpha(t), callsTextSynth(), callsAlephAlpha(), callsInvoke())
}

func callsAnthropic() []call {
	return []call{
		{"POST", "/v1/messages", "", account.Client, `{"model":"golden","max_tokens":2,"messages":[{"role":"user","content":"a"}],"system":"b","stop_sequences":["x"],"metadata":{"user_id":"u"}}`, 200},
		{"POST", "/v1/messages", "", account.Client, `{"model":"golden","max_tokens":2,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"b"}],"stream":true}`, 200},
		{"POST", "/v1/messages", "", account.Client, `{"model":"golden","messages":[{"role":"user","content":"a"}]}`, 400},
		{"POST", "/v1/messages", "", account.Client, `{"model":"none","max_tokens":2,"messages":[{"role":"user","content":"a"}]}`, 404},
		{"POST", "/v1/messages/count_tokens", "", account.Client, `{"model":"golden","messages":[{"role":"user","content":"a"}]}`, 200},
	}
}

func callsOllama() []call {
	return []call{
		{"POST", "/api/chat", "", account.Client, `{"model":"golden","messages":[{"role":"user","content":"a"}],"stream":false,"options":{"num_predict":2}}`, 200},
		{"POST", "/api/chat", "", account.Client, `{"model":"golden","messages":[{"role":"user","content":"a"}],"options":{"num_predict":2}}`, 200},
		{"POST", "/api/embed", "", account.Client, `{"model":"encoder","input":["a","b"]}`, 200},
		{"POST", "/api/embeddings", "", account.Client, `{"model":"encoder","prompt":"a"}`, 200},
		{"GET", "/api/tags", "", account.Client, "", 200},
		{"GET", "/api/ps", "", account.Client, "", 200},
		{"POST", "/api/show", "", account.Client, `{"model":"golden"}`, 200},
		{"POST", "/api/show", "", account.Client, `{"model":"none"}`, 404},
		{"POST", "/api/generate", "", account.Client, `{"model":"golden","prompt":"a","raw":true,"options":{"num_predict":2}}`, 200},
		{"POST", "/api/generate", "", account.Client, `{"model":"golden","prompt":"a","suffix":"b"}`, 400},
	}
}

func callsOpenAI() []call {
	const chat, complete = "/v1/chat/completions", "/v1/completions"
	const hello = `"messages":[{"role":"user","content":"a"}]`
	return []call{
		{"GET", "/v1/models", "", account.Client, "", 200},
		{"GET", "/v1/models/golden", "/v1/models/{id}", account.Client, "", 200},
		{"GET", "/v1/models/local%2Fgolden", "/v1/models/{id}", account.Client, "", 200},
		{"GET", "/v1/models/local/golden", "/v1/models/{id}", account.Client, "", 200},
		{"GET", "/v1/models/none", "/v1/models/{id}", account.Client, "", 404},
		{"POST", "/chat/completions", "", account.Client, `{` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"n":2,"logprobs":true,"top_logprobs":2,"max_tokens":2,"seed":1,"stop":["b"],` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"stop":"b","temperature":null,"logit_bias":{"1":-3.5},"metadata":{"a":"b"},"user":"u",` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"messages":[{"role":"system","content":[{"type":"text","text":"a"}]}]}`, 200},
		{"POST", chat, "", account.Client, `{"stream":true,"n":2,"logprobs":true,"top_logprobs":1,` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"stream":true,"stream_options":{"include_usage":true},` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"model":"none",` + hello + `}`, 404},
		{"POST", chat, "", account.Client, ``, 400},
		{"POST", chat, "", account.Client, `{`, 400},
		{"POST", chat, "", account.Client, `{"messages":[]}`, 400},
		{"POST", chat, "", account.Client, `{"messages":[{"role":"user","content":"aaaaaaaa"}]}`, 400},
		{"POST", chat, "", account.Client, `{"temperature":3,` + hello + `}`, 400},
		{"POST", chat, "", account.Client, `{"tools":[{"type":"function"}],` + hello + `}`, 400},
		{"POST", chat, "", account.Client, `{"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required",` + hello + `}`, 400}, // "a" and "b" spell no call
		{"POST", chat, "", account.Client, `{"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none","response_format":{"type":"text"},` + hello + `}`, 200},
		{"POST", chat, "", account.Client, `{"response_format":{"type":"json_object"},` + hello + `}`, 400},
		{"POST", "/v1/responses", "", account.Client, `{"input":"a","max_output_tokens":2,"top_logprobs":1,"metadata":{"k":"v"},"text":{"format":{"type":"text"}},"reasoning":{"summary":"auto"}}`, 200},
		{"POST", "/v1/responses", "", account.Client, `{"model":"golden","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}],"stream":true,"include":["message.output_text.logprobs"]}`, 200},
		{"POST", "/v1/responses", "", account.Client, `{"input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":"none","store":true}`, 200},
		{"POST", "/v1/responses", "", account.Client, `{"input":[]}`, 400},
		{"POST", "/v1/responses", "", account.Client, `{"input":"a","tools":[{"type":"web_search"}]}`, 400},
		{"POST", "/v1/responses", "", account.Client, `{"model":"none","input":"a"}`, 404},
		{"POST", "/v1/responses/input_tokens", "", account.Client, `{"model":"golden","input":"a"}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden"}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":["a","b"],"n":2,"best_of":3,"max_tokens":1,"logprobs":2,"echo":true,"stop":"b","user":"u"}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":[[1,2],[2]],"max_tokens":0,"logprobs":0,"echo":true,"temperature":0,"top_p":0.5}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":[1,2],"stream":true,"logprobs":1,"echo":true}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":"a","stream":true,"stream_options":{"include_usage":true}}`, 200},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":[7]}`, 400},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":"aaaaaaaa"}`, 400},
		{"POST", complete, "", account.Client, `{"model":"golden","prompt":"a","suffix":"b"}`, 400},
		{"POST", complete, "", account.Client, `{"prompt":"a"}`, 400},
		{"POST", complete, "", account.Client, `{"model":"none","prompt":"a"}`, 404},
		{"GET", "/tokenizer_info", "", account.Client, "", 400},
		{"GET", "/tokenizer_info?model=golden", "/tokenizer_info", account.Client, "", 200},
		{"GET", "/tokenizer_info?model=none", "/tokenizer_info", account.Client, "", 404},
		{"POST", "/tokenize", "", account.Client, `{"prompt":"ab"}`, 200},
		{"POST", "/tokenize", "", account.Client, `{"model":"golden","prompt":"ab","add_special_tokens":false,"return_token_strs":true}`, 200},
		{"POST", "/tokenize", "", account.Client, `{` + hello + `,"add_generation_prompt":false,"model":"golden"}`, 200},
		{"POST", "/tokenize", "", account.Client, `{` + hello + `,"model":"translator"}`, 400},
		{"POST", "/tokenize", "", account.Client, `{"prompt":"a","chat_template":"x"}`, 400},
		{"POST", "/apply-template", "", account.Client, `{` + hello + `,"model":"golden"}`, 200},
		{"POST", "/apply-template", "", account.Client, `{` + hello + `,"model":"translator"}`, 400},
		{"POST", "/detokenize", "", account.Client, `{"tokens":[1,2.0]}`, 200},
		{"POST", "/detokenize", "", account.Client, `{"tokens":[7]}`, 400},
		{"GET", "/vllm/golden/tokenizer_info", "/vllm/{id}/tokenizer_info", account.Client, "", 200},
		{"GET", "/vllm/local/golden/tokenizer_info", "/vllm/{id}/tokenizer_info", account.Client, "", 200},
		{"POST", "/vllm/golden/tokenize", "/vllm/{id}/tokenize", account.Client, `{"prompt":"ab"}`, 200},
		{"POST", "/vllm/golden/detokenize", "/vllm/{id}/detokenize", account.Client, `{"tokens":[]}`, 200},
		{"POST", "/vllm/golden/v1/completions", "/vllm/{id}/v1/completions", account.Client, `{"model":"golden","prompt":"a"}`, 200},
		{"POST", "/vllm/golden/v1/completions", "/vllm/{id}/v1/completions", account.Client, `{"model":"golden","prompt":"a","stream":true}`, 200},
		{"POST", "/vllm/golden/v1/completions", "/vllm/{id}/v1/completions", account.Client, `{"model":"translator","prompt":"a"}`, 400},
	}
}

// callsEncoders lists requests to embed, compare and rank texts.
func callsEncoders() []call {
	return []call{
		{"POST", "/v1/embeddings", "", account.Client, `{"input":"a"}`, 200},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"golden","input":["a","b"],"encoding_format":"base64","dimensions":4}`, 200},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"golden","input":[[1],[2,1]],"encoding_format":"float","user":"u"}`, 200},
		{"POST", "/v1/embeddings", "", account.Client, `{"input":"a","dimensions":3}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"input":"aaaaaaaa"}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"none","input":"a"}`, 404},
		{"POST", "/rerank", "", account.Client, `{"query":"a hen","documents":["a dog",{"text":"the hen","id":1}],"top_n":1,"return_documents":true,"max_tokens_per_doc":9,"rank_fields":["text"]}`, 200},
		{"POST", "/rerank", "", account.Client, `{"query":"a hen","texts":["a dog","the hen"],"return_text":true,"raw_scores":true,"truncate":true,"truncation_direction":"right"}`, 200},
		{"POST", "/rerank", "", account.Client, `{"model":"golden","query":"a","documents":["b"]}`, 400},
		{"POST", "/v1/rerank", "", account.Client, `{"model":"ranker","query":"a","documents":["b"],"use_activation":false,"truncate_prompt_tokens":9}`, 200},
		{"POST", "/v2/rerank", "", account.Client, `{"model":"none","query":"a","documents":["b"]}`, 404},
		{"POST", "/v2/rerank", "", account.Client, `{"model":"ranker","query":"a","documents":["b"],"priority":1,"user":"u"}`, 200},
		{"POST", "/v1/score", "", account.Client, `{"text_1":"a","text_2":["b","c"]}`, 200},
		{"POST", "/v1/embed", "", account.Client, `{"texts":["a","the hen"],"input_type":"search_query"}`, 200},
		{"POST", "/v2/embed", "", account.Client, `{"model":"encoder","texts":["a"],"embedding_types":["float","int8","base64"],"output_dimension":4,"truncate":"END"}`, 200},
		{"POST", "/v2/embed", "", account.Client, `{"model":"encoder","inputs":[{"content":[{"type":"text","text":"a"}]}],"priority":1}`, 200},
		{"POST", "/v2/embed", "", account.Client, `{"model":"golden","texts":["a"]}`, 200},
		{"POST", "/v2/embed", "", account.Client, `{"model":"golden","texts":["a"],"input_type":"search_query"}`, 400},
		{"POST", "/v2/embed", "", account.Client, `{"model":"ranker","texts":["a"]}`, 400},
		{"POST", "/v2/embed", "", account.Client, `{"model":"none","texts":["a"]}`, 404},
		{"POST", "/embed_sparse", "", account.Client, `{"model":"encoder","inputs":"a"}`, 424},
		{"POST", "/embed_all", "", account.Client, `{"inputs":["a","the hen"],"truncate":true}`, 200},
		{"POST", "/embed_all", "", account.Client, `{"model":"golden","inputs":"a"}`, 424},
		{"POST", "/similarity", "", account.Client, `{"inputs":{"source_sentence":"a","sentences":["the hen","a"]},"parameters":{"truncate":true}}`, 200},
		{"POST", "/similarity", "", account.Client, `{"model":"ranker","inputs":{"source_sentence":"a","sentences":["b"]}}`, 424},
		{"POST", "/similarity", "", account.Client, `{"inputs":{"source_sentence":"a"}}`, 422},
		{"POST", "/pooling", "", account.Client, `{"input":["a","the hen"],"truncate_prompt_tokens":-1}`, 200},
		{"POST", "/pooling", "", account.Client, `{"input":"a","task":"embed","dimensions":4,"encoding_format":"base64","use_activation":false}`, 200},
		{"POST", "/pooling", "", account.Client, `{"model":"ranker","input":"a"}`, 400},
		{"POST", "/decode", "", account.Client, `{"ids":[[2,9,3],[9]],"skip_special_tokens":true}`, 200},
		{"POST", "/decode", "", account.Client, `{"ids":[100000]}`, 422},
		{"POST", "/tokenize", "", account.Client, `{"inputs":["the hen","a"],"add_special_tokens":true}`, 200},
		{"GET", "/info", "", account.Client, "", 200},
		{"GET", "/info?model=none", "/info", account.Client, "", 404},
		{"POST", "/score", "", account.Client, `{"queries":["a","b"],"documents":["b","c"]}`, 200},
		{"POST", "/score", "", account.Client, `{"queries":["a","b"],"documents":["b"]}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"golden","input":"a","input_type":"query"}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"golden","input":"a","truncate":true}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":["a","the hen"],"dimensions":4,"input_type":"query","truncate":"END"}`, 200},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":[[2,9,3]],"prompt_name":"document","encoding_format":"base64"}`, 200},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":"a","dimensions":33}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":"a","prompt_name":"ask"}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":"a","truncate":"START"}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":"` + strings.Repeat("hen ", 40) + `"}`, 400},
		{"POST", "/v1/embeddings", "", account.Client, `{"model":"encoder","input":"` + strings.Repeat("hen ", 40) + `","truncate":true}`, 200},
	}
}

// callsForms lists requests for formats to a model that has them.
func callsForms() []call {
	const chat, completions = "/v1/chat/completions", "/v1/engines/{engine_id}/completions"
	const hello = `"messages":[{"role":"user","content":"a"}]`
	const script = `{"model_family":"elsewhere","model_name":"script","body":{`
	const tools = `"tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":` + form + `}},{"type":"function","function":{"name":"g"}}]`
	const schema = `"response_format":{"type":"json_schema","json_schema":{"name":"n","description":null,"strict":true,"schema":` + form + `}}`
	const history = `"messages":[{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}","parsed_arguments":{}}}],"parsed":null},` +
		`{"role":"tool","tool_call_id":"c","content":"x"}]`
	return []call{
		{"POST", chat, "", "", `{` + schema + `,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"response_format":{"type":"json_object"},"stream":true,"n":2,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"parallel_tool_calls":false,` + tools + `,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"stream":true,"stream_options":{"include_usage":true},"tool_choice":"required",` + tools + `,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"tool_choice":{"type":"function","function":{"name":"g"}},` + tools + `,` + history + `}`, 200},
		{"POST", chat, "", "", `{"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}},` + schema + `,` + tools + `,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"tool_choice":"none","response_format":null,` + tools + `,` + hello + `}`, 200},
		{"POST", chat, "", "", `{"tool_choice":"any",` + tools + `,` + hello + `}`, 400},
		{"POST", "/v1/completions", "", "", `{"model_name":"script","prompt":"a","output_type":{"a":"int"}}`, 200},
		{"POST", "/v1/completions", "", "", `{"model_name":"script","prompt":["a","b"],"output_type":{"a":[7,8],"b":["x"],"c":"str"}}`, 200},
		{"POST", "/v1/completions", "", "", `{"model_name":"script","prompt":"a","output_type":{"a":"list"}}`, 422},
		{"POST", "/v2/completions", "", "", `{"model_name":"script","prompt":"a","output_type":{"a":"float"},"max_new_tokens":9}`, 200},
		{"POST", "/v2/completions", "", "", `{"model_name":"script","prompt":["a"],"output_type":{"a":"bool"}}`, 200},
		{"POST", "/v2/completions", "", "", `{"model_name":"script","prompt":["a"],"output_type":{}}`, 422},
		{"POST", "/invoke", "", "", script + `"prompt":"a","schema":` + form + `}}`, 200},
		{"POST", "/invoke", "", "", script + tools + `,` + history + `}}`, 200},
		{"POST", "/invoke_stream", "", "", script + `"must_call":true,"system":"s",` + tools + `,` + hello + `}}`, 200},
		{"POST", "/v1/engines/script/completions", completions, "", `{"prompt":["a","b"],"n":2,"schema":` + form + `}`, 200},
		{"POST", "/v1/engines/script/completions", completions, "", `{"prompt":"a","stream":true,"schema":{},"grammar":null}`, 200},
		{"POST", "/v1/engines/script/completions", completions, "", `{"prompt":"a","grammar":"root ::= [0-9]+"}`, 200},
		{"POST", "/v1/engines/script/completions", completions, "", `{"prompt":"a","grammar":"root ::= [0-9]+","schema":{}}`, 400},
	}
}

func callsLamini() []call {
	const complete = "/v1/completions"
	return []call{
		{"POST", complete, "", account.Client, `{"model_name":"golden","prompt":"a"}`, 200},
		{"POST", complete, "", account.Client, `{"model_name":"golden","prompt":["a","b"],"max_new_tokens":1,"max_tokens":null,"output_type":null}`, 200},
		{"POST", complete, "", account.Client, `{"model_name":"golden","prompt":"a","output_type":{"a":"int"}}`, 400},
		{"POST", complete, "", account.Client, `{"model_name":"golden","model":"golden","prompt":"a"}`, 400},
		{"POST", complete, "", account.Client, `{"model_name":"golden"}`, 422},
		{"POST", complete, "", account.Client, `{"model_name":"none","prompt":"a"}`, 594},
		{"POST", "/v2/completions", "", account.Client, `{"model_name":"golden","prompt":"a","max_new_tokens":2}`, 200},
		{"POST", "/v2/completions", "", account.Client, `{"model_name":"golden","prompt":["a"],"reservation_id":null,"cache_id":"x"}`, 200},
		{"POST", "/v2/completions", "", account.Client, `{"model_name":"golden","prompt":"aaaaaaaa"}`, 400},
		{"POST", "/v2/completions", "", account.Client, `{`, 422},
		{"POST", "/v2/completions", "", account.Client, `{"model":"golden","model_name":"golden","prompt":"a"}`, 422},
		{"POST", "/v2/completions", "", account.Client, `{"model_name":"none","prompt":"a"}`, 594},
		{"POST", "/v1/embedding", "", account.Client, `{"model_name":"golden","prompt":"a"}`, 200},
		{"POST", "/v1/embedding", "", account.Client, `{"model_name":"golden","prompt":["a","b"]}`, 200},
		{"POST", "/v1/embedding", "", account.Client, `{"model_name":"golden","prompt":[]}`, 422},
		{"GET", "/v1/version", "", "", "", 200},
	}
}

func callsAlpha(t testing.TB) []call {
	const metrics = "/api/models/{name}/metrics"
	return []call{
		{"GET", "/api/models", "", account.Monitor, "", 200},
		{"GET", "/api/models/golden/metrics", metrics, account.Monitor, "", 200},
		{"GET", "/api/models/local/golden/metrics?from=1", metrics, account.Client, "", 200},
		{"GET", "/api/models/none/metrics", metrics, account.Client, "", 404},
		{"GET", "/api/models/golden/metrics?from=-1", metrics, account.Client, "", 400},
		{"GET", "/", "", "", "", 200},
		{"GET", "/docs", "", "", "", 200},
		{"GET", "/page/js/main.js", "/page/{file}", "", "", 200},
		{"GET", "/page/style.css", "/page/{file}", "", "", 200},
		{"GET", "/page/icon.svg", "/page/{file}", "", "", 200},
		{"GET", "/page/", "/page/{file}", "", "", 404},
		{"GET", "/api/inference?query=a&steps=2&temp=0&topk=1&model=golden", "", account.Client, "", 200},
		{"GET", "/inference?query=a", "", account.Client, "", 200},
		{"GET", "/api/inference?query=a&model=none", "", account.Client, "", 400},
		{"GET", "/api/inference", "", account.Client, "", 400},
		{"POST", "/api/chat", "", account.Client, `{"messages":[{"role":"user","content":"a"}],"maxTokens":2,"topk":null}`, 200},
		{"POST", "/api/chat", "", account.Client, `{"id":"c","trigger":"submit-message","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"a","state":"done"}]}],"maxTokens":2.0}`, 200},
		{"POST", "/api/chat", "", account.Client, `{"messages":[]}`, 400},
		{"GET", "/api/generate?prompt=a&max_tokens=2&temperature=0", "", account.Client, "", 200},
		{"GET", "/api/generate?max_tokens=x", "", account.Client, "", 400},
		{"POST", "/api/generate", "", account.Client, `{"prompt":"a","max_tokens":2,"model":"golden"}`, 200},
		{"POST", "/api/generate", "", account.Client, `{"model":"none","prompt":"a"}`, 400},
		{"GET", "/api/uploads", "", account.Worker, "", 200},
		{"POST", "/api/upload", "", account.Worker, upload(t, "sent"), 200},
		{"POST", "/api/upload", "", account.Worker, upload(t, "../sent"), 400},
		{"POST", "/api/upload", "", account.Worker, `{"name":"sent"}`, 400},
		{"DELETE", "/api/models?name=sent", "", account.Worker, "", 200},
		{"DELETE", "/api/models?name=sent", "", account.Worker, "", 404},
		{"DELETE", "/api/models", "", account.Worker, "", 400},
	}
}

func callsTextSynth() []call {
	const logprob, translate = "/v1/engines/{engine_id}/logprob", "/v1/engines/{engine_id}/translate"
	const completions, tokenize = "/v1/engines/{engine_id}/completions", "/v1/engines/{engine_id}/tokenize"
	return []call{
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a"}`, 200},
		{"POST", "/v1/engines/local/golden/completions", completions, account.Client, `{"prompt":["a",""],"n":2,"max_tokens":3,"seed":1,"temperature":0.5}`, 200},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"aaaaaaaaaaaaaaaa","stop":["b"],"top_k":1,"top_p":1,"typical_p":0.5,"logit_bias":{"1":-100}}`, 200},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a","stream":true,"n":2,"presence_penalty":1,"frequency_penalty":1,"repetition_penalty":1.2}`, 200},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a","max_tokens":0,"stream":true,"stop":null}`, 200},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a","n":17}`, 400},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a","logit_bias":{"99":1}}`, 400},
		{"POST", "/v1/engines/golden/completions", completions, account.Client, `{"prompt":"a","schema":{}}`, 400},
		{"POST", "/v1/engines/translator/completions", completions, account.Client, `{"prompt":"a"}`, 400},
		{"POST", "/v1/engines/none/completions", completions, account.Client, `{"prompt":"a"}`, 404},
		{"POST", "/v1/engines/golden/tokenize", tokenize, account.Client, `{"text":"ab"}`, 200},
		{"POST", "/v1/engines/golden/tokenize", tokenize, account.Client, `{"text":"","token_content_type":"base64"}`, 200},
		{"POST", "/v1/engines/translator/tokenize", tokenize, account.Client, `{"text":"Thank you.","token_content_type":"base64"}`, 200},
		{"POST", "/v1/engines/golden/tokenize", tokenize, account.Client, `{"text":5}`, 400},
		{"POST", "/v1/engines/none/tokenize", tokenize, account.Client, `{"text":"a"}`, 404},
		{"POST", "/v1/engines/golden/logprob", logprob, account.Client, `{"context":"a","continuation":"b"}`, 200},
		{"POST", "/v1/engines/local/golden/logprob", logprob, account.Client, `{"context":"","continuation":"ab"}`, 200},
		{"POST", "/v1/engines/golden/logprob", logprob, account.Client, `{"context":"a","continuation":""}`, 400},
		{"POST", "/v1/engines/golden/logprob", logprob, account.Client, `{"context":"a","continuation":"bbbbbbbb"}`, 400},
		{"POST", "/v1/engines/none/logprob", logprob, account.Client, `{"context":"a","continuation":"b"}`, 404},
		{"POST", "/v1/engines/translator/translate", translate, account.Client, `{"text":["Thank you."],"source_lang":"en","target_lang":"nso"}`, 200},
		{"POST", "/v1/engines/local/translator/translate", translate, account.Client, `{"text":["Thank you.","Merci."],"source_lang":"fr","target_lang":"en","num_beams":1,"split_sentences":null}`, 200},
		{"POST", "/v1/engines/translator/logprob", logprob, account.Client, `{"context":"a","continuation":"b"}`, 400},
		{"POST", "/v1/engines/golden/translate", translate, account.Client, `{"text":["a"],"source_lang":"en","target_lang":"fr"}`, 400},
		{"POST", "/v1/engines/golden/translate", translate, account.Client, `{"text":["a"],"source_lang":"br","target_lang":"fr"}`, 400},
		{"POST", "/v1/engines/none/translate", translate, account.Client, `{"text":["a"],"source_lang":"en","target_lang":"fr"}`, 404},
	}
}

func callsAlephAlpha() []call {
	const aa = `{"model":"golden","prompt":"a",`
	return []call{
		{"GET", "/version", "", "", "", 200},
		{"GET", "/models_available", "", account.Monitor, "", 200},
		{"POST", "/complete", "", account.Client, aa + `"maximum_tokens":2,"n":2,"best_of":3,"log_probs":2,"tokens":true,"echo":true,"temperature":0.5,"logit_bias":{"1":-3.5},"minimum_tokens":0}`, 200},
		{"POST", "/complete", "", account.Client, aa + `"hosting":"cloud","top_k":0,"top_p":0.0,"best_of":null,"stop_sequences":["b"],"use_multiplicative_presence_penalty":true,"presence_penalty":0.5}`, 200},
		{"POST", "/complete", "", account.Client, `{"model":"golden","prompt":[{"type":"text","data":"a","controls":[]},{"type":"token_ids","data":[1]}],"stream":true,"log_probs":0,"tokens":true}`, 200},
		{"POST", "/complete?nice=true", "", account.Client, `{"model":"golden","prompt":""}`, 200},
		{"POST", "/complete", "", account.Client, `{"model":"none","prompt":"a"}`, 404},
		{"POST", "/complete", "", account.Client, `{}`, 400},
		{"POST", "/complete", "", account.Client, `{"model":"golden","prompt":"aaaaaaaa"}`, 400},
		{"POST", "/complete", "", account.Client, aa + `"logit_bias":{"9":1}}`, 400},
		{"POST", "/embed", "", account.Client, aa + `"layers":[0,-1],"pooling":["mean","abs_max"],"tokens":true}`, 200},
		{"POST", "/embed", "", account.Client, aa + `"layers":[1],"pooling":null,"normalize":true}`, 200},
		{"POST", "/embed", "", account.Client, aa + `"layers":[2]}`, 400},
		{"POST", "/embed", "", account.Client, `{"model":"none","prompt":"a","layers":[0]}`, 404},
		{"POST", "/embed", "", account.Client, `{"inputs":["a","the hen"],"truncate":true,"normalize":false,"dimensions":4}`, 200},
		{"POST", "/embed", "", account.Client, `{"model":"ranker","inputs":"a"}`, 424},
		{"POST", "/embed", "", account.Client, `{"inputs":[]}`, 422},
		{"POST", "/", "", account.Client, `{"inputs":"the hen"}`, 200},
		{"POST", "/", "", account.Client, `{"query":"a hen","texts":["a dog","the hen"]}`, 200},
		{"POST", "/", "", account.Client, `{"model":"ranker","inputs":"a"}`, 424},
		{"POST", "/", "", account.Client, `{"inputs":[]}`, 422},
		{"POST", "/evaluate", "", account.Client, aa + `"completion_expected":"b"}`, 200},
		{"POST", "/evaluate", "", account.Client, aa + `"completion_expected":""}`, 400},
		{"POST", "/evaluate", "", account.Client, `{"model":"translator","prompt":"a","completion_expected":"b"}`, 400},
		{"POST", "/evaluate", "", account.Client, `{"model":"none","prompt":"a","completion_expected":"b"}`, 404},
		{"POST", "/tokenize", "", account.Client, aa + `"tokens":true,"token_ids":true}`, 200},
		{"POST", "/tokenize", "", account.Client, aa + `"tokens":false,"token_ids":false}`, 200},
		{"POST", "/tokenize", "", account.Client, aa + `"tokens":true}`, 400},
		{"POST", "/detokenize", "", account.Client, `{"model":"golden","token_ids":[0,1,2]}`, 200},
		{"POST", "/detokenize", "", account.Client, `{"model":"golden","token_ids":[3]}`, 400},
		{"POST", "/explain", "", account.Client, aa + `"target":"b"}`, 200},
		{"POST", "/explain", "", account.Client, `{"model":"golden","prompt":[{"type":"text","data":"a"},{"type":"token_ids","data":[1]}],"target":"ba","target_granularity":"token",` +
			`"prompt_granularity":{"type":"custom","delimiter":"b"},"postprocessing":"square","normalize":true,"control_factor":0.1,"control_token_overlap":"partial","control_log_additive":true}`, 200},
		{"POST", "/explain", "", account.Client, aa + `"target":""}`, 400},
		{"POST", "/explain", "", account.Client, aa + `"target":"bbbbbbb"}`, 400},
		{"POST", "/explain", "", account.Client, `{"model":"none","prompt":"a","target":"b"}`, 404},
		{"POST", "/translate", "", account.Client, `{"model":"translator","source":"Thank you.","target_language":"fr"}`, 200},
		{"POST", "/translate", "", account.Client, `{"model":"translator","source":"Thank you.","target_language":"xx"}`, 400},
		{"POST", "/translate", "", account.Client, `{"model":"none","source":"Thank you.","target_language":"fr"}`, 404},
		{"GET", "/models/golden/tokenizer", "/models/{name}/tokenizer", account.Client, "", 200},
		{"GET", "/models/translator/tokenizer", "/models/{name}/tokenizer", account.Client, "", 400},
		{"GET", "/models/none/tokenizer", "/models/{name}/tokenizer", account.Client, "", 404},
		{"POST", "/semantic_embed", "", account.Client, aa + `"representation":"symmetric"}`, 400},
		{"POST", "/semantic_embed", "", account.Client, `{"model":"encoder","prompt":"a","representation":"query","compress_to_size":8,"normalize":true}`, 200},
		{"POST", "/batch_semantic_embed", "", account.Client, `{"model":"encoder","prompts":["a",[{"type":"token_ids","data":[2,9,3]}]],"representation":"document"}`, 200},
		{"POST", "/semantic_embed", "", account.Client, `{"model":"encoder","prompt":"a","representation":"query","compress_to_size":128}`, 400},
		{"POST", "/batch_semantic_embed", "", account.Client, `{"prompts":["a"],"representation":"symmetric"}`, 400},
		{"POST", "/instructable_embed", "", account.Client, `{"model":"golden","input":"a","instruction":"b"}`, 400},
		{"POST", "/steering_concepts", "", account.Client, `{"examples":[]}`, 400},
	}
}

// invokeBodies lists bodies of /invoke that the golden model answers, and bodies that
// are rejected with the same status.
func invokeBodies() (good, bad []string) {
	const golden = `{"model_family":"local","model_name":"golden","body":{"prompt":"a",`
	const penalties = `"repetition_penalty":1.1,"presence_penalty":1,"frequency_penalty":1,"repetition_penalties_include_prompt":true,` +
		`"use_multiplicative_presence_penalty":true,"use_multiplicative_frequency_penalty":false`
	return []string{
			golden + `"max_new_tokens":2,"temperature":0.5,"top_k":2,"top_p":0.5,"typical_p":1,"seed":1,"stop":["b"],"logit_bias":{"1":-3.5},"stream":null}}`,
			golden + `"best_of":2,"logprobs":2,"tokens":true,"return_full_text":true,"truncate":2,` + penalties + `}}`,
			golden + `"watermark":true},"ignore_unmapped":true}`,
			golden + `"watermark":false,"do_sample":null}}`,
			`{"model_family":"local","model_name":"golden","body":{"inputs":"a","stream":false},"ignore_unmapped":null}`,
			`{"model_family":"local","model_name":"gold-run","body":{"system":"a","messages":[{"role":"user","content":[{"type":"text","text":"b"}]}]}}`,
		}, []string{
			golden + `"watermark":true}}`, golden + `"top_p":"x"}}`, golden + `"top_p":2}}`, golden + `"schema":{}}}`, `{}`,
			`{"model_family":"local","model_name":"none","body":{}}`, `{"model_family":"none","model_name":"golden","body":{}}`,
		}
}

func callsInvoke() []call {
	list := []call{
		{"GET", "/ping", "", "", "", 200},
		{"GET", "/list_models", "", account.Monitor, "", 200},
	}
	good, bad := invokeBodies()
	for _, path := range []string{"/invoke", "/invoke_stream"} {
		for _, body := range slices.Concat(good, bad) {
			list = append(list, call{"POST", path, "", account.Client, body, 200})
		}
		list = append(list, call{"POST", path, "", account.Client, `[]`, 422}, call{"POST", path, "", account.Client, ``, 422})
	}
	return list
}

// callsClassifiers lists requests to classify texts, which the reranker does by its one label.
func callsClassifiers() []call {
	return []call{
		{"POST", "/classify", "", account.Client, `{"input":["a","the hen"],"truncate_prompt_tokens":9}`, 200},
		{"POST", "/classify", "", account.Client, `{"model":"encoder","input":"a"}`, 400},
		{"POST", "/v1/classify", "", account.Client, `{"model":"ranker","input":"a","use_activation":false,"user":"u"}`, 200},
		{"POST", "/predict", "", account.Client, `{"inputs":"a","raw_scores":true}`, 200},
		{"POST", "/predict", "", account.Client, `{"inputs":[["a"],["a","the hen"]],"truncate":true}`, 200},
		{"POST", "/predict", "", account.Client, `{"model":"golden","inputs":"a"}`, 424},
		{"POST", "/", "", account.Client, `{"inputs":["a","b"],"parameters":{"top_k":1,"function_to_apply":"none"}}`, 200},
	}
}
