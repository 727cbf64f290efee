package openai

import (
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// voyageKeys are keys of Voyage's clients that no other protocol has. A request with one of them gets
// Voyage's answer.
type voyageKeys struct {
	TopK       *int  `json:"top_k"`
	Truncation *bool `json:"truncation"`
}

// isVoyage reports whether a request has one of the keys.
func (k voyageKeys) isVoyage() bool { return k.TopK != nil || k.Truncation != nil }

// voyageRows describe them.
func voyageRows() []wire.Parameter {
	const answer = "; sent by Voyage's clients, which get the answer of that protocol"
	return []wire.Parameter{
		{Name: "top_k", Bounds: wire.AtLeast(0), Absent: "all", Note: "the same as top_n" + answer},
		{Name: "truncation", Absent: "true", Remote: "as the model does: some always cut, and false is unsupported", Note: "false rejects documents that are too long" + answer},
	}
}

// voyageAnswer is an answer in Voyage's protocol.
type voyageAnswer struct {
	Object   string         `json:"object" doc:"always list" enum:"list"`
	Data     []voyageResult `json:"data" doc:"the most relevant document first; documents of the same score in their order"`
	Model    string         `json:"model" doc:"the model's name, even if the request used an alias"`
	Usage    *rerankUsage   `json:"usage,omitempty"` // absent if a remote provider omits the count
	Warnings []string       `json:"warnings,omitempty" doc:"present if documents were cut"`
}

type voyageResult struct {
	Index    int     `json:"index" doc:"position of the document in the request"`
	Score    float64 `json:"relevance_score" doc:"the relevance; for most models between 0 and 1"`
	Document *string `json:"document,omitempty" doc:"the text of the document, with return_documents"`
}

// voyageAnswer translates the scores of documents for Voyage's clients.
func (q *rerankRequest) voyageAnswer(model string, scores []llm.Relevance, used llm.Usage) voyageAnswer {
	out := voyageAnswer{Object: "list", Data: []voyageResult{}, Model: model, Usage: newRerankUsage(used), Warnings: cutWarnings(scores)}
	docs, _ := q.documents() // they were read before
	for _, i := range q.order(scores) {
		result := voyageResult{Index: i, Score: finalScore(scores[i], q.UseActivation)}
		if value(q.ReturnDocuments) {
			result.Document = &docs.texts[i]
		}
		out.Data = append(out.Data, result)
	}
	return out
}
