package arch

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/dtype"
)

const (
	modelOptMethod = "modelopt"
	// modelOptFile has the settings of older exports, whose config.json has none.
	modelOptFile = "hf_quant_config.json"
)

// modelOptAlgorithms are those that are read. Whether inputs are quantised too makes no difference to weights.
var modelOptAlgorithms = []string{"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "MIXED_PRECISION", "NVFP4", "W4A16_NVFP4"}

// modelOpt is the method of NVIDIA's ModelOpt: NVFP4, or E4M3 with a scale of the matrix or of each row.
// In mixed precision each layer has one of them: its tensors tell which.
//
// Source: ModelOpt, torch/quantization/qtensor and torch/export.
func modelOpt(q *config) *scheme {
	q.checkAlgorithm()
	if layers := q.object("quantized_layers"); layers != nil {
		for _, name := range slices.Sorted(maps.Keys(layers.fields)) {
			if layer := layers.object(name); layer != nil {
				layer.checkAlgorithm()
			}
		}
	}
	return &scheme{marks: []string{"_scale"}, unread: activationScales, weight: (*parts).modelOpt}
}

// checkAlgorithm rejects other algorithms, and NVFP4 with other blocks.
func (c *config) checkAlgorithm() {
	name := c.text("quant_algo", "")
	if !slices.Contains(modelOptAlgorithms, name) {
		c.reject("quant_algo", "%.40q is not supported, only %s", name, strings.Join(modelOptAlgorithms, ", "))
	}
	if strings.Contains(name, "NVFP4") {
		c.require([]requiredValue{{"group_size", "16"}})
	}
}

// modelOpt returns a weight.
func (p *parts) modelOpt() *dequantised {
	codes := p.find("")
	if codes == nil {
		return nil
	}
	switch codes.Type {
	case dtype.F8E4M3:
		return p.fp8(tile{}, tile{1, 0})
	case dtype.U8:
		w, g := p.microscaled(p.stem, nvfp4, codes, p.mark, dtype.F8E4M3)
		if global := p.need("_scale_2"); w != nil && global != nil {
			p.globalScale(g, global, func(scale, global float32) float32 { return scale * global })
		}
		return w
	}
	p.fail(codes, "type %s, but %s is a scale of %s or of FP4 in %s", codes.Type, p.mark.Name, dtype.F8E4M3, dtype.U8)
	return nil
}

// withModelOpt returns a configuration with the settings of ModelOpt's older exports, which are in a file beside it.
func withModelOpt(fsys fs.FS, p *location, raw []byte) ([]byte, error) {
	c, err := parseConfig(raw)
	if err != nil || c.has("quantization quantization_config") {
		return raw, nil // the reader of raw returns the error
	}
	older, err := readConfig(fsys, p.in(modelOptFile), maxConfigFile)
	if err != nil {
		return raw, err
	}
	q := older.object("quantization")
	if *older.err != nil {
		return raw, fmt.Errorf("%s: %w", p.in(modelOptFile), *older.err)
	}
	if q == nil || !q.has("quant_algo") {
		return raw, nil
	}
	c.fields["quantization_config"] = older.fields["quantization"]
	return json.Marshal(c.fields)
}
