package checkpoint

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/dtype"
)

// torchFile returns a file that torch.save has written of a Linear (20 or 32, 32).
func torchFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/bge-m3/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file of torch.save has the tensors of its state_dict.
func TestTorch(t *testing.T) {
	f, err := Open(fstest.MapFS{"x.pt": {Data: torchFile(t, "colbert_linear.pt")}}, "x.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Tensors) != 2 || f.Tensors[0].Name != "weight" || f.Tensors[0].Type != dtype.F16 || !slices.Equal(f.Tensors[0].Shape, []int{32, 32}) ||
		f.Tensors[1].Name != "bias" || !slices.Equal(f.Tensors[1].Shape, []int{32}) {
		t.Fatalf("%+v", f.Tensors)
	}
	whole, err := f.Float32("weight", nil)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]float32, 32)
	if err := f.Values("weight", 96, part); err != nil || !slices.Equal(part, whole[96:128]) {
		t.Errorf("%v, want %v, %v", part, whole[96:128], err)
	}
	for _, v := range whole { // torch initialises a Linear within 1/√32
		if !(v > -0.18 && v < 0.18) || v == 0 {
			t.Errorf("value %v", v)
		}
	}
}

// Damaged and hostile files are rejected with what is wrong, and nothing is executed.
func TestHostileTorch(t *testing.T) {
	whole := torchFile(t, "sparse_linear.pt")
	replace := func(old, new string) []byte {
		if len(old) != len(new) || !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("%q for %q", new, old)
		}
		return bytes.ReplaceAll(whole, []byte(old), []byte(new))
	}
	end := bytes.LastIndex(whole, []byte("PK\x05\x06"))
	directory := bytes.Index(whole, []byte("PK\x01\x02"))
	at := func(i int, b ...byte) []byte {
		data := slices.Clone(whole)
		copy(data[i:], b)
		return data
	}
	u32 := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"truncated":   {whole[:end], "the directory of the zip is missing"},
		"short":       {whole[:10], "the directory of the zip is missing"},
		"no pickle":   {replace("/data.pkl", "/data.pki"), "there is no data.pkl"},
		"code":        {replace("ctorch._utils\n_rebuild_tensor_v2", "cposix1234567\nsystem678901234567"), `"posix1234567 system678901234567" is not supported`},
		"storage":     {replace("HalfStorage", "EvilStorage"), `"torch EvilStorage" is not supported`},
		"dict":        {replace("ccollections\nOrderedDict", "ccollections\nDefaultDict"), "is not supported"},
		"key":         {replace("/data/0", "/data/9"), `tensor "weight": there is no data/0`},
		"shape":       {replace("K K\x01\x86", "K K\x02\x86"), "stride [32 2] of shape [1 32] is not row-major"},
		"larger":      {replace("K\x01K \x86q", "K K \x86q"), "needs more than the 64 bytes"},
		"protocol":    {replace("\x80\x02c", "\x80\x04c"), "protocol 4 is not supported"},
		"operation":   {replace("\x80\x02c", "\x80\x02i"), `operation 'i' is not one of those of a state_dict`},
		"byteorder":   {replace("little", "big   "), `byteorder: "big   " is not supported`},
		"compressed":  {at(directory+10, 8), "is compressed or encrypted"},
		"encrypted":   {at(directory+8, 1), "is compressed or encrypted"},
		"offset":      {at(end+16, u32(uint32(len(whole)))...), "a directory of"},
		"length":      {at(end+12, u32(1<<30)...), "a directory of 1073741824 bytes, at most"},
		"zip64":       {at(end+16, u32(1<<32-1)...), "zip64 is not supported"},
		"damaged":     {at(directory, 0), "the directory of the zip is damaged"},
		"header":      {at(directory+42, u32(7)...), "there is no header of a file"},
		"far header":  {at(directory+42, u32(1<<31)...), "unexpected EOF"},
		"long pickle": {at(directory+20, append(u32(5<<20), u32(5<<20)...)...), "truncated"},
	} {
		_, err := OpenTorch(bytes.NewReader(c.data), int64(len(c.data)), "x.pt")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "checkpoint x.pt: ") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Pickles that do not fit are rejected, and bounded.
func TestHostilePickle(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "unexpected end",
		"\x80\x02.":                  "0 values at the end",
		"\x80\x02K\x01.":             "it is not a state_dict",
		"}X\x01\x00\x00\x00aK\x01s.": `"a" is not a tensor`,
		"}K\x01K\x01s.":              "a key is not a text",
		"K\x01K\x01s.":               "do not fit",
		"(K\x01u.":                   "do not fit",
		"t.":                         "do not fit",
		"\x87.":                      "do not fit",
		"q\x00.":                     "do not fit",
		"h\x05.":                     "value 5 was not remembered",
		"X\xff\xff\xff\xff.":         "a text of 4294967295 bytes",
		"X\x05\x00\x00\x00a":         "unexpected end",
		"\x8a\x09" + strings.Repeat("\xff", 9) + ".": "an integer is",
		"\x8a\x01\xff.":                          "an integer is negative",
		"c" + strings.Repeat("x", 2000):          "the name of a class does not end",
		"K\x01Q.":                                "not the id of a storage",
		"K\x01)R.":                               "do not fit",
		"ctorch._utils\n_rebuild_tensor_v2\n)R.": "do not fit",
		"K\x01K\x01b.":                           "do not fit",
		strings.Repeat("N", maxPickleStack+2):    "more than 262144 values",
		"(" + strings.Repeat("}q\x00", 3) + "X\x01\x00\x00\x00au.": "do not fit",
	} {
		if _, err := unpickleTensors([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func FuzzTorch(f *testing.F) {
	f.Add(torchFile(f, "sparse_linear.pt"))
	f.Add(torchFile(f, "colbert_linear.pt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenTorch(bytes.NewReader(data), int64(len(data)), "x.pt")
		if err != nil {
			return
		}
		for i := range file.Tensors {
			if info := &file.Tensors[i]; info.Offset < 0 || info.Size < 0 || info.Offset+info.Size > int64(len(data)) {
				t.Errorf("tensor %+v in a file of %d bytes", info, len(data))
			}
		}
	})
}
