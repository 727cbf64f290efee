package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"glossa/pkg/engine/dtype"
)

// A packed model is a safetensors file whose tensors have their layout in memory and the
// order of their use, each at a multiple of 64 bytes. Its __metadata__ describes the
// model. These keys belong to this package; PackVersion comes first.
const (
	packVersionKey = "glossa.version"
	packSumsKey    = "glossa.checksums" // "name:CRC-32C ...", in hexadecimal
	packMetaName   = "__metadata__"     // in the checksums: keys and values of the others, sorted
)

// Versions of packed models. PackVersion is written; both are read. They differ in the
// description of the model, which this package does not interpret.
const (
	PackVersion  = "2"
	PackVersion1 = "1"
)

// PackSuffix is the suffix of packed models, the usual one of safetensors.
const PackSuffix = ".safetensors"

// packAlign is the alignment of tensors in a packed model, in bytes.
const packAlign = 64

// packBegin follows the length of the header in every packed model.
const packBegin = `{"` + packMetaName + `":{"` + packVersionKey + `":"`

// A PackTensor is a tensor to write to a packed model.
type PackTensor struct {
	Name  string // without spaces
	Type  dtype.Type
	Shape []int
}

// A PackWriter writes a packed model.
type PackWriter struct {
	to      io.WriterAt
	meta    map[string]string
	tensors []TensorInfo
	header  int64 // bytes, including its length

	mu   sync.Mutex
	sums []uint32 // of the tensors
}

// NewPackWriter begins a packed model in an empty file. meta describes the model.
func NewPackWriter(to io.WriterAt, meta map[string]string, tensors []PackTensor) (*PackWriter, error) {
	p := &PackWriter{to: to, meta: meta, sums: make([]uint32, len(tensors))}
	at := int64(0)
	for _, t := range tensors {
		size, err := sizeOf(t.Type, t.Shape)
		switch {
		case err != nil:
			return nil, fmt.Errorf("tensor %.80q: %w", t.Name, err)
		case strings.ContainsAny(t.Name, " :"):
			return nil, fmt.Errorf("tensor %.80q: a name with a space or a colon", t.Name)
		case size%packAlign != 0 || size > math.MaxInt64/2-at:
			return nil, fmt.Errorf("tensor %.80q: %d bytes from %d on", t.Name, size, at)
		}
		p.tensors = append(p.tensors, TensorInfo{Name: t.Name, Type: t.Type, Shape: t.Shape, Offset: at, Size: size})
		at += size
	}
	header, err := p.encode()
	if err != nil {
		return nil, err
	}
	if p.header = int64(len(header)); p.header > maxSafetensorsHeader {
		return nil, fmt.Errorf("a description of %d bytes, at most %d", p.header, maxSafetensorsHeader)
	}
	return p, nil
}

// Write writes the bytes of a tensor, which the caller may then change. Tensors may be
// written in any order, and concurrently.
func (p *PackWriter) Write(tensor int, data []byte) error {
	t := &p.tensors[tensor]
	if int64(len(data)) != t.Size {
		return fmt.Errorf("tensor %q: %d bytes, not %d", t.Name, len(data), t.Size)
	}
	sum := crc32.Checksum(data, castagnoli())
	p.mu.Lock()
	p.sums[tensor] = sum
	p.mu.Unlock()
	_, err := p.to.WriteAt(data, p.header+t.Offset)
	return err
}

// Close writes the header, after all tensors: only then is the file a packed model. It does
// not close the file.
func (p *PackWriter) Close() error {
	header, err := p.encode()
	if err != nil {
		return err
	}
	_, err = p.to.WriteAt(header, 0)
	return err
}

