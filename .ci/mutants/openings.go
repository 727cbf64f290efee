package main

// openings: weights on their way from files into memory.
func openings() []mutant {
	const allocate, pad, peak = "^TestAllocate$", "^TestPad$", "^TestFilesPeak$"
	return []mutant{
		{"opening: memory that was used is zero again", kernel, "large", "unix.MADV_DONTNEED", "unix.MADV_WILLNEED", kernel, allocate},
		{"opening: so is its end, a part of a page", kernel, "large", "clear(s[n-page:])", "", kernel, allocate},
		{"opening: inputs past the last are padding", kernel, "Packed.Pad", "p.Cols / f.cols", "each", kernel, pad},
		{"opening: rows past the last are padding", kernel, "Packed.Pad", "(panel+1)*packedRows > p.Rows", "false", kernel, pad},
		{"opening: what is loaded is not touched before", kernel, "Packed.Pad", "from := p.Cols / f.cols", "from := 0 * f.cols", kernel, pad},
		{"opening: halves of Q8_0 are rounded away from zero", dtype, "quantize8", "twice + 1 + twice>>31", "twice + 1", dtype, "^TestEncode"},
		{"opening: four numbers of 16 bits are finite if each is", dtype, "onesIn", "uint64(exponent&-exponent) * each", "uint64(exponent&-exponent)", dtype, "^TestNotFinite$"},
		{"opening: half-precision numbers are finite", dtype, "Type.NotFinite", "onesIn(raw, 0x7c00)", "onesIn(raw, 0x7f80)", dtype, "^TestNotFinite$"},
		{"opening: half-precision numbers of a row lie apart", kernel, "Packed.setHalves", "packedRows*i+r%packedRows", "packedRows*i", kernel, "^TestLoadBlocksKeepsValues$"},
		{"opening: values are finite if each is", checkpoint, "indexNotFinite", "carry |= math.Float32bits(v)&exponent + one", "carry = math.Float32bits(v)&exponent + one", checkpoint, "^TestNotFinite$"},
		{"opening: Alpha's parameters stay in their file", checkpoint, "OpenAlpha", "Options{leave: f}", "Options{}", local, peak},
		{"opening: memory of reads is used again", checkpoint, "TensorInfo.values", "buffers.Get().(*[readBuffer]byte)", "new([readBuffer]byte)", local, peak},
		{"opening: a checkpoint's file is closed", checkpoint, "Alpha.Close", "a.file.Close()", "nil", checkpoint, "^TestOpenAlpha$"},
		{"opening: files of an engine that fails are closed", engine, "closeOpened", "m.Close()", "error(nil)", engine, "^TestFailedConstructors$"},
		{"opening: weights of an engine that fails are released", engine, "closeOpened", "_ = engine.Close()", "_ = engine", engine, "^TestFailedConstructors$"},
		{"opening: parameters of other files are in memory", checkpoint, "Alpha.Values", "dst, data[from:]", "dst, data", checkpoint, "^TestOpenAlpha$"},
	}
}
