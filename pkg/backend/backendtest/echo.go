package backendtest

import "encoding/json"

// fail plays the failure that the prompt names.
func fail(prompt any, w *Reply) bool {
	switch prompt {
	case "throttle me":
		w.Header().Set("Retry-After", "30") // longer than clients wait
		w.Fail(429, "ThrottlingException", `{"message":"Too many requests, please wait before trying again."}`)
	case "refuse":
		w.Fail(400, "ValidationException", `{"message":"prompt must start with \"\n\nHuman:\" turn"}`)
	case "fail":
		w.Fail(424, "ModelError", `{"OriginalStatusCode":500,"OriginalMessage":"CUDA out of memory","Message":"Received server error (500) from primary"}`)
	default:
		return false
	}
	return true
}

// Claude echoes the prompt as Claude 2 does on Bedrock.
func Claude(_ int, r *Request, w *Reply) {
	asked, _ := json.Marshal(r.Body)
	text, _ := json.Marshal(" You sent " + string(asked))
	switch {
	case fail(r.Body["prompt"], w):
	case r.Body["prompt"] == "break off":
		w.Event(`{"completion":" You","stop_reason":null,"stop":null}`)
		w.Exception("modelStreamErrorException", `{"message":"The model ended unexpectedly"}`)
	case r.Stream:
		w.Event(`{"completion":` + string(text) + `,"stop_reason":null,"stop":null}`)
		w.Event(`{"completion":"","stop_reason":"stop_sequence","stop":"\n\nHuman:","amazon-bedrock-invocationMetrics":{"inputTokenCount":12,"outputTokenCount":34}}`)
	default:
		w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "12")
		w.Header().Set("X-Amzn-Bedrock-Output-Token-Count", "34")
		w.Whole(`{"completion":` + string(text) + `,"stop_reason":"stop_sequence","stop":"\n\nHuman:"}`)
	}
}

// TGI echoes the prompt as Text Generation Inference does.
func TGI(_ int, r *Request, w *Reply) {
	asked, _ := json.Marshal(r.Body)
	text, _ := json.Marshal("You sent " + string(asked))
	switch {
	case fail(r.Body["inputs"], w):
	case r.Stream:
		w.Event(`data:{"index":1,"token":{"id":887,"text":"You","logprob":-0.25,"special":false},"generated_text":null,"details":null}`)
		w.Event(`data:{"index":2,"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true},"generated_text":"You","details":{"finish_reason":"eos_token","generated_tokens":2,"seed":null}}`)
	default:
		w.Whole(`[{"generated_text":` + string(text) + `,"details":{"finish_reason":"length","generated_tokens":3,"seed":7}}]`)
	}
}
