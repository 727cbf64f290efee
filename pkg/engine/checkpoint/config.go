package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Upper bounds of a configuration. They are far above any Alpha model and keep all
// products of dimensions within an int.
const (
	maxVocab   = 1 << 20
	maxBlock   = 1 << 20
	maxLayers  = 1 << 10
	maxEmbd    = 1 << 16
	maxFFN     = 1 << 18
	maxSoftCap = 1e6
)

// Validate reports the first field that is out of range.
func (c *ModelConfig) Validate() error {
	if err := c.validateFields(); err != nil {
		return err
	}
	if c.Activation() == Composed {
		return validateGraph(c.ActivationGraph)
	}
	return nil
}

// validateFields checks everything except the activation graph, which a file may store
// separately.
func (c *ModelConfig) validateFields() error {
	for _, f := range []struct {
		name       string
		value      int
		least, top int
	}{
		{"vocabSize", c.VocabSize, 1, maxVocab},
		{"blockSize", c.BlockSize, 1, maxBlock},
		{"nLayer", c.NLayer, 1, maxLayers},
		{"nEmbd", c.NEmbd, 1, maxEmbd},
		{"nHead", c.NHead, 1, maxEmbd},
		{"ffnDim", c.FFNDim, 0, maxFFN},
	} {
		if f.value < f.least || f.value > f.top {
			return fmt.Errorf("%s: %d is not in %d..%d", f.name, f.value, f.least, f.top)
		}
	}
	if c.NEmbd%c.NHead != 0 {
		return fmt.Errorf("nHead: %d does not divide nEmbd %d", c.NHead, c.NEmbd)
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		return fmt.Errorf("dropout: %v is not in [0, 1)", c.Dropout)
	}
	if s := c.SoftCap; s != nil && !(*s >= 0 && *s <= maxSoftCap) {
		return fmt.Errorf("softCap: %v is not in [0, %v]", *s, float64(maxSoftCap))
	}
	switch c.Activation() {
	case GELU, SiLU, ReLU, SwiGLU, Universal, KANSpline, Composed:
		return nil
	}
	return fmt.Errorf("ffnActivation: %.40q is unknown", c.FFNActivation)
}

func validateGraph(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return errors.New("activationGraph: required for ffnActivation composed")
	}
	var g graph
	if err := json.Unmarshal(raw, &g); err != nil {
		return fmt.Errorf("activationGraph: %w", err)
	}
	nodes := maxGraphNodes
	if err := g.validate(&nodes, maxGraphDepth); err != nil {
		return fmt.Errorf("activationGraph: %w", err)
	}
	return nil
}

// Bounds of a composed activation.
const (
	maxGraphDepth = 32
	maxGraphNodes = 256
)

// graph is a node of a composed activation. The operation of a basis node is not checked:
// upstream treats an unknown one as gelu.
type graph struct {
	Type   string  `json:"type"`
	Op     string  `json:"op"`
	Factor float64 `json:"factor"`
	Child  *graph  `json:"child"`
	Left   *graph  `json:"left"`
	Right  *graph  `json:"right"`
}

// validate checks the tree under g, nil included, within a budget of nodes.
func (g *graph) validate(nodes *int, depth int) error {
	if g == nil {
		return errors.New("a node lacks its child")
	}
	if *nodes--; *nodes < 0 || depth == 0 {
		return fmt.Errorf("more than %d nodes or %d levels", maxGraphNodes, maxGraphDepth)
	}
	switch g.Type {
	case "basis":
		return nil
	case "scale":
		if math.Abs(g.Factor) > math.MaxFloat32 {
			return fmt.Errorf("factor %v is beyond float32", g.Factor)
		}
		return g.Child.validate(nodes, depth-1)
	case "add", "mul":
		if err := g.Left.validate(nodes, depth-1); err != nil {
			return err
		}
		return g.Right.validate(nodes, depth-1)
	}
	return fmt.Errorf("node type %.40q is unknown", g.Type)
}

// decodeConfig reads modelConfig and validates everything except the activation graph.
func decodeConfig(raw json.RawMessage) (ModelConfig, error) {
	var c ModelConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("modelConfig: %w", err)
	}
	if string(c.ActivationGraph) == "null" {
		c.ActivationGraph = nil
	}
	if err := c.validateFields(); err != nil {
		return c, fmt.Errorf("modelConfig: %w", err)
	}
	return c, nil
}
