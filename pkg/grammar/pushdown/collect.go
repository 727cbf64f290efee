package pushdown

// keptFrames is how many frames a run may make before it forgets those that nothing
// returns to.
const minCollectFrames = 1 << 13

// collect forgets the frames and keys that now does not lead to, if there are many, and
// has now refer to the others. It returns where each of the old frames is, nil if nothing
// has changed.
func (r *run) collect(now []element) (moved []int32) {
	if len(r.frames) < r.collectAt {
		return nil
	}
	frames, used := make([]bool, len(r.frames)), make([]bool, len(r.used))
	mark := func(e *element) { frames[e.stack], used[e.used] = true, true }
	for i := range now {
		mark(&now[i])
	}
	frames[0], used[0] = true, true
	for i := len(frames) - 1; i > 0; i-- { // what a frame refers to was made before it
		if frames[i] {
			mark(&r.frames[i].element)
		}
	}
	for i := len(used) - 1; i > 0; i-- {
		if used[i] {
			used[r.used[i].previous] = true
		}
	}
	keys := make([]int32, len(used))
	old := r.used
	r.used, r.keyIndex = r.used[:1:1], map[usedKey]int32{}
	for i := 1; i < len(old); i++ {
		if used[i] {
			keys[i] = r.use(old[i].key, keys[old[i].previous])
		}
	}
	moved = r.moveFrames(frames, keys)
	for i := range now {
		now[i].stack, now[i].used = moved[now[i].stack], keys[now[i].used]
	}
	r.collectAt = 2*len(r.frames) + minCollectFrames
	return moved
}

// moveFrames keeps some frames, with their keys where they are now, and returns where
// each is.
func (r *run) moveFrames(kept []bool, keys []int32) (moved []int32) {
	moved = make([]int32, len(kept))
	old := r.frames
	r.frames, r.frameIndex = []frame{old[0]}, map[element]int32{}
	for i := 1; i < len(old); i++ {
		if !kept[i] {
			continue
		}
		f := old[i]
		f.stack, f.used = moved[f.stack], keys[f.used]
		moved[i] = int32(len(r.frames))
		f.itemFrame = moved[f.itemFrame]
		r.frameIndex[f.element] = moved[i]
		r.frames = append(r.frames, f)
	}
	return moved
}
