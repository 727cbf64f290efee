package arch

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Classes are the labels of a classifier, and how its logits become scores. Source: transformers 5.23,
// TextClassificationPipeline.
type Classes struct {
	Labels   []string `json:"labels"`   // one for each logit, in their order
	Function Function `json:"function"` // of the logits
}

// A Function makes scores of logits.
type Function string

// The functions.
const (
	Softmax Function = "softmax"
	Sigmoid Function = "sigmoid"
	Logits  Function = "none" // scores are the logits
)

// maxLabels bounds the labels of a classifier.
const maxLabels = 1 << 14

// Ranks reports whether a model scores documents for a query: a classifier does so with one label.
func (r *Ranking) Ranks() bool { return r.Head == nil || r.Head.Out.Out == 1 }

// Labels returns the labels of a classifier. Files that were packed before they had them are of
// rerankers. A decoder has none.
func (r *Ranking) Labels() []string {
	switch {
	case r.Head == nil:
		return nil
	case r.Classes == nil:
		return []string{defaultLabel(0)}
	}
	return r.Classes.Labels
}

// Function returns how the logits of a classifier become scores.
func (r *Ranking) Function() Function {
	if r.Classes == nil {
		return Sigmoid
	}
	return r.Classes.Function
}

// classes reads the labels of a classifier.
func (c *config) classes() *Classes {
	labels := c.labels()
	return &Classes{Labels: labels, Function: c.function(len(labels))}
}

// defaultLabel returns the name of a label that has none.
func defaultLabel(i int) string { return "LABEL_" + strconv.Itoa(i) }

// labels returns the labels of a classifier. Without id2label they are numbered
// (transformers, PretrainedConfig).
func (c *config) labels() []string {
	name, byIndex, ok := read[map[string]json.RawMessage](c, "id2label", "object")
	n := len(byIndex)
	switch {
	case !ok:
		n = c.integer("num_labels", 2, 1, maxLabels)
	case n < 1 || n > maxLabels:
		c.reject(name, "%d labels are not in 1..%d", n, maxLabels)
		return nil
	}
	labels := make([]string, n)
	for i := range labels {
		if !ok {
			labels[i] = defaultLabel(i)
			continue
		}
		raw, has := byIndex[strconv.Itoa(i)]
		if !has {
			c.reject(name, "%d labels, but none for %d", n, i)
			return nil
		}
		if err := json.Unmarshal(raw, &labels[i]); err != nil || raw[0] != '"' {
			c.reject(name, "the label of %d, %.60s, is not a string", i, raw)
			return nil
		}
	}
	return labels
}

// function returns the function of a classifier's logits.
func (c *config) function(labels int) Function {
	switch kind := c.text("problem_type", ""); {
	case kind == "regression":
		return Logits
	case kind == "multi_label_classification" || labels == 1:
		return Sigmoid
	case kind != "" && kind != "single_label_classification":
		c.reject("problem_type", "%.40q is not one of regression, single_label_classification and multi_label_classification", kind)
	}
	return Softmax
}

// check rejects classes that do not fit the classifier.
func (c *Classes) check(r *Ranking) error {
	switch {
	case c == nil && r.Ranks():
		return nil
	case c == nil, len(c.Labels) != r.Head.Out.Out:
		return fmt.Errorf("%d labels for %d logits", len(r.Labels()), r.Head.Out.Out)
	case c.Function != Softmax && c.Function != Sigmoid && c.Function != Logits:
		return fmt.Errorf("the function %.40q is unknown", c.Function)
	}
	return nil
}
