package pushdown

// minCollectFrames is how many frames a run may have before it collects the unreachable
// ones.
const minCollectFrames = 1 << 13

// collect removes the frames and keys that are unreachable from now, if there are many,
// and renumbers those that now refers to. It returns the new index of each old frame, or
// nil if nothing has changed.
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
	for i := len(frames) - 1; i > 0; i-- { // a frame refers only to earlier ones
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

// moveFrames removes the frames that are not kept, renumbers the keys of the others, and
// returns the new index of each frame.
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
