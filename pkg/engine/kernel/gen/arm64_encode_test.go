package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// known holds the encoding of each instruction by GNU as 2.40.
var known = []struct {
	text string
	code uint32
}{
	{"fadd v0.4s, v1.4s, v2.4s", 0x4e22d420},
	{"fadd v31.2d, v16.2d, v7.2d", 0x4e67d61f},
	{"fsub v8.4s, v31.4s, v15.4s", 0x4eafd7e8},
	{"fmul v5.4s, v10.4s, v20.4s", 0x6e34dd45},
	{"fdiv v29.4s, v3.4s, v12.4s", 0x6e2cfc7d},
	{"fmax v17.4s, v18.4s, v19.4s", 0x4e33f651},
	{"fmin v1.4s, v2.4s, v4.4s", 0x4ea4f441},
	{"faddp v9.4s, v21.4s, v30.4s", 0x6e3ed6a9},
	{"faddp v16.2d, v8.2d, v24.2d", 0x6e78d510},
	{"fmaxp v11.4s, v22.4s, v13.4s", 0x6e2df6cb},
	{"fcmge v12.4s, v27.4s, v3.4s", 0x6e23e76c},
	{"fcmgt v6.4s, v25.4s, v14.4s", 0x6eaee726},
	{"fcmgt v6.2d, v25.2d, v14.2d", 0x6eeee726},
	{"fabs v31.4s, v1.4s", 0x4ea0f83f},
	{"fneg v2.4s, v30.4s", 0x6ea0fbc2},
	{"fsqrt v23.4s, v12.4s", 0x6ea1f997},
	{"frintn v7.4s, v24.4s", 0x4e218b07},
	{"fcvtns v27.4s, v5.4s", 0x4e21a8bb},
	{"fcvtl v28.2d, v9.2s", 0x0e61793c},
	{"fcvtl2 v10.2d, v26.4s", 0x4e617b4a},
	{"fmul v0.4s, v1.4s, v2.s[0]", 0x4f829020},
	{"fmul v29.4s, v17.4s, v31.s[3]", 0x4fbf9a3d},
	{"fmul v8.4s, v24.4s, v15.s[1]", 0x4faf9308},
	{"fcvtl v4.4s, v27.4h", 0x0e217b64},
	{"fcvtl2 v21.4s, v10.8h", 0x4e217955},
	{"umaxp v14.4s, v19.4s, v5.4s", 0x6ea5a66e},
	{"sdot v0.4s, v1.16b, v2.4b[0]", 0x4f82e020},
	{"sdot v30.4s, v13.16b, v31.4b[1]", 0x4fbfe1be},
	{"sdot v7.4s, v24.16b, v16.4b[2]", 0x4f90eb07},
	{"sdot v18.4s, v31.16b, v9.4b[3]", 0x4fa9ebf2},
	{"smmla v0.4s, v1.16b, v2.16b", 0x4e82a420},
	{"smmla v31.4s, v16.16b, v23.16b", 0x4e97a61f},
	{"smull v27.8h, v16.8b, v26.8b", 0x0e3ac21b},
	{"smull2 v6.8h, v21.16b, v11.16b", 0x4e2bc2a6},
	{"sadalp v5.4s, v26.8h", 0x4e606b45},
	{"fmla v0.4s, v1.4s, v2.s[0]", 0x4f821020},
	{"fmla v19.4s, v31.4s, v15.s[1]", 0x4faf13f3},
	{"fmla v8.4s, v16.4s, v16.s[2]", 0x4f901a08},
	{"fmla v31.4s, v30.4s, v31.s[3]", 0x4fbf1bdf},
	{"scvtf v3.4s, v29.4s", 0x4e21dba3},
	{"sxtl v16.8h, v7.8b", 0x0f08a4f0},
	{"sxtl v31.4s, v12.4h", 0x0f10a59f},
	{"sxtl2 v5.8h, v26.16b", 0x4f08a745},
	{"sxtl2 v18.4s, v9.8h", 0x4f10a532},
	{"uxtl v16.8h, v7.8b", 0x2f08a4f0},
	{"uxtl v31.4s, v12.4h", 0x2f10a59f},
	{"uxtl2 v5.8h, v26.16b", 0x6f08a745},
	{"uxtl2 v18.4s, v9.8h", 0x6f10a532},
	{"sshr v3.4s, v29.4s, #1", 0x4f3f07a3},
	{"sshr v16.4s, v15.4s, #17", 0x4f2f05f0},
	{"sshr v0.4s, v31.4s, #32", 0x4f2007e0},
}

