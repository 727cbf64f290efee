package checkpointtest

import "sync"

// A File is a file in memory that supports concurrent writes at any offset.
type File struct {
	mu   sync.Mutex
	Data []byte // must not be read during writes
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
