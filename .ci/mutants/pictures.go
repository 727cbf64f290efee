package main

// pictures: pixels that are nearly right, so a model answers fluently about another picture.
func pictures() []mutant {
	const dir, resize, processed, png, jpeg = "pkg/engine/picture", "^TestResize$", "^TestProcessor$", "^TestPNG$", "^TestJPEG$"
	return []mutant{
		{"pictures: tall ones shrink by columns first", dir, "columnsFirst", "toHeight < height", "toHeight < 0", dir, resize},
		{"pictures: others shrink by rows first", dir, "columnsFirst", "2*(width-toWidth)", "width-toWidth", dir, resize},
		{"pictures: sums are rounded", dir, "addRows", "sums[i] = half", "sums[i] = 0", dir, resize},
		{"pictures: sums of rows are rounded", dir, "horizontal.pair", "half | half<<32", "half", dir, resize},
		{"pictures: a lane borrows from the one above", dir, "horizontal.pair", "s - int64(lower)", "s", dir, resize},
		{"pictures: smaller ones average", dir, "newAxis", "max(scale, 1)", "1.0", dir, resize},
		{"pictures: a pixel is at its centre", dir, "newAxis", "float64(of.from+i) + 0.5", "float64(of.from+i)", dir, resize},
		{"pictures: negative weights round away from 0", dir, "fixed", "w < 0", "w < -1", dir, resize},
		{"pictures: nearest is that of the centre", dir, "positions", "step * 0.5", "step * 0", dir, resize},
		{"pictures: transparent is white", dir, "onWhite", "255*(255-a)", "0*(255-a)", dir, png},
		{"pictures: 6 turns right, 8 left", dir, "place", "return height - 1 - y, height", "return (width-1)*height + y, -height", dir, png},
		{"pictures: XMP counts only without Exif", dir, "orientations.orientation", "!found", "!found || o.xmp != nil", dir, png},
		{"pictures: chroma mixes with its neighbours", dir, "upsampler.chroma", "u.h == 2 && u.width > 2", "false", dir, jpeg},
		{"pictures: narrow chroma does not mix", dir, "upsampler.chroma", "u.width > 2", "u.width > 1", dir, jpeg},
		{"pictures: tiles follow row by row", dir, "Processor.Frames", "column*p.Side, row*p.Side", "min(row, columns-1)*p.Side, min(column, rows-1)*p.Side", dir, processed},
		{"pictures: the whole comes from the resized one", dir, "Processor.Frames", "frames, img.Resize(p.Side, p.Side, p.Filter)", "frames, img.Resize(p.Side, p.Side, p.Filter-1)", dir, processed},
		{"pictures: short edges are even", dir, "even", "n + n%2", "n", dir, "^TestLayout$"},
		{"pictures: the longest edge has a bound", dir, "Processor.bounded", "width > maxLongest", "width > 2*maxLongest", dir, "^TestLayout$"},
		{"pictures: the short edge grows with the long one", dir, "Processor.multiple", "width = up(width)", "short := height; width = up(width); return width, up(short)", dir, processed},
		{"pictures: values are rounded before the mean", dir, "Processor.values", "float32(float64(pixel) * p.Scale)", "float32(pixel) * float32(p.Scale)", dir, processed},
		{"pictures: the middle is cut out", dir, "Processor.middle", "interval{(width - p.Side) / 2, p.Side}", "interval{width - p.Side, p.Side}", dir, processed},
		{"pictures: narrow ones grow by their shortest edge", dir, "Processor.middle", "img.Width <= img.Height", "img.Width < img.Height*0+1", dir, processed},
		{"pictures: a patch has a channel after another", dir, "Processor.Values", "pix[3*x+c]", "pix[3*x+2-c]", dir, processed},
		{"pictures: memory counts the decoding", dir, "Processor.Memory", "of.Cost", "int64(0)", dir, "^TestMemory$"},
		{"pictures: scans end when the client has left", dir, "source.Read", "err != nil", "err != nil && len(s.rest) == 0", dir, "^TestLeaving$"},
		{"pictures: a source gives little at once", dir, "source.Read", "min(len(to), step)", "len(to)", dir, "^TestLeaving$"},
		{"pictures: rows that were left out are no picture", dir, "Decode", "return p, ctx.Err()", "return p, nil", dir, "^TestLeaving$"},
		{"pictures: 50 megapixels are the most", dir, "checkSize", "width*height > MaxPixels", "width*height > 2*MaxPixels", dir, "^TestRefused$"},
	}
}
