package main

// quants: the layout of GGUF's quantised types, and products with weights that keep it.
func quants() []mutant {
	const (
		values, blocks = "^TestGoldenWeights$", "^TestLoadBlocksKeepsValues$"
		agrees, packed = "^TestMatMulPackedAgrees$", "^TestMatMulPacked$"
		pieces, memory = "^TestStoredPieces$", "^TestStoredMemory$"
	)
	return []mutant{
		{"q4_k: minima are not negative", dtype, "fitLine", "offset > 0 || s <= 0", "s <= 0", dtype, "^TestEncodeCoded"},
		{"q4_k: the best candidate", dtype, "fitAffine", "e < best", "e > -best", dtype, "^TestEncodeCoded"},
		{"q4_k: a scale that half precision lacks", dtype, "QuantizeQ4K", "!finite(d) || !finite(dmin)", "!finite(dmin)", dtype, "^TestEncodeCoded"},
		{"q4_k: six bits of minima", dtype, "setSubScale", "minimum >> 4 << 6", "minimum >> 4 << 4", dtype, "^TestSubScales$"},
		{"q4_k: codes are nearest to what scales became", dtype, "QuantizeQ4K", "reciprocal(step)", "reciprocal(scale[j]+0*step)", dtype, "^TestEncodeCoded"},
		{"q6_k: the best candidate", dtype, "fitSymmetric", "gain > best", "gain > -best", dtype, "^TestEncodeCoded"},
		{"q6_k: scales have a sign", dtype, "QuantizeQ6K", "-128", "-127", dtype, "^TestEncodeCoded"},
		{"q6_k: a half has 32 bytes of high bits", dtype, "QuantizeQ6K", "128+32*(j/8)", "128+16*(j/8)", dtype, "^TestEncodeCoded"},
		{"rounding to K-quants: every block of a row", kernel, "Packed.roundCoded", "row[j*dtype.Coarse:]", "row[0*j:]", kernel, "^TestQuantizesAsStored$"},
		{"rounding to K-quants: the row of a panel", kernel, "Packed.roundCoded", "from+i", "i", kernel, "^TestQuantizeRows$"},
		{"formats: a head of its own", transformer, "Format.head", "own > 0", "false", transformer, "^TestFormatsOfMatrices$"},
		{"formats: the head of q4_k", transformer, "Format.Head", "Q6K", "Q4K", transformer, "^TestFormatsOfMatrices$"},
		{"formats: narrow matrices are not filled up", transformer, "part.format", "f.fit(p.rows, p.cols)", "f", transformer, "^TestFormatsOfMatrices$"},
		{"pieces: the embedding is divided", transformer, "part.runs", "p.name == embeddingPart", "false", transformer, "^TestStoredPieces"},
		{"vectors of a damaged model", engine, "core.embed", "slices.ContainsFunc(l.Vectors, c.kernels.HasNaN)", "false", engine, "^TestDamagedModel$"},
		{"Q4_K: low nibbles are a sub-block, high nibbles the next", dtype, "splitNibbles", "codes[64*j:][:32], codes[64*j+32:][:32]", "codes[64*j+32:][:32], codes[64*j:][:32]", kernel, blocks},
		{"Q4_K: scales have six bits", dtype, "subScale", "s[j+4]&15 | s[j-4]>>6<<4", "s[j+4]&15 | s[j]>>6<<4", checkpoint, values},
		{"Q4_K: minima have six bits", dtype, "subScale", "s[j+4]>>4 | s[j]>>6<<4", "s[j+4]>>4 | s[j-4]>>6<<4", checkpoint, values},
		{"Q5_K: bit j belongs to sub-block j", dtype, "splitQ5K", "b[16:48], j, 4", "b[16:48], 7-j, 4", kernel, blocks},
		{"Q6_K: high bits, a quarter two bits up each", dtype, "splitQ6K", "h>>2&two<<4", "h>>6&two<<4", kernel, blocks},
		{"Q6_K: scales have a sign", dtype, "splitQ6K", "uint16(int8(v))", "uint16(v & 127)", kernel, blocks},
		{"Q3_K: the third bit", dtype, "splitQ3K", "h, k, 2", "h, k, 1", kernel, blocks},
		{"Q3_K: scales have six bits", dtype, "subScale3", "s[8+j%4]", "s[8+j%2]", checkpoint, values},
		{"Q2_K: scales lie below minima", dtype, "splitQ2K", "uint16(v&15), uint16(v>>4)", "uint16(v>>4), uint16(v&15)", kernel, blocks},
		{"Q4_1: files add the minimum", dtype, "splitQ4_1", "binary.LittleEndian.Uint16(b[2:])", "negative ^ binary.LittleEndian.Uint16(b[2:])", kernel, blocks},
		{"Q5_0: the fifth bits are in order", dtype, "splitFifth", "h>>i&1", "h>>(31-i)&1", kernel, blocks},
		{"MXFP4: levels are doubled", dtype, "splitMXFP4", "int(b[0])-128", "int(b[0])-127", kernel, blocks},
		{"IQ4_XS: scales have two high bits", dtype, "subScale4", "int(high>>(2*j)&3)<<4", "0", checkpoint, values},
		{"q8_128: sums undo the offset", kernel, "quantizeWideGeneric", "-128*sum", "-8*sum", kernel, "^TestQuantizeActivations$"},
		{"q8_128: a slice has 128 inputs", kernel, "Kind.inputs", "k == Q8W", "false", kernel, packed},
		{"q8_128: stored in groups of four", kernel, "setBlock", "dst[4*line:]", "dst[2*line:]", kernel, blocks},
		{"widened weights: parts of a panel add up", kernel, "Kernels.matMulPairs", "more: s > 0", "more: false", kernel, agrees},
		{"widened weights: smaller tiles have fewer rows", kernel, "Kernels.multiplyPart", "min(to, larger)-t, rows+1", "to-t, rows+1", kernel, agrees},
		{"widened weights: a later part has its own inputs", kernel, "Kernels.multiplyPart", "a.pairsAt(t, s)", "a.pairsAt(t, 0*s)", kernel, agrees},
		{"widened weights: all groups of tiles", kernel, "Kernels.matMulPairs", "t < tiles", "t < min(tiles, partTiles)", kernel, agrees},
		{"expanded weights: parts of a panel add up", kernel, "Kernels.matMulParts", "more: s > 0", "more: false", kernel, agrees},
		{"expanded weights: a later part has its own inputs", kernel, "Kernels.multiplyPart", "a.at(t)[s*a.words*span.rows:]", "a.at(t)", kernel, agrees},
		{"expanded weights: all groups of tiles", kernel, "Kernels.matMulParts", "t < tiles", "t < min(tiles, partTiles)", kernel, agrees},
		{"expanded weights: superblocks of four slices", kernel, "Kernels.matMulParts", "s/each*f.bytes", "s/each/4*f.bytes", kernel, agrees},
		{"readahead: each call brings its own share", kernel, "spread", "bytes/calls*i", "0*i", kernel, "^TestSpread$"},
		{"float32: blocks of rows have their own inputs", kernel, "Kernels.matMul", "x[r*w.Cols:]", "x", kernel, "^TestMatMul$"},
		{"tiles: the larger ones are first", kernel, "Activations.bounds", "min(t, larger)", "larger", kernel, agrees},
		{"packed K-quants: minima are subtracted", kernel, "coding.addCoded", "act[(shiftWord+half)*rows]", "-act[(shiftWord+half)*rows]", kernel, agrees},
		{"packed K-quants: a half has its own d", kernel, "coding.addCoded", "sub * c.sub / quantCols", "0", kernel, agrees},
		{"packed K-quants: sums of 16 inputs", kernel, "widenWords", "2*half + i", "half + i", kernel, packed},
		{"packed K-quants: the sum of both halves", kernel, "widenWords", "both += sum", "both = sum", kernel, packed},
		{"packed K-quants: D is before DMin", kernel, "Packed.setCoded", "b[32+2*row:]", "b[2*row:]", kernel, blocks},
		{"mixed matrices: pieces follow each other", transformer, "worker.multiplyPieces", "at += p.rows", "at += 0", transformer, pieces},
		{"mixed matrices: kinds need their own inputs", transformer, "linear.sharesInputs", "l.packed.Kind.SharesActivations(other.packed.Kind)", "true", transformer, pieces},
		{"mixed matrices: a piece begins with a panel", transformer, "part.runs", "at%t.panel() != 0", "false", transformer, "^TestStoredPiecesWithinPanels$"},
		{"K-quants are not expanded", transformer, "FormatOf", "k.Type() == t", "k.Rounds() && k.Type() == t", transformer, memory},
		{"mixed matrices are not expanded", transformer, "partList.add", "l.format.body() == Stored", "false", transformer, memory},
	}
}
