package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// rerankRequest is the body of POST /rerank in the protocols of Cohere, Jina, vLLM and Voyage, and
// with texts in that of Text Embeddings Inference.
type rerankRequest struct {
	modelKey
	voyageKeys
	Query                string          `json:"query"`
	Documents            json.RawMessage `json:"documents"` // texts, or objects with a text
	Texts                []string        `json:"texts"`
	TopN                 *int            `json:"top_n"`
	ReturnDocuments      *bool           `json:"return_documents"`
	MaxTokensPerDoc      *int            `json:"max_tokens_per_doc"`
	TruncatePromptTokens *int            `json:"truncate_prompt_tokens"`
	UseActivation        *bool           `json:"use_activation"`
	RawScores            bool            `json:"raw_scores"`
	ReturnText           bool            `json:"return_text"`
	Truncate             bool            `json:"truncate"`
	TruncationDirection  json.RawMessage `json:"truncation_direction"`
	RankFields           json.RawMessage `json:"rank_fields"`
	MaxChunksPerDoc      json.RawMessage `json:"max_chunks_per_doc"`
	RelevantSpans        json.RawMessage `json:"relevant_spans"`
	Priority             *int            `json:"priority"`
	User                 string          `json:"user"`
}

// documents has the texts of the documents of a request, and what to return of each.
type documents struct {
	texts  []string
	echoes []json.RawMessage
}

// document is a document that is an object. Its other members are returned with it.
type document struct {
	Text   *string  `json:"text"`
	Others struct{} `json:"-"`
}

// rerankAnswer has the keys of all protocols whose answers are objects, without Voyage's.
type rerankAnswer struct {
	ID      string         `json:"id" doc:"the id of the answer"`
	Model   string         `json:"model" doc:"the model's name, even if the request used an alias"`
	Results []rerankResult `json:"results" doc:"the most relevant document first; documents of the same score in their order"`
	Meta    rerankMeta     `json:"meta"`
	Usage   *rerankUsage   `json:"usage,omitempty"` // absent if a remote provider omits the count
}

type rerankResult struct {
	Index    int             `json:"index" doc:"position of the document in the request"`
	Score    float64         `json:"relevance_score" doc:"the relevance; for most models between 0 and 1"`
	Document json.RawMessage `json:"document,omitempty" doc:"the document as an object with its text; absent with return_documents false"`
}

type rerankMeta struct {
	Version  apiVersion    `json:"api_version"`
	Billed   billedUnits   `json:"billed_units"`
	Tokens   *rerankTokens `json:"tokens,omitempty"` // as usage
	Warnings []string      `json:"warnings,omitempty" doc:"present if documents were cut"`
}

type apiVersion struct {
	Version string `json:"version" doc:"2 for paths that begin with /v2/, otherwise 1"`
}

type billedUnits struct {
	SearchUnits int `json:"search_units" doc:"one for each 100 documents"`
}

type rerankTokens struct {
	Input  int `json:"input_tokens" doc:"tokens of all pairs of the query and a document"`
	Output int `json:"output_tokens" doc:"always 0"`
}