func TestEncode(t *testing.T) {
	arrangement := regexp.MustCompile(`[v#]\d+(?:\.(\w+))?(?:(\[)\d\])?`)
	seen := map[string]bool{}
	for _, k := range known {
		if got, err := encode(k.text); err != nil || got != k.code {
			t.Errorf("%s is %#08x (%v), want %#08x", k.text, got, err, k.code)
		}
		seen[arrangement.ReplaceAllString(k.text, "$1$2")] = true
	}
	for name, list := range instructions {
		for _, i := range list {
			for _, s := range i.shapes {
				shape := strings.NewReplacer("]", "", "#", "").Replace(name + " " + strings.Join(s.arrangements, ", "))
				if !seen[shape] {
					t.Errorf("no known encoding of %s", shape)
				}
			}
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "fadd", "sdot v0.4s, v1.16b, v2.16b",
		"fadd v0.4s, v1.4s", "fadd v0.4s, v1.4s, v2.4s, v3.4s", "fadd v0.4s,v1.4s,v2.4s",
		"fadd v32.4s, v0.4s, v0.4s", "fadd v0.4s, v32.4s, v0.4s", "fadd v0.4s, v0.4s, v32.4s",
		"fadd v-1.4s, v0.4s, v0.4s", "fadd v00.4s, v0.4s, v0.4s", "fadd v.4s, v0.4s, v0.4s", "fadd 0.4s, v0.4s, v0.4s",
		"fadd v0.2s, v1.2s, v2.2s", "fadd v0.4s, v1.4s, v2.2d", "fmul v0.2d, v1.2d, v2.2d", "fabs v0.2d, v1.2d",
		"fcvtl v0.2d, v1.4s", "fcvtl2 v0.2d, v1.2s",
		"sdot v0.4s, v1.16b, v2.4b[4]", "sdot v0.4s, v1.16b, v2.s[0]", "sdot v0.4s, v1.4s, v2.4b[0]", "sdot v0.4s, v1.16b, v2.4b",
		"fmul v0.4s, v1.4s, v2.4b[0]", "fmul v0.2d, v1.2d, v2.s[0]", "fcvtl v0.4s, v1.8h", "fcvtl2 v0.4s, v1.4h",
		"smmla v0.4s, v1.4s, v2.4s", "smmla v0.4s, v1.16b, v2.4b[0]",
		"smull v0.8h, v1.16b, v2.16b", "smull2 v0.8h, v1.8b, v2.8b", "sadalp v0.4s, v1.4s",
		"fmla v0.4s, v1.4s, v2.s[4]", "fmla v0.4s, v1.4s, v32.s[0]", "fmla v0.4s, v1.4s, v2.s[-1]", "fmla v0.4s, v1.4s, v2.s[1", "fmla v0.4s, v1.4s, v2.4s",
		"sshr v0.4s, v1.4s, #0", "sshr v0.4s, v1.4s, #33", "sshr v0.4s, v1.4s, 1", "sshr v0.4s, v1.4s, #",
	} {
		if code, err := encode(text); err == nil {
			t.Errorf("%q is taken for %#08x", text, code)
		}
	}
}

// TestWords: every word of the assembly has a comment with its instruction.
func TestWords(t *testing.T) {
	list, err := filesARM64()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernel_neon_arm64.s", "kernel_dotprod_arm64.s", "kernel_i8mm_arm64.s"} {
		text := string(list[name])
		words := wordLine.FindAllStringSubmatch(text, -1)
		if n := strings.Count(text, "WORD"); n == 0 || n != len(words) {
			t.Fatalf("%s: %d words, %d of them with their instruction", name, n, len(words))
		}
		for _, w := range words {
			want, err := encode(w[2])
			if got, bad := strconv.ParseUint(w[1], 16, 32); err != nil || bad != nil || uint32(got) != want {
				t.Errorf("%s: %s: %#08x (%v)", name, w[0], want, err)
			}
		}
	}
}

var wordLine = regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // (.+)$`)

// TestErrorIsKept: an instruction that cannot be encoded fails the run.
func TestErrorIsKept(t *testing.T) {
	n := &neon{}
	n.word("fadd v%d.4s, v0.4s, v0.4s", 32)
	n.word("fadd v0.4s, v0.4s, v0.4s")
	if n.err == nil {
		t.Error("no error for register 32")
	}
}
