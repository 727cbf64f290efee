package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"glossa/pkg/engine/dtype"
)

// Bounds of a file of PyTorch.
const (
	maxTorchPickle    = 4 << 20 // bytes of data.pkl
	maxTorchDirectory = 8 << 20 // bytes of the zip's directory
	maxTorchEntries   = 1 << 16 // files of the zip
	maxZipComment     = 1<<16 - 1
)

// Signatures and sizes of a zip's records, without their variable parts (PKWARE's APPNOTE 6.3,
// 4.3.7, 4.3.12 and 4.3.16).
const (
	zipLocal, zipLocalSize         = 0x04034b50, 30
	zipEntry, zipEntrySize         = 0x02014b50, 46
	zipEnd, zipEndSize             = 0x06054b50, 22
	zipStored, zipEncrypted        = 0, 1
	torchMagic                     = "PK\x03\x04"
	torchData, torchOrder          = "/data.pkl", "/byteorder"
	torchLittle, maxTorchOrderSize = "little", 16
)

// OpenTorch reads the directory of a file that torch.save has written of a state_dict: a zip
// without compression, whose data.pkl describes the tensors. Nothing of it is executed: any
// other object is rejected by its name. Tensors may share their values.
func OpenTorch(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, Meta: Meta{}, parts: []part{{name, r}}, index: map[string]int{}}
	if err := f.readTorch(r, size); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return f, nil
}

// A zipFile is a file of a zip.
type zipFile struct {
	header int64 // offset of its local header
	size   int64
}

func (f *File) readTorch(r io.ReaderAt, size int64) error {
	files, err := zipFiles(r, size)
	if err != nil {
		return err
	}
	root := ""
	for name := range files {
		if dir, ok := strings.CutSuffix(name, torchData); ok && !strings.Contains(dir, "/") {
			if root != "" {
				return errors.New("several data.pkl")
			}
			root = dir
		}
	}
	if root == "" {
		return errors.New("there is no data.pkl: only files of torch.save are supported")
	}
	if order, ok := files[root+torchOrder]; ok {
		text, err := order.read(r, size, maxTorchOrderSize)
		if err != nil {
			return fmt.Errorf("byteorder: %w", err)
		}
		if string(text) != torchLittle {
			return fmt.Errorf("byteorder: %.20q is not supported, only %s", text, torchLittle)
		}
	}
	text, err := files[root+torchData].read(r, size, maxTorchPickle)
	if err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	tensors, err := unpickleTensors(text)
	if err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	for _, t := range tensors {
		if err := f.addTorch(&t, files, root, r, size); err != nil {
			return fmt.Errorf("tensor %.80q: %w", t.name, err)
		}
	}
	return nil
}

// torchTypes are the storages of torch by the names of their classes.
var torchTypes = map[string]dtype.Type{
	"FloatStorage": dtype.F32, "HalfStorage": dtype.F16, "BFloat16Storage": dtype.BF16, "DoubleStorage": dtype.F64, "LongStorage": dtype.I64,
}

// addTorch adds a tensor whose values are in a file of the zip.
func (f *File) addTorch(t *torchTensor, files map[string]zipFile, root string, r io.ReaderAt, size int64) error {
	kind, ok := torchTypes[t.storage]
	if !ok {
		return fmt.Errorf("torch.%.40s is not supported", t.storage)
	}
	info := TensorInfo{Name: t.name, Type: kind, Shape: t.shape}
	var err error
	if info.Size, err = sizeOf(kind, t.shape); err != nil {
		return err
	}
	want := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.stride[i] != want {
			return fmt.Errorf("stride %v of shape %v is not row-major", t.stride, t.shape)
		}
		want *= t.shape[i]
	}
	values, ok := files[root+"/data/"+t.key]
	if !ok {
		return fmt.Errorf("there is no data/%.40s", t.key)
	}
	at, err := values.offset(r, size)
	if err != nil {
		return err
	}
	_, each := kind.Block()
	if first := int64(t.offset); first > (values.size-info.Size)/int64(each) || info.Size > values.size {
		return fmt.Errorf("shape %v of %s from value %d needs more than the %d bytes of data/%.40s", t.shape, kind, first, values.size, t.key)
	}
	info.Offset = at + int64(t.offset)*int64(each)
	if len(f.Tensors) == maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	return f.add(info)
}

