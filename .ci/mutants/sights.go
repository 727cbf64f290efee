package main

// sights: pictures that a model sees turned, blurred, or in place of each other.
func sights() []mutant {
	const dir, seen, divided = engine, "^TestVision$", "^TestVisionDivided$"
	const chats = "pkg/chat"
	return []mutant{
		{"sights: patches are merged row by row", dir, "sight.merge", "row%s.Merge*s.Merge + column%s.Merge", "column%s.Merge*s.Merge + row%s.Merge", dir, seen},
		{"sights: squares follow row by row", dir, "sight.merge", "row/s.Merge*n + column/s.Merge", "column/s.Merge*n + row/s.Merge", dir, seen},
		{"sights: what is merged is normalised", dir, "sight.inputs", "s.norm != nil", "s.norm != nil && false", dir, seen},
		{"sights: the encoder's result is normalised", dir, "sight.inputs", "s.tower.FinalNorm(true, row, row)", "_ = row", dir, seen},
		{"sights: a class is left out", dir, "sight.inputs", "x[s.Skip*width:]", "x[:len(x)-s.Skip*width]", dir, seen},
		{"sights: a matrix has a function after it", dir, "newSight", "newTransform(k, v.Hidden, true, nil, 0)", "newTransform(k, v.Hidden, false, nil, 0)", dir, seen},
		{"sights: the class has the first position", transformer, "Pass.embedPatches", "copy(x, p.m.class)", "copy(x[(sp.n-first)*width:], p.m.class); first = 0", dir, seen},
		{"sights: the encoder's embedding is normalised", transformer, "Pass.embedPatches", "p.m.EmbedNorm", "false", dir, seen},
		{"sights: norms are stored minus 1", arch, "moreOne", "dst[i]++", "_ = i", dir, seen},
		{"sights: a matrix is stored turned", arch, "upright", "all[col*t.Rows+row]", "all[row*t.Cols+col]", dir, seen},
		{"sights: positions are rounded shares", arch, "Vision.buckets", "float32(step+float64(k)*step) <= x", "float32(step+float64(k)*step) < x", dir, seen},
		{"sights: rows of tiles end", dir, "Engine.expand", "to.text += s.Text.RowEnd", "_ = s", dir, seen},
		{"sights: tiles have numbers", dir, "Engine.expand", "fmt.Sprint(r + 1)", "fmt.Sprint(r)", dir, seen},
		{"sights: ids tell pictures apart", dir, "newPictured", "sha256.Sum256(image.Data)", "sha256.Sum256(nil)", dir, "^TestVisionPrefixes$"},
		{"sights: inputs are not drafted", dir, "lookup.draft", "t >= 0", "t >= -1", dir, "^TestLookupPicture$"},
		{"sights: passes do not divide what sees itself", dir, "generation.whole", "v.at < to && to < end", "false", dir, divided},
		{"sights: a cut frame is dropped", dir, "prompt.place", "lost < n", "lost > n", dir, "^TestVisionTruncated$"},
		{"sights: squares follow each other", "pkg/engine/picture", "Squares", "square%across*side + in%side", "square%across + in%side*across", dir, "^TestFlexibleValues$"},
		{"sights: edges are rounded to even multiples", "pkg/engine/picture", "Processor.Size", "int(math.RoundToEven(w / by))", "int(math.Ceil(w / by))", "pkg/engine/picture", "^TestSize$"},
		{"sights: both frames of a film show the picture", arch, "builder.still", "films[at] + films[at+square]", "2 * films[at]", dir, seen},
		{"sights: positions lie between those of the table", dir, "stretch", "1 - rest", "rest", dir, seen},
		{"sights: layers of the encoder are added", transformer, "worker.deepen", "vectors[(1+layer)*width+c.from:(1+layer)*width+c.to]", "vectors[c.from:c.to]", dir, seen},
		{"sights: columns turn by the column", transformer, "placesOf", "in%grids[0].Columns", "in/grids[0].Columns", transformer, "^TestPlaces$"},
		{"sights: text follows the last row or column", transformer, "placesOf", "max(grids[0].Rows, grids[0].Columns)", "grids[0].Rows", transformer, "^TestPlaces$"},
		{"sights: a known beginning has the places of its prompt", dir, "feed.findPrefix", "f.cache.Grids = f.grids()", "_ = known", dir, "^TestFlexiblePrefixes$"},
		{"sights: archives end at pictures", dir, "archivedTexts.links", "id < 0", "id > 0", dir, "^TestVisionArchived$"},
		{"sights: only the template's marks count", chats, "Template.insert", "p.Special", "true", chats, "^TestPictures$"},
		{"sights: a system's text precedes pictures", chats, "mergeSystem", "len(user.text)-own", "own-own", chats, "^TestPicturesAfterSystem$"},
		{"sights: a system's pictures stay with its text", chats, "mergeSystem", "append(system.pictures, shifted(user.pictures, len(user.text)-own)...)", "shifted(user.pictures, len(user.text)-own)", chats, "^TestPicturesOfSystemAlone$"},
		{"sights: a system without a user has pictures", chats, "mergeSystem", "pictures: system.pictures", "pictures: nil", chats, "^TestPicturesOfSystemAlone$"},
		{"sights: the pictures of a second result follow its text", chats, "joinResults", "text.Len()", "0", chats, "^TestPicturesOfRoles$"},
		{"sights: a template that drops a system's pictures refuses them", chats, "Template.readParts", `m.Role == "system" && !t.nature.systemViews`, "false", chats, "^TestPicturesOfRoles$"},
		{"sights: a client that has left did not send a broken picture", dir, "generation.see", "if err := ctx.Err(); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}", "", dir, "^TestVisionLeaving$"},
		{"sights: none is lost", chats, "Template.insert", "written != len(images)", "false", chats, "^TestPicturesRefused$"},
		{"sights: vectors are not scaled", transformer, "Pass.embed", "copy(x, vectors[:w])", "copy(x, vectors[:w]); m.kernels.Scale(x, max(m.EmbedScale, 1))", dir, seen},
		{"sights: inputs of a picture see each other", transformer, "worker.attendMutual", "n, attend = min(n, stretches[0].to-sp.start), w.attendStretch", "n = min(n, stretches[0].to-sp.start)", dir, seen},
		{"sights: windows bound what they see", transformer, "worker.attendStretch", "window == 0 || end <= window", "true", dir, seen},
		{"sights: the window moves with the query", transformer, "worker.attendStretch", "window + end - 1 - (sp.start + i)", "window", dir, seen},
		{"sights: rings have room for a picture", transformer, "Model.newKV", "SpareTokens + m.Mutual", "SpareTokens", dir, seen},
	}
}
