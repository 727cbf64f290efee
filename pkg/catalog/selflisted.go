package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// selfListed returns the models whose records list them without a row of all-models, in the
// order of their keys: all of the family local, and those of remote records of one model.
func (s itemSet) selfListed() (list []model) {
	shared := s.shared()
	for _, key := range slices.Sorted(maps.Keys(s)) {
		family, name, _ := strings.Cut(key, "-")
		if rank(family) >= 0 && name != "" && s[key].single(family, name, shared[key]) {
			list = append(list, model{family, name})
		}
	}
	return list
}

// single reports whether a record describes only the model that its key names. A record may
// have an attribute for it. Otherwise it does if it names a model or an endpoint, if its key
// is the id or ARN of a model on Bedrock, or if its key may be the name of an endpoint on
// SageMaker. It does not if a row uses it as the record of a group.
func (it *item) single(family, name string, shared bool) bool {
	switch {
	case family == Local:
		return true
	case !printable(name):
		return false
	case it.listed != nil:
		return *it.listed
	case shared || family == OpenAI && it.upstream.URL == "":
		return false
	case it.targets():
		return true
	case slices.Contains(groups(), it.SK):
		return false
	case family == Bedrock:
		return callable(name) && strings.Contains(name, ".") || strings.HasPrefix(name, "arn:")
	}
	return callable(name)
}

// targets reports whether the item has the provider's name of one model.
func (it *item) targets() bool {
	return it.modelID != "" || it.endpoint != "" || it.component != "" || it.upstream.URL != ""
}

// row makes the row of a model whose record has none.
func (it *item) row(m model) Row {
	kind := cmp.Or(it.kind, alpha)
	if m.family != Local {
		kind = cmp.Or(it.kind, provider(m))
	}
	return Row{Type: kind, Name: m.name, Family: m.family, Streaming: it.streaming == nil || *it.streaming}
}

// provider returns the type of a model whose record has none: its provider on Bedrock, the
// kind of its container on SageMaker, or its family.
func provider(m model) string {
	name := m.name
	if m.family == Bedrock {
		name = bare(name)
	}
	if m.family == OpenAI {
		return m.family
	}
	if word, _, ok := strings.Cut(name, "."); ok && word != "" {
		return word
	}
	return m.family
}

// shared returns the keys of the records that rows use as those of groups: rows of longer
// names.
func (s itemSet) shared() map[string]bool {
	keys := map[string]bool{}
	for _, m := range s.rows() {
		own := m.name
		if m.family == Bedrock {
			own = bare(own)
		}
		if it := s.find(m.family, m.name); it != nil && it.SK != m.family+"-"+m.name && it.SK != m.family+"-"+own {
			keys[it.SK] = true
		}
	}
	return keys
}

// covers returns the record for a model that a client asks for and that is not listed, nil if
// there is none. Clients choose such names: without a record of that name, only ids are
// accepted, which contain neither a region nor an account.
func (s itemSet) covers(m model) *item {
	it, err := s.describe(Row{Family: m.family, Name: m.name})
	if it == nil || err != nil || m.family == OpenAI && it.upstream.URL == "" {
		return nil
	}
	id := m.family != Bedrock || strings.Contains(m.name, ".") || strings.HasPrefix(m.name, "arn:")
	switch own := it.SK == m.family+"-"+m.name; {
	case own && it.targets():
		return it
	case it.targets() || !id:
		return nil
	case own && slices.Contains(groups(), it.SK) || !own && !callable(m.name):
		return nil
	}
	return it
}

const maxName = 256 // bytes of the name of a model that no row lists

// callable reports whether name has the form of an id of Bedrock, or of an endpoint of
// SageMaker after the key of its record: letters and digits with separators between them, no
// character with a meaning in paths or on terminals.
//
// Source: Amazon Bedrock API Reference, InvokeModel, modelId; Amazon SageMaker API
// Reference, CreateEndpoint, EndpointName.
func callable(name string) bool {
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }
	if name == "" || len(name) > maxName || !letter(name[0]) || !letter(name[len(name)-1]) || strings.Contains(name, "..") {
		return false
	}
	for i := range len(name) {
		if !letter(name[i]) && strings.IndexByte("-._:", name[i]) < 0 {
			return false
		}
	}
	return true
}

// printable reports whether the name of a model can be shown.
func printable(name string) bool {
	return len(name) <= maxName && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// groups lists the keys of the embedded records that describe groups. In a table nothing else
// marks them.
func groups() []string {
	return []string{
		"bedrock-ai21", "bedrock-ai21.jamba", "bedrock-amazon", "bedrock-amazon.nova", "bedrock-amazon.nova-2", "bedrock-amazon.rerank",
		"bedrock-amazon.titan-embed-text", "bedrock-anthropic", "bedrock-anthropic.claude-instant", "bedrock-anthropic.claude-v2", "bedrock-cohere",
		"bedrock-cohere.command-r", "bedrock-cohere.embed", "bedrock-cohere.embed-v4", "bedrock-cohere.rerank", "bedrock-deepseek", "bedrock-meta", "bedrock-mistral", "bedrock-mistral.mistral-7b",
		"bedrock-mistral.mistral-large-2402", "bedrock-mistral.mistral-small-2402", "bedrock-mistral.mixtral",
		"bedrock-openai", "openai-chat", "openai-completions", "openai-embeddings", "openai-rerank", "openai-vllm", "sagemaker-lmi", "sagemaker-lmi-chat", "sagemaker-tei", "sagemaker-tei-rerank", "sagemaker-tgi", "sagemaker-tgi-chat",
	}
}
