// Package checkpointtest holds a tiny invented checkpoint with known logits, for tests of
// packages that read, run or serve checkpoints. It does not know how the logits are
// computed.
//
// Source: invented for this project; its logits were confirmed with upstream's code.
package checkpointtest

import (
	"encoding/json"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// Golden returns a new copy of the checkpoint: 3 tokens, 4 positions, width 4, 2
// heads, 1 layer, separate wq/wk/wv, a char tokenizer, step 7. Element i of tensor
// t is g = ((7i+3t) mod 11 - 5)/10, for names that end in "weight" 1 + g/10.
func Golden() *checkpoint.Alpha {
	c := checkpoint.ModelConfig{VocabSize: 3, BlockSize: 4, NLayer: 1, NEmbd: 4, NHead: 2}
	a := &checkpoint.Alpha{
		ModelConfig:    c,
		ModelConfigRaw: json.RawMessage(`{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0}`),
		Params:         map[string]checkpoint.Tensor{},
		Tokenizer:      json.RawMessage(`{"type":"char","vocabSize":3,"vocab":["\n","a","b"]}`),
		RNGState:       42,
		ConfigHash:     "00000000",
		Step:           7,
	}
	for t, p := range checkpoint.Params(&c, false) {
		data := make([]float32, p.Elements())
		for i := range data {
			g := float64((7*i+3*t)%11-5) / 10
			if strings.HasSuffix(p.Name, "weight") {
				g = 1 + g/10
			}
			data[i] = float32(g)
		}
		a.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	return a
}
