package llm

import "context"

// A Classifier scores texts by the labels that it was trained for, such as sentiments or topics.
type Classifier interface {
	// Classify returns the scores of each input. Usage counts the tokens of all inputs. The error
	// of an input that is too long names inputs[i], or inputs if there is only one.
	Classify(ctx context.Context, req *ClassifyRequest) ([]Classification, Usage, error)
}

// A ClassifyRequest asks for the scores of inputs.
type ClassifyRequest struct {
	Inputs    []ClassifyInput
	Function  ScoreFunction // of the logits; "": that of the model's files
	MaxInput  int           // the length of an input in tokens, if it is less than the model's; 0: the model's
	Truncate  bool          // a longer input is cut to that length, not rejected
	MaxScores int           // more scores of all inputs are rejected before they are computed; 0: there is no limit
}

// A ClassifyInput is a text, or two that are classified together, such as a premise and a hypothesis.
type ClassifyInput struct {
	Text   string
	Second *string // nil: there is one text
}

// A ScoreFunction makes scores of a classifier's logits.
type ScoreFunction string

// The functions of scores.
const (
	ScoreSoftmax ScoreFunction = "softmax" // probabilities of labels of which one applies
	ScoreSigmoid ScoreFunction = "sigmoid" // the probability of each label by itself
	ScoreNone    ScoreFunction = "none"    // the logits
)

// A Classification has the scores of an input.
type Classification struct {
	Labels []string  // of the model, the same for all inputs; it must not be changed
	Scores []float64 // one for each label
	Tokens int       // of the input, as the model read it
	Cut    bool      // the model did not read all of the input
}
