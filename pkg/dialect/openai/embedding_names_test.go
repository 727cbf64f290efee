package openai

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Requests may have the keys of Jina's and Voyage's clients.
func TestEmbeddingNames(t *testing.T) {
	const (
		head = `200 {"object":"list","data":[{"object":"embedding","index":0,"embedding":`
		tail = `}],"model":"dense","usage":{"prompt_tokens":1,"total_tokens":1}}`
	)
	for body, want := range map[string]string{
		`"embedding_type":"float","late_chunking":false,"normalized":true,"task":"retrieval.query"`: head + `[0.6,0.8]` + tail,
		`"embedding_type":"base64"`:  head + `"mpkZP83MTD8="` + tail,
		`"embedding_type":"ubinary"`: head + `[192]` + tail,
		`"output_dtype":"binary","output_dimension":2,"truncation":true,"encoding_format":null`: head + `[64]` + tail,
		`"output_dtype":"int8"`:                              head + `[95,127]` + tail,
		`"output_dtype":"uint8","embedding_type":"uint8"`:    head + `[223,255]` + tail,
		`"output_dtype":"int8","encoding_format":"base64"`:   head + `"X38="` + tail,
		`"output_dtype":"binary","encoding_format":"base64"`: head + `"QA=="` + tail,
		`"encoding_type":"float"`:                            head + `[0.6,0.8]` + tail,
		`"encoding_type":"ubinary"`:                          head + `[192]` + tail,
		`"encoding_type":"int8","output_dtype":"int8"`:       head + `[95,127]` + tail,
		`"encoding_type":"int8","output_dtype":"float"`:      `400 {"error":{"message":"Invalid value for 'encoding_type': contradicts embedding_type or output_dtype"`,
		`"encoding_type":"int4"`:                             `400 {"error":{"message":"Invalid value for 'encoding_type': must be `,
		`"output_dtype":"float","encoding_format":"base64"`:  head + `"mpkZP83MTD8="` + tail,
		`"late_chunking":true`:                               `400 {"error":{"message":"Unsupported parameter 'late_chunking': each text is embedded by itself; only false is accepted"`,
		`"normalized":false`:                                 `400 {"error":{"message":"Unsupported parameter 'normalized': vectors have length 1; only true is accepted"`,
		`"output_dtype":"int8","embedding_type":"uint8"`:     `400 {"error":{"message":"Invalid value for 'output_dtype': contradicts embedding_type"`,
		`"output_dtype":"int8","type":"sparse"`:              `400 {"error":{"message":"Invalid value for 'embedding_type': is only accepted with type dense"`,
		`"output_dimension":3`:                               `400 {"error":{"message":"Unsupported parameter 'output_dimension': embeddings of this model have 2 dimensions`,
		`"output_dimension":2,"dimensions":3`:                `400 {"error":{"message":"Invalid value for 'output_dimension': contradicts dimensions"`,
		`"truncation":true,"truncate":false`:                 `400 {"error":{"message":"Invalid value for 'truncation': cannot be combined with truncate"`,
	} {
		h, _ := embedders()
		w := ask(h, "POST", "/v1/embeddings", `{"model":"dense","input":["a"],`+body+`}`)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	h, l := embedders()
	if w := ask(h, "POST", "/v1/embeddings", `{"model":"dense","input":["a"],"output_dimension":2,"truncation":true}`); w.Code != 200 || l.last.Dimensions != 2 || !l.last.Truncate {
		t.Errorf("%s, %+v", w.Body, l.last)
	}
	if w := ask(h, "POST", "/v1/embeddings", `{"model":"dense","input":["a"],"truncation":false}`); w.Code != 200 || l.last.Truncate {
		t.Errorf("%s, %+v", w.Body, l.last)
	}
}

var poolID = regexp.MustCompile(`pool-[0-9a-f]{24}`)

// Clients of vLLM get the vectors of tokens, or with the task embed those of texts.
func TestPooling(t *testing.T) {
	const (
		head = `200 {"id":"ID","object":"list","created":7,"model":"dense","data":[{"index":0,"object":"pooling","data":`
		tail = `,"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}`
	)
	for body, want := range map[string]string{
		`{"input":"ab"}`: head + `[[1,0],[0,1]]}]` + tail,
		`{"input":"ab","task":"token_embed","encoding_format":"base64"}`: head + `"AACAPwAAAAAAAAAAAACAPw=="}]` + tail,
		`{"input":["a"],"task":"embed","dimensions":2}`:                  head + `[0.6,0.8]}]` + tail,
		`{"input":["a"],"task":"embed","use_activation":false}`:          head + `[3,4]}]` + tail,
		`{"input":"a","task":"classify"}`:                                `400 {"error":{"message":"Invalid value for 'task': must be token_embed or embed, not \"classify\""`,
		`{"input":"a","dimensions":2}`:                                   `400 {"error":{"message":"Invalid value for 'dimensions': is only accepted with task embed"`,
		`{"input":"a","task":"embed","dimensions":3}`:                    `400 {"error":{"message":"Unsupported parameter 'dimensions'`,
		`{"input":"a","truncate_prompt_tokens":5}`:                       `400 {"error":{"message":"Invalid value for 'truncate_prompt_tokens': must be between -1 and 0`,
		`{"input":""}`:                   `400 {"error":{"message":"Invalid value for 'input': input 0 is an empty string"`,
		`{"messages":[],"input":"a"}`:    `400 {"error":{"message":"Unsupported parameter 'messages'`,
		`{"model":"ranker","input":"a"}`: `400 {"error":{"message":"Unsupported parameter 'model': ranker ranks documents (/v1/rerank) and has no embedder`,
	} {
		h, _ := embedders()
		w := ask(h, "POST", "/pooling", body)
		if got := poolID.ReplaceAllString(fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())), "ID"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	h, l := embedders()
	if w := ask(h, "POST", "/pooling", `{"input":"a","truncate_prompt_tokens":-1}`); w.Code != 200 || !l.last.Truncate || l.last.MaxValues != maxValues {
		t.Errorf("%s, %+v", w.Body, l.last)
	}
}
