package kernel

import "math"

// attendSegment is the number of keys whose values are summed up on their own. Segments begin at
// fixed tokens, as blocks do, and are added in order. So workers can share the keys of a long text,
// and the result is the same to the bit as one worker's.
const attendSegment = 8 * attendBlock

// Segments returns the segments with keys that some token sees: from, ..., to-1.
func (q *Queries) Segments() (from, to int) {
	if q.Tokens == 0 {
		return 0, 0
	}
	first, _ := q.keys(0)
	_, end := q.keys(q.Tokens - 1)
	return first / attendSegment, (end + attendSegment - 1) / attendSegment
}

// MostSegments returns the number of segments of so many keys.
func MostSegments(keys int) int { return (keys + attendSegment - 1) / attendSegment }

// PartLen returns the length of the part of a result that queries of a dimension get from the keys of
// a segment.
func (q *Queries) PartLen(dim int) int { return q.Tokens * q.Heads * (valueStride(dim) + 2) }

// AttendSegment computes the part of the results of Attend that comes from the keys of a segment:
// sums (rows, Dim padded), then the maxima of the scores, then the totals.
func (k *Kernels) AttendSegment(a *Attention, q *Queries, kv KV, segment int, part []float32) {
	q.check(a, kv)
	a.dots = k.usesDots(kv)
	rows, stride := q.Tokens*q.Heads, valueStride(kv.Dim)
	k.loadQueries(a, q, 0, rows, kv.Dim)
	for i := range rows {
		if a.first[i]/attendSegment < segment {
			a.restart(i, stride)
		}
	}
	k.attendKeys(a, q, kv, rows, segment)
	copy(part, a.sums[:rows*stride])
	copy(part[rows*stride:], a.top[:rows])
	copy(part[rows*(stride+1):], a.total[:rows])
}

// AttendParts writes the results of Attend, of which parts has those of all [Queries.Segments] in
// order. It changes parts.
func (k *Kernels) AttendParts(a *Attention, q *Queries, dim int, parts [][]float32) {
	rows, stride := q.Tokens*q.Heads, valueStride(dim)
	begin, _ := q.Segments()
	for i := range rows {
		a.first[i], a.seen[i] = q.keys(i / q.Heads)
		from, last := a.segments(i)
		for s := from; s <= last; s++ {
			part := parts[s-begin]
			sums, top, total := part[i*stride:(i+1)*stride], part[rows*stride+i], part[rows*(stride+1)+i]
			if s == from {
				copy(a.sums[i*stride:], sums)
				a.top[i], a.total[i] = top, total
				continue
			}
			k.merge(a.sums[i*stride:(i+1)*stride], &a.top[i], &a.total[i], sums, top, total)
		}
	}
	k.divideSums(a, q, 0, rows, dim)
}

// segments returns the first and the last segment with keys that a row sees. If it sees none, the
// last comes before the first.
func (a *Attention) segments(row int) (first, last int) {
	return a.first[row] / attendSegment, (a.seen[row]+attendSegment-1)/attendSegment - 1
}

// attendKeys adds the keys of a segment to the sums of all rows.
func (k *Kernels) attendKeys(a *Attention, q *Queries, kv KV, rows, segment int) {
	at, end := max(a.first[0]/attendBlock*attendBlock, segment*attendSegment), min(a.seen[rows-1], (segment+1)*attendSegment)
	if rows <= attendTile {
		k.attendStreams(a, q, kv, rows, at, end)
		return
	}
	for ; at < end; at += attendBlock {
		for r := 0; r < rows; r += attendTile {
			b := a.block(r, min(r+attendTile, rows), at, 0)
			k.scoreBlock(a, kv, b)
			k.weighBlock(a, kv, q, b)
		}
	}
}

// attendStreams adds the keys at, ..., end-1 to the sums of a tile of rows. So few rows wait for memory:
// keys are one stream and values another. A core of Zen 4 reads 300 tokens of a head in bfloat16 at
// 90 % of its limit so, and at 57 to 65 % where they take turns block by block.
func (k *Kernels) attendStreams(a *Attention, q *Queries, kv KV, rows, at, end int) {
	k.bringing(a, kv, rows, end-at, func() {
		for n := 0; at+n*attendBlock < end; n++ {
			k.scoreBlock(a, kv, a.block(0, rows, at+n*attendBlock, n))
		}
		for n := 0; at+n*attendBlock < end; n++ {
			k.weighBlock(a, kv, q, a.block(0, rows, at+n*attendBlock, n))
		}
	})
}

// suspend keeps what rows that also see keys of the next segment have summed up before it, and begins
// again.
func (k *Kernels) suspend(a *Attention, rows, next, stride int) {
	for i := range rows {
		first, last := a.segments(i)
		if first >= next || last < next {
			continue
		}
		sums, earlier := a.sums[i*stride:(i+1)*stride], a.earlier.sums[i*stride:(i+1)*stride]
		if first == next-1 {
			copy(earlier, sums)
			a.earlier.top[i], a.earlier.total[i] = a.top[i], a.total[i]
		} else {
			k.merge(earlier, &a.earlier.top[i], &a.earlier.total[i], sums, a.top[i], a.total[i])
		}
		a.restart(i, stride)
	}
}

// resume adds to the last segments of rows what [Kernels.suspend] has kept.
func (k *Kernels) resume(a *Attention, rows, stride int) {
	for i := range rows {
		if first, last := a.segments(i); first < last {
			sums, earlier := a.sums[i*stride:(i+1)*stride], a.earlier.sums[i*stride:(i+1)*stride]
			k.merge(earlier, &a.earlier.top[i], &a.earlier.total[i], sums, a.top[i], a.total[i])
			copy(sums, earlier)
			a.top[i], a.total[i] = a.earlier.top[i], a.earlier.total[i]
		}
	}
}

// restart begins the sums of a row with nothing.
func (a *Attention) restart(row, stride int) {
	a.top[row], a.total[row] = float32(math.Inf(-1)), 0
	clear(a.sums[row*stride : (row+1)*stride])
}

// merge adds the sums of later keys, which it changes, to those of earlier ones.
func (k *Kernels) merge(sums []float32, top, total *float32, later []float32, laterTop, laterTotal float32) {
	most := max(*top, laterTop)
	shift := max(most, -math.MaxFloat32)
	f, g := softExp(*top-shift), softExp(laterTop-shift)
	*top, *total = most, float32(*total*f)+float32(laterTotal*g)
	scale(k.isa, sums, f)
	scale(k.isa, later, g)
	add(k.isa, sums, later)
}
