package openai

import (
	"net/http"
	"strconv"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// serverInfo describes a model as Text Embeddings Inference does, which serves one. What there is no number
// for here, such as its limits of batches, is absent.
type serverInfo struct {
	Model     string    `json:"model_id" doc:"the model's name"`
	Version   string    `json:"model_sha,omitempty" doc:"a digest of the model's files"`
	Kind      modelKind `json:"model_type"`
	MaxInput  int       `json:"max_input_length,omitempty" doc:"the model's limit of a text, in tokens"`
	MaxInputs int       `json:"max_client_batch_size" doc:"the texts of a request"`
	Truncates bool      `json:"auto_truncate" doc:"always false: long texts are rejected unless truncate is sent"`
}

// modelKind has one of its members.
type modelKind struct {
	Embedding  *embeddingKind `json:"embedding,omitempty" doc:"of a model that embeds texts"`
	Classifier *labelMaps     `json:"classifier,omitempty" doc:"of a model that classifies texts"`
	Reranker   *labelMaps     `json:"reranker,omitempty" doc:"of a model that ranks documents"`
}

type embeddingKind struct {
	Pooling string `json:"pooling,omitempty" doc:"splade of a model with sparse embeddings only; otherwise absent" enum:"splade"`
}

// labelMaps are the labels of a classifier by their number, and the numbers by label.
type labelMaps struct {
	Labels  map[string]string `json:"id2label" doc:"the label of each number"`
	Numbers map[string]int    `json:"label2id" doc:"the number of each label"`
}

// newServerInfo translates the description of a model.
func newServerInfo(m *llm.ModelInfo) serverInfo {
	out := serverInfo{Model: m.Name, Version: m.Version, MaxInput: m.Context, MaxInputs: maxInputs}
	switch m.Task {
	case llm.TaskClassify:
		out.Kind.Classifier = newLabelMaps(m.Labels)
	case llm.TaskRerank:
		out.Kind.Reranker = newLabelMaps(m.Labels)
	default:
		out.Kind.Embedding = &embeddingKind{}
		if !embeds(llm.EmbedDense)(m) && embeds(llm.EmbedSparse)(m) {
			out.Kind.Embedding.Pooling = "splade"
		}
	}
	return out
}

func newLabelMaps(labels []string) *labelMaps {
	out := &labelMaps{map[string]string{}, map[string]int{}}
	for i, label := range labels {
		out.Labels[strconv.Itoa(i)], out.Numbers[label] = label, i
	}
	return out
}

// infoTable describes the query string of GET /info.
var infoTable = wire.For[modelKey](wire.Parameter{Name: "model", Absent: firstOfTexts, Note: modelNote})

// info describes the model that the query string names.
func (cfg Config) info(w http.ResponseWriter, r *http.Request) error {
	var in modelKey
	if err := httpx.DecodeQuery(r, infoTable, &in); err != nil {
		return err
	}
	model, err := cfg.openFirst(r.Context(), in.Model, readsTexts...)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newServerInfo(&model.ModelInfo))
}

var infoDoc = &httpx.Operation{
	ID: "serverInfo", Tag: tag, Summary: "Describe a model, in the protocol of Text Embeddings Inference",
	Query:   infoTable,
	Answers: []httpx.Answer{{Of: serverInfo{}}},
	Codes:   opening,
}