// zipFiles reads the directory of a zip whose files are stored without compression.
func zipFiles(r io.ReaderAt, size int64) (map[string]zipFile, error) {
	tail := make([]byte, min(size, zipEndSize+maxZipComment))
	if k, err := r.ReadAt(tail, size-int64(len(tail))); k < len(tail) {
		return nil, noEOF(err)
	}
	at := bytes.LastIndex(tail, binary.LittleEndian.AppendUint32(nil, zipEnd))
	if at < 0 || len(tail)-at < zipEndSize {
		return nil, errors.New("the directory of the zip is missing: truncated")
	}
	end := tail[at:]
	u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	count, length, offset := int(u16(end[10:])), int64(u32(end[12:])), int64(u32(end[16:]))
	switch {
	case count == math.MaxUint16 || offset == math.MaxUint32:
		return nil, errors.New("zip64 is not supported: save the model as safetensors")
	case length > maxTorchDirectory:
		return nil, fmt.Errorf("a directory of %d bytes, at most %d", length, maxTorchDirectory)
	case offset > size || length > size-offset:
		return nil, fmt.Errorf("a directory of %d bytes at %d in a file of %d", length, offset, size)
	}
	directory := make([]byte, length)
	if k, err := r.ReadAt(directory, offset); k < len(directory) {
		return nil, noEOF(err)
	}
	files := make(map[string]zipFile, min(count, maxTorchEntries))
	for len(directory) > 0 {
		e := directory
		if len(e) < zipEntrySize || u32(e) != zipEntry {
			return nil, errors.New("the directory of the zip is damaged")
		}
		flags, method, packed, full := u16(e[8:]), u16(e[10:]), u32(e[20:]), u32(e[24:])
		whole := zipEntrySize + int(u16(e[28:])) + int(u16(e[30:])) + int(u16(e[32:]))
		if whole > len(e) {
			return nil, errors.New("the directory of the zip is damaged")
		}
		name := string(e[zipEntrySize:][:u16(e[28:])])
		switch _, twice := files[name]; {
		case method != zipStored || flags&zipEncrypted != 0 || packed != full:
			return nil, fmt.Errorf("%.80q is compressed or encrypted, which torch.save does not do", name)
		case twice:
			return nil, fmt.Errorf("%.80q appears twice", name)
		}
		files[name] = zipFile{header: int64(u32(e[42:])), size: int64(full)}
		directory = directory[whole:]
	}
	return files, nil
}

// offset returns where the bytes of the file begin.
func (z zipFile) offset(r io.ReaderAt, size int64) (int64, error) {
	var head [zipLocalSize]byte
	if z.header > size-zipLocalSize {
		return 0, io.ErrUnexpectedEOF
	}
	if k, err := r.ReadAt(head[:], z.header); k < len(head) {
		return 0, noEOF(err)
	}
	if binary.LittleEndian.Uint32(head[:]) != zipLocal {
		return 0, fmt.Errorf("offset %d: there is no header of a file", z.header)
	}
	at := z.header + zipLocalSize + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	if z.size > size-at {
		return 0, fmt.Errorf("%d bytes at %d in a file of %d: truncated", z.size, at, size)
	}
	return at, nil
}

// read returns the bytes of a file of at most limit bytes.
func (z zipFile) read(r io.ReaderAt, size, limit int64) ([]byte, error) {
	at, err := z.offset(r, size)
	switch {
	case err != nil:
		return nil, err
	case z.size > limit:
		return nil, fmt.Errorf("%d bytes, at most %d", z.size, limit)
	}
	data := make([]byte, z.size)
	if k, err := r.ReadAt(data, at); k < len(data) {
		return nil, noEOF(err)
	}
	return slices.Clip(data), nil
}
