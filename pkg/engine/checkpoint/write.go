package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
)

// named is a tensor with its name in the header.
type named struct {
	name string
	Tensor
}

// params lists the parameters in the order of the architecture.
func (a *Alpha) params() []named {
	var list []named
	for _, p := range Params(&a.ModelConfig, a.Fused()) {
		list = append(list, named{p.Name, a.Params[p.Name]})
	}
	return list
}

// optimizer lists the optimizer's buffers by name.
func (a *Alpha) optimizer() []named {
	var list []named
	for _, name := range slices.Sorted(maps.Keys(a.Optimizer)) {
		list = append(list, named{name, a.Optimizer[name]})
	}
	return list
}

// configRaw returns modelConfig in the form to write.
func (a *Alpha) configRaw() (json.RawMessage, error) {
	if a.ModelConfigRaw != nil {
		return a.ModelConfigRaw, nil
	}
	return marshal(&a.ModelConfig)
}

// marshal is json.Marshal without HTML escapes, like JavaScript's.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WriteALPH writes the binary encoding: the parameters in the order of [Params],
// then the optimizer's buffers by name.
func WriteALPH(w io.Writer, a *Alpha) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	config, err := a.configRaw()
	if err != nil {
		return fmt.Errorf("checkpoint: modelConfig: %w", err)
	}
	type entry struct {
		Name     string `json:"name"`
		Shape    []int  `json:"shape"`
		Elements int    `json:"elements"`
	}
	params, buffers := a.params(), a.optimizer()
	entries := []entry{}
	for _, t := range params {
		entries = append(entries, entry{"p." + t.name, t.Shape, len(t.Data)})
	}
	for _, t := range buffers {
		entries = append(entries, entry{"o." + t.name, t.Shape, len(t.Data)})
	}
	header, err := marshal(struct {
		ModelConfig        json.RawMessage `json:"modelConfig"`
		ConfigHash         string          `json:"configHash"`
		RNGState           float64         `json:"rngState"`
		Step               int             `json:"step"`
		TokenizerArtifacts json.RawMessage `json:"tokenizerArtifacts,omitempty"`
		OptimizerStep      int             `json:"optimizerStep"`
		Tensors            []entry         `json:"tensors"`
	}{config, a.ConfigHash, a.RNGState, a.Step, a.Tokenizer, a.OptimizerStep, entries})
	if err != nil {
		return fmt.Errorf("checkpoint: header: %w", err)
	}
	if len(header) > maxHeader {
		return fmt.Errorf("checkpoint: header of %d bytes (at most %d)", len(header), maxHeader)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString(magic)
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header))))
	b.Write(header)
	for _, t := range append(params, buffers...) {
		for _, v := range t.Data {
			// b keeps errors until Flush.
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), math.Float32bits(v)))
		}
	}
	return b.Flush()
}

// WriteJSON writes the legacy encoding. Values are printed as JavaScript prints equal
// doubles.
func WriteJSON(w io.Writer, a *Alpha) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	config, err := a.configRaw()
	if err != nil {
		return fmt.Errorf("checkpoint: modelConfig: %w", err)
	}
	tail, err := marshal(struct {
		TokenizerArtifacts json.RawMessage `json:"tokenizerArtifacts,omitempty"`
		RNGState           float64         `json:"rngState"`
		ConfigHash         string          `json:"configHash"`
		Step               int             `json:"step"`
	}{a.Tokenizer, a.RNGState, a.ConfigHash, a.Step})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString(`{"modelConfig":`)
	b.Write(config)
	b.WriteString(`,"params":`)
	if err := writeTensors(b, a.params()); err != nil {
		return err
	}
	fmt.Fprintf(b, `,"optimizerState":{"step":%d,"buffers":`, a.OptimizerStep)
	if err := writeTensors(b, a.optimizer()); err != nil {
		return err
	}
	b.WriteString("},")
	b.Write(tail[1:]) // without its brace
	return b.Flush()
}

func writeTensors(b *bufio.Writer, list []named) error {
	for i, t := range list {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		name, err := marshal(t.name)
		if err != nil {
			return fmt.Errorf("checkpoint: tensor %q: %w", t.name, err)
		}
		shape, err := marshal(t.Shape)
		if err != nil {
			return fmt.Errorf("checkpoint: tensor %q: %w", t.name, err)
		}
		fmt.Fprintf(b, `%s%s:{"shape":%s,"data":[`, separator, name, shape)
		for j, v := range t.Data {
			if j > 0 {
				b.WriteByte(',')
			}
			b.Write(appendJSNumber(b.AvailableBuffer(), float64(v)))
		}
		b.WriteString("]}")
	}
	if len(list) == 0 {
		b.WriteByte('{')
	}
	return b.WriteByte('}')
}

// appendJSNumber appends f as JavaScript prints it (ECMA-262, Number::toString):
// the shortest digits that round-trip, exponents only outside [1e-6, 1e21).
func appendJSNumber(b []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs == 0 {
		return append(b, '0')
	}
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go writes at least two digits of an exponent.
	if n := len(b); n >= 4 && b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b = append(b[:n-2], b[n-1])
	}
	return b
}
