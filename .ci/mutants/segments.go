package main

// segments: keys whose values are summed up on their own, and workers that share them.
func segments() []mutant {
	const parts, windows, few, deal = "^TestAttendSegments$", "^TestAttendWindows$", "^TestFewHeads", "^TestDeal"
	return []mutant{
		{"segments: the first is kept", kernel, "Kernels.suspend", "first == next-1", "false", kernel, windows},
		{"segments: rows that end before the next", kernel, "Kernels.suspend", "last < next", "last < next-9", kernel, windows},
		{"segments: the last is added", kernel, "Kernels.resume", "first < last", "first < last && false", kernel, windows},
		{"segments: earlier sums shrink", kernel, "Kernels.merge", "softExp(*top-shift)", "softExp(0)", kernel, windows},
		{"segments: totals shrink with them", kernel, "Kernels.merge", "float32(laterTotal*g)", "laterTotal", kernel, windows},
		{"segments: keys before the window", kernel, "Attention.segments", "a.first[row]/attendSegment", "0", kernel, parts},
		{"segments: parts begin with the first that is seen", kernel, "Kernels.AttendParts", "parts[s-begin]", "parts[min(s+0*begin, len(parts)-1)]", kernel, parts},
		{"segments: a part of a later segment has no sink", kernel, "Kernels.AttendSegment", "a.first[i]/attendSegment < segment", "false", kernel, parts},
		{"few heads: later tokens of a text have their own keys", kernel, "Queries.keys", "q.First + token", "token", kernel, "^TestAttendFirst$"},
		{"few heads: workers share the tokens of a text", transformer, "worker.fullTokens", "sp.part(at, min(step, sp.n-at))", "sp.part(0, min(step, sp.n-at))", transformer, few},
		{"few heads: texts have room of their own", transformer, "worker.eachText", "room[keys+values:]", "room[0*values:]", transformer, few},
		{"few heads: workers share the tokens", transformer, "worker.attendTokens", "sp.part(at, min(step, sp.n-at))", "sp.part(0, min(step, sp.n-at))", transformer, few},
		{"few heads: parts of a head", transformer, "worker.attendKeys", "w.parts[first:first+to-from]", "w.parts[:to-from]", transformer, few},
		{"few heads: rings that wrap are not divided", transformer, "worker.divided", "sp.fits(slot, 0) < sp.n", "sp.fits(slot, 0) < 0", transformer, few},
		{"deals: others take from the end of a share", transformer, "deal.last", "return to - 1, from, to - 1", "return from, from, to - 1", transformer, deal},
		{"deals: what a worker has not begun is not ready", transformer, "worker.deal", "!ready && !d.begun(w.step)", "false", transformer, deal},
		{"deals: the last piece of a share is shorter", transformer, "worker.deal", "min(from+each, end)", "from+each", transformer, deal},
		{"deals: shares of many pieces", transformer, "worker.deal", "ceil(end-begin, mostPieces)", "0*mostPieces", transformer, deal},
		{"deals: a norm of the result comes before the sum", transformer, "worker.took", "n.Placement != PostNorm && n.Placement != SandwichNorm", "n != nil", transformer, "^TestRandomArchitectures$"},
	}
}