// encode returns the header with its length, which does not depend on the checksums.
func (p *PackWriter) encode() ([]byte, error) {
	sums := []string{fmt.Sprintf("%s:%08x", packMetaName, metaSum(p.meta))}
	for i := range p.tensors {
		sums = append(sums, fmt.Sprintf("%s:%08x", p.tensors[i].Name, p.sums[i]))
	}
	b := make([]byte, 8, 1<<20)
	b = append(b, packBegin+PackVersion+`"`...)
	member := func(name string, value any) error {
		raw, err := json.Marshal(value)
		b = fmt.Appendf(b, ",%q:", name)
		b = append(b, raw...)
		return err
	}
	err := member(packSumsKey, strings.Join(sums, " "))
	for _, key := range slices.Sorted(maps.Keys(p.meta)) {
		err = errors.Join(err, member(key, p.meta[key]))
	}
	b = append(b, '}')
	for i := range p.tensors {
		t := &p.tensors[i]
		err = errors.Join(err, member(t.Name, map[string]any{
			"dtype": t.Type, "shape": t.Shape, "data_offsets": []int64{t.Offset, t.Offset + t.Size},
		}))
	}
	b = append(b, '}')
	for len(b)%packAlign != 0 {
		b = append(b, ' ')
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b, err
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// metaSum returns the checksum of the description of a model.
func metaSum(meta map[string]string) uint32 {
	h := crc32.New(castagnoli())
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != packVersionKey && key != packSumsKey {
			fmt.Fprintf(h, "%s\x00%s\x00", key, meta[key]) // never fails
		}
	}
	return h.Sum32()
}

// IsPack reports whether a file is a packed model, by its first bytes. The error is that of
// reading; a missing file is not an error.
func IsPack(fsys fs.FS, name string) (bool, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, exceptNone(err)
	}
	defer f.Close()
	info, err := f.Stat()
	var first [8 + len(packBegin)]byte
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	if _, err = io.ReadFull(f, first[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
		return false, nil // too short to be one
	}
	return err == nil && string(first[8:]) == packBegin, err
}

// exceptNone returns err unless it is fs.ErrNotExist. A concurrently replaced object is
// an error: it exists in another version.
func exceptNone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// PackVersion returns the version of a packed model. Other versions are an error.
func (f *File) PackVersion() (string, error) {
	v, err := f.Meta.Text(packVersionKey)
	if err == nil && v != PackVersion && v != PackVersion1 {
		err = fmt.Errorf("%s: a packed model of version %.20q, not %s or %s", packVersionKey, v, PackVersion, PackVersion1)
	}
	return v, err
}

// Digest returns a short hash of a packed model's checksums, and thereby of its content.
func (f *File) Digest() string {
	sums, _ := f.Meta.Text(packSumsKey)
	digest := sha256.Sum256([]byte(sums))
	return hex.EncodeToString(digest[:6])
}

// packSums returns the checksums of a packed model, by tensor, and verifies that of its
// description.
func (f *File) packSums() ([]uint32, error) {
	meta := map[string]string{}
	for key, value := range f.Meta {
		if text, ok := value.(string); ok {
			meta[key] = text
		}
	}
	if _, err := f.PackVersion(); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", f.name, err)
	}
	sums, found, described := make([]uint32, len(f.Tensors)), 0, false
	for field := range strings.FieldsSeq(meta[packSumsKey]) {
		name, digits, _ := strings.Cut(field, ":")
		var sum uint32
		if n, err := fmt.Sscanf(digits, "%08x", &sum); n != 1 || len(digits) != 8 {
			return nil, fmt.Errorf("checkpoint %s: %s: %.80q is not a checksum: %w", f.name, packSumsKey, field, cmp.Or(err, errors.ErrUnsupported))
		}
		if name == packMetaName {
			if described = true; sum != metaSum(meta) {
				return nil, fmt.Errorf("checkpoint %s: the description of the model has checksum %08x, not %08x: it was changed", f.name, metaSum(meta), sum)
			}
		} else if i, ok := f.index[name]; ok {
			sums[i] = sum
			found++
		}
	}
	if found != len(f.Tensors) || !described {
		return nil, fmt.Errorf("checkpoint %s: %s: checksums of %d tensors of %d", f.name, packSumsKey, found, len(f.Tensors))
	}
	return sums, nil
}
