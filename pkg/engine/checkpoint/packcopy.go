package checkpoint

import (
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
)

// copyPiece is the size in bytes of the pieces in which a packed model is copied.
const copyPiece = 4 << 20

// Truncate removes the tensors from the n-th on, which are then neither found nor
// fetched.
func (f *File) Truncate(n int) {
	for i := n; i < len(f.Tensors); i++ {
		delete(f.index, f.Tensors[i].Name)
	}
	f.Tensors = f.Tensors[:n:n]
}

// CopyPack copies a packed model, [IsPack], unchanged to an empty file, and verifies its
// checksums: the copy receives its header last, and only if everything is right. It takes
// a few MiB of memory. progress is called after each piece with its bytes, never
// concurrently; its error stops the copy.
func (f *File) CopyPack(to io.WriterAt, progress func(n int64) error) error {
	sums, err := f.packSums()
	if err != nil {
		return err
	}
	if len(f.parts) != 1 || len(f.Tensors) == 0 {
		return fmt.Errorf("checkpoint %s: a packed model is one file with tensors", f.name)
	}
	c := &copying{file: f, to: to, sums: sums, progress: progress}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)+1, len(f.Tensors)) { // one more: they wait for the source
		group.Go(c.work)
	}
	if group.Wait(); c.err != nil {
		return c.err
	}
	header := io.NewSectionReader(f.parts[0].r, 0, f.Tensors[0].Offset)
	_, err = io.Copy(io.NewOffsetWriter(to, 0), header)
	return err
}

// copying is a copy in progress.
type copying struct {
	file *File
	to   io.WriterAt
	sums []uint32

	mu       sync.Mutex
	progress func(n int64) error
	next     int // tensor
	err      error
}

// work copies one tensor after the other.
func (c *copying) work() {
	buffer := make([]byte, copyPiece)
	for {
		c.mu.Lock()
		i := c.next
		c.next++
		failed := c.err != nil
		c.mu.Unlock()
		if failed || i >= len(c.file.Tensors) {
			return
		}
		if err := c.tensor(i, buffer); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *copying) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// tensor copies a tensor.
func (c *copying) tensor(i int, buffer []byte) error {
	t, sum := &c.file.Tensors[i], uint32(0)
	for done := int64(0); done < t.Size; {
		p := buffer[:min(t.Size-done, copyPiece)]
		if k, err := c.file.parts[0].r.ReadAt(p, t.Offset+done); k < len(p) {
			return c.file.fail(t, fmt.Errorf("offset %d: %w", t.Offset+done+int64(k), noEOF(err)))
		}
		sum = crc32.Update(sum, castagnoli(), p)
		if _, err := c.to.WriteAt(p, t.Offset+done); err != nil {
			return err
		}
		done += int64(len(p))
		if err := c.report(int64(len(p))); err != nil {
			return err
		}
	}
	if sum != c.sums[i] {
		return c.file.fail(t, fmt.Errorf("checksum %08x, not %08x: the file is damaged", sum, c.sums[i]))
	}
	return nil
}

func (c *copying) report(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress(n)
}
