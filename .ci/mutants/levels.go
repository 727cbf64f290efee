package main

// levels returns the mutants of weights that are levels: of GPTQ, AWQ, MLX and bitsandbytes.
func levels() []mutant {
	const all, four = "^TestLevels$", "^TestBitsAndBytes$"
	return []mutant{
		{"levels: bits of the next byte", arch, "level", "at%8+bits > 8", "false", arch, all},
		{"GPTQ: the order of groups", arch, "gptqMatrix.decode", "scales[g]", "scales[0]", arch, all},
		{"GPTQ: zeros are stored minus 1", arch, "addOnes", "binary.LittleEndian.Uint32(word)+ones", "binary.LittleEndian.Uint32(word)+0*ones", arch, all},
		{"AWQ: the order of outputs in a word", arch, "awqPlace", "within%2*awqWord/2", "0", arch, all},
		{"MLX: offsets are added", arch, "mlxGroups.read", "float32(float32(level(stream, i, g.bits))*scales[at]) + offsets[at]", "float32(float32(level(stream, i, g.bits))*scales[at]) - offsets[at]", arch, all},
		{"MLX: modules with a form of their own", arch, "mlx", "!ok", "!ok || true", arch, all},
		{"MLX: the names of experts", arch, "expertNames.of", `mlx + "up_proj", mlx + "gate_proj"`, `mlx + "gate_proj", mlx + "up_proj"`, arch, "^TestSwitchedExperts$"},
		{"bitsandbytes: the first value is in the upper half", arch, "nibbles.read", "4-at%2*4", "at%2*4", arch, four},
		{"bitsandbytes: scales of scales", arch, "nibbles.blocks", "float32(q.nestedTable[codes[i]]*nested[(first+i)/q.NestedBlock-outer]) + q.Offset", "float32(q.nestedTable[codes[i]]*nested[(first+i)/q.NestedBlock-outer]) - q.Offset", arch, four},
		{"quantised weights: biases that are not 0", arch, "source.zeroBias", "err == nil && !slices.ContainsFunc(values, func(v float32) bool { return v != 0 })", "err == nil && values != nil", arch, "^TestZeroBiases$"},
	}
}
