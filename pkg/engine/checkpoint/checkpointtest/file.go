package checkpointtest

import "sync"

// A File is a file in memory, which is written anywhere by many at once.
type File struct {
	mu   sync.Mutex
	Data []byte // read when nobody writes
}

// WriteAt implements [io.WriterAt].
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if need := int(at) + len(p); need > len(f.Data) {
		f.Data = append(f.Data, make([]byte, need-len(f.Data))...)
	}
	return copy(f.Data[at:], p), nil
}