type rerankUsage struct {
	Prompt     int      `json:"prompt_tokens" doc:"tokens of all pairs"`
	Completion int      `json:"completion_tokens" doc:"always 0"`
	Total      int      `json:"total_tokens" doc:"the same as prompt_tokens"`
	Cost       llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// textScore is a result in the protocol of Text Embeddings Inference.
type textScore struct {
	Index int     `json:"index" doc:"position of the text in the request"`
	Score float64 `json:"score" doc:"the relevance, between 0 and 1; with raw_scores, the model's logit"`
	Text  *string `json:"text,omitempty" doc:"the text, with return_text"`
}

// request translates a request to rank documents.
func (q *rerankRequest) request() (*llm.RerankRequest, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	docs, err := q.documents()
	if err != nil {
		return nil, err
	}
	req := &llm.RerankRequest{Truncate: !isFalse(q.Truncation), MaxDocument: value(q.MaxTokensPerDoc), MaxPair: max(0, value(q.TruncatePromptTokens))}
	req.Logits = q.RawScores || isFalse(q.UseActivation)
	if q.Texts != nil {
		req.Truncate = q.Truncate
	}
	for _, text := range docs.texts {
		req.Pairs = append(req.Pairs, llm.Pair{Query: q.Query, Document: text})
	}
	return req, nil
}

// value returns what a pointer leads to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// check rejects keys that are of the other protocol.
func (q *rerankRequest) check() error {
	const only = "is only accepted with "
	for _, each := range []struct {
		key   string
		sent  bool
		texts bool // the key belongs to texts
	}{
		{"raw_scores", q.RawScores, true},
		{"return_text", q.ReturnText, true},
		{"truncate", q.Truncate, true},
		{"return_documents", q.ReturnDocuments != nil, false},
		{"use_activation", q.UseActivation != nil, false},
		{"top_k", q.TopK != nil, false},
		{"truncation", q.Truncation != nil, false},
	} {
		switch {
		case each.sent && each.texts && q.Texts == nil:
			return wire.Invalid(each.key, only+"texts")
		case each.sent && !each.texts && q.Texts != nil:
			return wire.Invalid(each.key, only+"documents")
		}
	}
	if q.TopK != nil && q.TopN != nil {
		return wire.Invalid("top_k", "cannot be combined with top_n")
	}
	return nil
}

// documents reads documents or texts.
func (q *rerankRequest) documents() (out documents, err error) {
	if absent := len(q.Documents) == 0 || string(q.Documents) == "null"; q.Texts != nil {
		if !absent {
			return out, wire.Invalid("texts", "either documents or texts is accepted")
		}
		out.texts = q.Texts
		return out, out.check("texts")
	} else if absent {
		return out, wire.Invalid("documents", "is required")
	}
	var list []json.RawMessage // not q.Documents at first: decoding would overwrite it
	switch q.Documents[0] {
	case '"':
		list = append(list, q.Documents)
	case '[':
		if err := json.Unmarshal(q.Documents, &list); err != nil {
			return out, err
		}
	default:
		return out, wire.Invalid("documents", "must be an array of strings or of objects with text")
	}
	if len(list) > maxDocuments {
		return out, wire.Invalid("documents", "at most %d documents", maxDocuments)
	}
	for i, raw := range list {
		text, echo, err := readDocument(fmt.Sprintf("documents[%d]", i), raw)
		if err != nil {
			return out, err
		}
		out.texts, out.echoes = append(out.texts, text), append(out.echoes, echo)
	}
	return out, out.check("documents")
}

// check rejects a list that is empty or too long.
func (d *documents) check(key string) error {
	switch n := len(d.texts); {
	case n == 0:
		return wire.Invalid(key, "at least one document is required")
	case n > maxDocuments:
		return wire.Invalid(key, "at most %d documents", maxDocuments)
	}
	return nil
}

// readDocument returns the text of a document, and the document as an object.
func readDocument(path string, raw json.RawMessage) (text string, echo json.RawMessage, err error) {
	switch raw[0] {
	case '"':
		if err = wire.UnmarshalAt(path, raw, &text); err == nil {
			echo = slices.Concat([]byte(`{"text":`), raw, []byte("}"))
		}
		return text, echo, err
	case '{':
		var d document
		if err := json.Unmarshal(raw, &d); err != nil || d.Text == nil {
			return "", nil, wire.Invalid(path, "must have the key text with a string")
		}
		return *d.Text, raw, nil
	}
	return "", nil, wire.Invalid(path, "must be a string or an object with text")
}

// order returns the positions of scores, the largest first, at most as many as the request asks for.
func (q *rerankRequest) order(scores []llm.Relevance) []int {
	places := make([]int, len(scores))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b].Score, scores[a].Score), a-b) })
	if n := value(cmp.Or(q.TopN, q.TopK)); n > 0 {
		places = places[:min(n, len(places))]
	}
	return places
}

// answer translates the scores of documents for the protocols whose answers are objects.
func (q *rerankRequest) answer(model, version string, scores []llm.Relevance, used llm.Usage) rerankAnswer {
	out := rerankAnswer{
		ID: openaiapi.NewID("rerank-"), Model: model, Results: []rerankResult{}, Usage: newRerankUsage(used),
		Meta: rerankMeta{
			Version: apiVersion{version}, Billed: billedUnits{(len(scores) + 99) / 100},
			Warnings: cutWarnings(scores),
		},
	}
	if !used.Partial {
		out.Meta.Tokens = &rerankTokens{Input: used.Input}
	}
	docs, _ := q.documents() // they were read before
	echo := version != "2"   // Cohere's second version returns no documents
	if q.ReturnDocuments != nil {
		echo = *q.ReturnDocuments
	}
	for _, i := range q.order(scores) {
		result := rerankResult{Index: i, Score: finalScore(scores[i], q.UseActivation)}
		if echo {
			result.Document = docs.echoes[i]
		}
		out.Results = append(out.Results, result)
	}
	return out
}

// isFalse reports whether a client sent false.
func isFalse(v *bool) bool { return v != nil && !*v }

// finalScore returns the score that a client of vLLM asked for.
func finalScore(r llm.Relevance, activated *bool) float64 {
	if isFalse(activated) {
		return r.Logit
	}
	return r.Score
}

// newRerankUsage returns nil if not all tokens are known.
func newRerankUsage(used llm.Usage) *rerankUsage {
	if used.Partial {
		return nil
	}
	return &rerankUsage{Prompt: used.Input, Total: used.Input, Cost: used.Cost}
}

