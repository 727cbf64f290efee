package engine

import (
	"maps"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// taskPrompts are the names that models give their prompts for a task, the most common
// first. The first names of queries and documents are those of encode_query and
// encode_document of sentence-transformers.
var taskPrompts = map[llm.EmbedTask][]string{
	llm.EmbedQuery:     {"query", "search_query", "retrieval.query", "retrieval-query", "s2p_query"},
	llm.EmbedDocument:  {"document", "passage", "corpus", "search_document", "retrieval.passage", "retrieval-document"},
	llm.EmbedSymmetric: {"symmetric", "sts", "text-matching", "s2s_query"},
	llm.EmbedClassify:  {"classification"},
	llm.EmbedCluster:   {"clustering", "separation"},
}

// promptName returns the name of the prompt that req asks for; "" if there is none. A model
// without a prompt for the task treats the texts of all tasks alike, as in
// sentence-transformers.
func (e *Encoder) promptName(req *llm.EmbedRequest) (string, error) {
	if req.Task == "" {
		if req.PromptName == "" {
			return e.sentence.Prompt, nil
		}
		return req.PromptName, nil
	}
	names, ok := taskPrompts[req.Task]
	switch {
	case !ok:
		return "", invalid("task", "is not one of "+strings.Join(tasks(), ", "))
	case req.PromptName != "":
		return "", invalid("prompt_name", "cannot be combined with a task")
	}
	known := slices.Sorted(maps.Keys(e.sentence.Prompts))
	for _, want := range names {
		if i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, want) }); i >= 0 {
			return known[i], nil
		}
	}
	return e.sentence.Prompt, nil
}

// tasks lists the tasks.
func tasks() (list []string) {
	for task := range taskPrompts {
		list = append(list, string(task))
	}
	slices.Sort(list)
	return list
}
