package main

// quantised: weights of directories that are read from codes and scales.
func quantised() []mutant {
	const values, hostile, micro, microHostile = "^TestQuantisedValues$", "^TestHostileQuantisation$", "^TestMicroscaled$", "^TestHostileMicroscale"
	return []mutant{
		{"quantised weights: a scale of each row of blocks", arch, "grid.blockRow", "row%g.rows/g.height", "0*(row%g.rows/g.height)", arch, values},
		{"quantised weights: matrices of experts follow each other", arch, "grid.blockRow", "row/g.rows*g.down", "0*(row/g.rows*g.down)", arch, "^TestQuantisedExperts$"},
		{"quantised weights: gate and up have scales of their own", arch, "parts.fp8", "codes.Shape[1]%2 == 0", "false", arch, "^TestQuantisedExperts$"},
		{"quantised weights: blocks of columns", arch, "grid.scale", "(block+1)*g.width", "(block+2)*g.width", arch, values},
		{"quantised weights: zeros are subtracted", arch, "grid.scale", "(code - zero) * s", "(code + zero) * s", arch, values},
		{"quantised weights: the order of columns", arch, "grid.scale", "(row[i] - zeros[block]) * scales[block]", "(row[i] - zeros[block]) * scales[i/g.width]", arch, values},
		{"quantised weights: zeros have blocks too", arch, "grid.scale", "row[i] - zeros[block]", "row[i] - zeros[i/g.width]", arch, values},
		{"quantised weights: a block ends within the matrix", arch, "parts.newGrid", "(g.rows-1)/g.height+1", "g.rows/g.height", arch, values},
		{"quantised weights: rows from one on", arch, "dequantised.values", "from+len(some)", "from", arch, "^TestQuantisedChunks$"},
		{"quantised weights: rounded as the authors do", arch, "dequantised.values", "round(v, c.kind)", "round(v, dtype.F32)", arch, "^TestQuantisedRounding$"},
		{"quantised weights: to the type of scales", arch, "parts.rounded", "scales.Type == dtype.BF16", "false", arch, "^TestQuantisedRounding$"},
		{"quantised weights: a scale must be there", arch, "source.take", "out.kind == dtype.F8E4M3", "false", arch, hostile},
		{"quantised weights: scales of other things are not weights'", arch, "source.decode", "slices.ContainsFunc(scheme.unread, ends)", "false", arch, values},
		{"packed weights: numbers follow each other", arch, "unpackInts", "i*bits", "i/2*2*bits", arch, values},
		{"packed weights: half of the range is added", arch, "unpackInts", "1 << (bits - 1)", "1 << bits", arch, values},
		{"packed weights: zeros are packed down the columns", arch, "grid.packedZeros", "4*column", "0*column", arch, values},
		{"packed weights: a number in two words", arch, "bitsAt", "shift+bits > 32", "false", arch, values},
		{"packed weights: a group must be there", arch, "parts.groupIndex", "block >= g.across", "false", arch, hostile},
		{"FP4: the first value is in the lower half", dtype, "DecodeE2M1", "i%2*4", "4-i%2*4", arch, micro},
		{"NVFP4: scales are divided by that of the weight", arch, "forms.fours", "scale / global", "scale * global", arch, micro},
		{"NVFP4 of ModelOpt: scales are multiplied", arch, "parts.modelOpt", "scale * global", "scale / global", arch, micro},
		{"NVFP4: a scale of the weight must be positive", arch, "parts.globalScale", "v[0] <= 0", "false", arch, microHostile},
		{"MXFP4: exponents are less 127", dtype, "DecodeE8M0", "int(exponent)-127", "int(exponent)-128", arch, micro},
		{"targets: expressions match the beginning", arch, "targets.addPattern", `"^(?:" + text + ")"`, `"(?:" + text + ")"`, arch, "^TestTargets$"},
		{"targets: the work of a list is bounded", arch, "targets.addPattern", "t.steps > maxPatternSteps", "false", arch, "^TestTargets$"},
		{"FP4: all blocks have scales", arch, "parts.microscaled", "!slices.Equal(scales.Shape, groups)", "false", arch, microHostile},
		{"ModelOpt: settings of older exports", arch, "withModelOpt", `c.fields["quantization_config"] = older.fields["quantization"]`, `c.fields["other"] = older.fields["quantization"]`, arch, "^TestModelOptFile$"},
		{"packed weights: a shape must fit", arch, "forms.packed", "shape[0] != codes.Shape[0]", "false", arch, hostile},
	}
}