// maxNamed bounds the documents that a warning names.
const maxNamed = 10

// cutWarnings says which documents were not read to their end.
func cutWarnings(scores []llm.Relevance) []string {
	var cut []int
	for i, r := range scores {
		if r.Cut {
			cut = append(cut, i)
		}
	}
	switch n := len(cut); {
	case n == 0:
		return nil
	case n > maxNamed:
		return []string{fmt.Sprintf("%d documents were cut to the maximum length, the first of them %v", n, cut[:maxNamed])}
	}
	return []string{fmt.Sprintf("documents %v were cut to the maximum length", cut)}
}

// textScores translates scores into the protocol of Text Embeddings Inference.
func (q *rerankRequest) textScores(scores []llm.Relevance) []textScore {
	out := []textScore{}
	for _, i := range q.order(scores) {
		score := textScore{Index: i, Score: scores[i].Logit}
		switch {
		case math.IsNaN(score.Score): // of a remote provider
			score.Score = scores[i].Score
		case !q.RawScores:
			score.Score = 1 / (1 + math.Exp(-score.Score))
		}
		if q.ReturnText {
			score.Text = &q.Texts[i]
		}
		out = append(out, score)
	}
	return out
}

// scoreRequest is the body of POST /v1/score, in vLLM's protocol.
type scoreRequest struct {
	modelKey
	Text1                wire.Many[string] `json:"text_1"`
	Text2                wire.Many[string] `json:"text_2"`
	Queries              wire.Many[string] `json:"queries"`
	Documents            wire.Many[string] `json:"documents"`
	TruncatePromptTokens *int              `json:"truncate_prompt_tokens"`
	UseActivation        *bool             `json:"use_activation"`
	Priority             *int              `json:"priority"`
	User                 string            `json:"user"`
}

type scoreAnswer struct {
	ID      string        `json:"id" doc:"the id of the answer"`
	Object  string        `json:"object" doc:"always list" enum:"list"`
	Created int64         `json:"created" doc:"seconds since 1970"`
	Model   string        `json:"model" doc:"the model's name, even if the request used an alias"`
	Data    []scoreObject `json:"data" doc:"one for each pair"`
	Usage   *rerankUsage  `json:"usage,omitempty"` // absent if a remote provider omits the count
}

type scoreObject struct {
	Index  int     `json:"index" doc:"position of the pair"`
	Object string  `json:"object" doc:"always score" enum:"score"`
	Score  float64 `json:"score" doc:"the relevance; for most models between 0 and 1"`
}

// otherTexts maps the key of the second texts to that of the first ones.
var otherTexts = map[string]string{"text_2": "text_1", "documents": "queries"}

// texts returns the texts of both sides, and the key of the second one.
func (q *scoreRequest) texts() (first, second []string, key string) {
	if q.Queries.Values != nil || q.Documents.Values != nil {
		return q.Queries.Values, q.Documents.Values, "documents"
	}
	return q.Text1.Values, q.Text2.Values, "text_2"
}

// request translates a request to score pairs: one text with each of several, or several with
// as many.
func (q *scoreRequest) request() (*llm.RerankRequest, error) {
	if (q.Text1.Values != nil || q.Text2.Values != nil) && (q.Queries.Values != nil || q.Documents.Values != nil) {
		return nil, wire.Invalid("queries", "either text_1 and text_2 or queries and documents are accepted")
	}
	first, second, key := q.texts()
	other := otherTexts[key]
	switch {
	case len(first) == 0:
		return nil, wire.Invalid(other, "at least one text is required")
	case len(second) == 0:
		return nil, wire.Invalid(key, "at least one text is required")
	case len(second) > maxDocuments:
		return nil, wire.Invalid(key, "at most %d texts", maxDocuments)
	case len(first) != 1 && len(first) != len(second):
		return nil, wire.Invalid(other, "must be one text or as many as in %s, %d, not %d", key, len(second), len(first))
	}
	req := &llm.RerankRequest{Logits: isFalse(q.UseActivation), Truncate: q.TruncatePromptTokens != nil, MaxPair: max(0, value(q.TruncatePromptTokens))}
	for i, text := range second {
		req.Pairs = append(req.Pairs, llm.Pair{Query: first[min(i, len(first)-1)], Document: text})
	}
	return req, nil
}

// answer translates the scores of pairs.
func (q *scoreRequest) answer(model string, created int64, scores []llm.Relevance, used llm.Usage) scoreAnswer {
	out := scoreAnswer{ID: openaiapi.NewID("score-"), Object: "list", Created: created, Model: model, Usage: newRerankUsage(used)}
	for i, r := range scores {
		out.Data = append(out.Data, scoreObject{Index: i, Object: "score", Score: finalScore(r, q.UseActivation)})
	}
	return out
}
