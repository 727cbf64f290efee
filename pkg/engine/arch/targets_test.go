package arch_test

import (
	"fmt"
	"strings"
	"testing"
)

// Lists of modules decide what the shapes leave open: blocks of 40 rows and of 32 are three each.
func TestTargets(t *testing.T) {
	const rows, cols, name = quantisedRows, quantisedCols, "model.layers.1.mlp.gate_proj"
	codes, scales := eights("F8_E4M3", rows, cols), numbers(3, 3, 2)
	parts := map[string]stored{"weight": codes, "weight_scale": scales}
	group := func(height int, targets ...string) members {
		return members{"targets": targets, "weights": members{"num_bits": 8, "type": "float", "strategy": "block", "block_structure": []int{height, 16}}}
	}
	config := func(ignore []string, groups ...members) members {
		all := members{"group_z": members{"targets": []string{"re:.*self_attn$"}, "weights": nil}}
		for i, g := range groups {
			all[fmt.Sprint("group_", i)] = g
		}
		return members{"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": all, "ignore": ignore}
	}
	for _, c := range []struct {
		what   string
		height int
		groups []members
	}{
		{"the name before an expression", 32, []members{group(40, "re:.*"), group(32, name)}},
		{"an expression before a class", 32, []members{group(40, "Linear"), group(32, "re:.*gate_proj")}},
		{"the first expression", 32, []members{group(40, "re:model.*"), group(32, "re:.*gate_proj")}},
		{"the beginning of a name", 32, []members{group(40, "re:layers"), group(32, "Linear")}},
		{"the whole beginning", 40, []members{group(32, "re:x|layers"), group(40, "Linear")}},
		{"a class", 32, []members{group(40, "re:.*up_proj"), group(32, "Linear")}},
		{"a class of embeddings", 40, []members{group(40, "re:.*up_proj"), group(32, "Embedding")}},
		{"no list", 40, []members{group(40, "re:.*up_proj"), group(32, "re:.*down_proj")}},
		{"the same twice", 32, []members{group(40, "Linear"), group(32, name, name, "re:a", "re:a")}},
		{"one group", 32, []members{group(32, "re:(?!x)")}},
	} {
		got := valuesOf(t, openIn(t, quantised(t, config([]string{"lm_head"}, c.groups...), parts), "m").Weights.Decoder[1].Gate.Weight)
		for i, v := range got {
			if want := codes.float(i) * scales.float(i/cols/c.height*2+i%cols/16); v != want {
				t.Errorf("%s: value %d is %v, want %v", c.what, i, v, want)
				break
			}
		}
	}
	other := group(40, "Linear")
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprint("re:", i)
	}
	for _, c := range []struct {
		ignore []string
		group  members
		want   string
	}{
		{[]string{"re:.*gate_proj"}, group(32, name), `gate_proj.weight_scale": a scale of a weight whose module is in ignore`},
		{[]string{"re:(?=x)"}, group(32, name), `quantization_config.ignore: "re:(?=x)": not supported: error parsing regexp: `},
		{nil, group(32, "Linear"), `config_groups.group_1.targets: "Linear": another group has it too`},
		{nil, group(32, "re:)("), `config_groups.group_1.targets: "re:)(": not supported: error parsing regexp: `},
		{nil, group(32, "re:((a{30}){30}){30}"), `config_groups.group_1.targets: "re:((a{30}){30}){30}": not supported: error parsing regexp: `},
		{nil, group(32, "re:(abcdef){999}"), `config_groups.group_1.targets: "re:(abcdef){999}": expressions of more than 4096 steps`},
		{nil, group(32, "re:"+strings.Repeat("a", 257)), ": an expression of 257 bytes, at most 256"},
		{nil, group(32, many...), `config_groups.group_1.targets: "re:256": more than 256 expressions`},
		{nil, members{"targets": "Linear", "weights": other["weights"]}, `config_groups.group_1.targets: "Linear" is not a valid list of names`},
		{nil, group(48, name), `gate_proj.weight_scale": shape [3 2] does not fit a weight of shape [96 32]: blocks of [{48 16}]`},
	} {
		checkRejected(t, c.want, quantised(t, config(c.ignore, other, c.group), parts), c.want)
	}
}
