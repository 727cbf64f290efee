package openai

import (
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/wire"
)

// maxDocuments bounds the documents of a request.
const maxDocuments = 2048

// rerankTable describes the body of POST /rerank.
var rerankTable = wire.For[rerankRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: firstReranker, Note: modelNote},
		{Name: "query", Required: true, Note: "the text that the documents are compared with"},
		{Name: "documents", Schema: documentsSchema(), Note: "up to 2048 documents: texts, or objects with text, whose other members are returned and not ranked; required without texts"},
		{Name: "top_n", Bounds: wire.AtLeast(0), Absent: "all", Note: "the number of results; 0 is all"},
		{Name: "return_documents", Absent: "true, but false in /v2/rerank", Note: "whether results contain the documents"},
		{Name: "max_tokens_per_doc", Bounds: wire.AtLeast(1), Absent: "as many as the model reads", Remote: wire.ByRecord, Note: "longer documents are cut to this number of tokens"},
		{Name: "texts", Count: wire.AtMost(maxDocuments), Noun: "text", Note: "the documents in the protocol of Text Embeddings Inference, whose answer is a list"},
		{Name: "raw_scores", Default: false, Remote: wire.ByRecord, Note: "whether scores are logits; only of texts"},
		{Name: "return_text", Default: false, Note: "whether results contain the texts; only of texts"},
		{Name: "truncate", Default: false, Remote: "as the model does: some always cut, and false is unsupported", Note: "whether to cut texts that are too long, instead of rejecting them; documents are always cut, with a warning in meta"},
		{Name: "truncation_direction", Disposition: wire.Refused, Note: "texts are cut at their end", Neutral: []string{`"right"`, `"Right"`}},
		{Name: "rank_fields", Disposition: wire.Refused, Note: "the key of a document's text is text", Neutral: []string{`["text"]`}},
		{Name: "max_chunks_per_doc", Disposition: wire.Refused, Note: "a document is read at once, up to max_tokens_per_doc"},
		{Name: "relevant_spans", Disposition: wire.Refused, Note: "documents are scored as a whole"},
	},
	voyageRows(),
	pairRows(),
)...)

// scoreTable describes the body of POST /v1/score.
var scoreTable = wire.For[scoreRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: firstReranker, Note: modelNote},
		{Name: "text_1", Note: "a text, or as many as in text_2"},
		{Name: "text_2", Count: wire.AtMost(maxDocuments), Noun: "text", Note: "the texts to score"},
		{Name: "queries", Note: "another name of text_1"},
		{Name: "documents", Count: wire.AtMost(maxDocuments), Noun: "text", Note: "another name of text_2"},
	},
	pairRows(),
)...)

const firstReranker = "the first reranker in the list, or else the first embedder"

// pairRows describe the keys that both requests have.
func pairRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "truncate_prompt_tokens", Bounds: wire.AtLeast(-1), Absent: "the model's length", Remote: wire.ByRecord, Note: "cuts each pair to this number of tokens; 0 and -1 are the model's length"},
		{Name: "use_activation", Default: true, Remote: wire.ByRecord, Note: "false returns the model's logits"},
		{Name: "priority", Disposition: wire.NoEffect, Note: "requests are answered in a fair order"},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
	}
}

// documentsSchema describes documents.
func documentsSchema() *wire.Schema {
	text, object := wire.Types("string"), wire.Types("object")
	object.Properties, object.Required = []wire.Property{{Name: "text", Schema: text}}, []string{"text"}
	return some(wire.AnyOf(text, object), maxDocuments)
}

// RerankParameters describes the keys of a request to rank documents.
func RerankParameters() []wire.Parameter { return rerankTable.Parameters("") }

// ScoreParameters describes the keys of a request to score pairs.
func ScoreParameters() []wire.Parameter { return scoreTable.Parameters("") }

var rerankDoc = &httpx.Operation{
	ID: "rerank", Tag: tag, Summary: "Rank documents by their relevance for a query",
	Description: documentsNote,
	Body:        rerankTable,
	Example:     `{"query": "Which animal purrs?", "documents": ["Dogs bark.", "Cats purr."], "top_n": 1}`,
	Answers:     []httpx.Answer{{Of: rerankAnswer{}}, {Of: voyageAnswer{}}},
}

const documentsNote = "The keys are those of Cohere, Jina, vLLM and Voyage. With top_k or truncation, the answer is Voyage's."

var rerankTextsDoc = &httpx.Operation{
	ID: "rerankTexts", Tag: tag, Summary: "Rank texts, in the protocol of Text Embeddings Inference",
	Description: "With texts instead of documents, the answer is a list, and errors have the statuses and the shape of that server.",
	Body:        rerankTable,
	Example:     `{"query": "Which animal purrs?", "texts": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: []textScore{}}},
}

// rerankAliasDoc documents paths on which errors do not depend on the body.
var rerankAliasDoc = &httpx.Operation{
	Tag: tag, Description: documentsNote + " With texts instead of documents, the answer is a list, as that of Text Embeddings Inference.",
	Body: rerankTable, Example: rerankDoc.Example,
	Answers: append(rerankDoc.Answers, rerankTextsDoc.Answers...),
}

var scoreDoc = &httpx.Operation{
	ID: "score", Tag: tag, Summary: "Score pairs of texts, in vLLM's protocol",
	Description: "A text is paired with each of several, or several with as many. A pair that is too long is rejected, unless truncate_prompt_tokens is sent.",
	Body:        scoreTable,
	Example:     `{"text_1": "Which animal purrs?", "text_2": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: scoreAnswer{}}},
}
