package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A shape describes the operands of an instruction, in the order of the Arm Architecture
// Reference Manual (DDI 0487): destination first.
type shape struct {
	arrangements []string // of the vector registers; "s[]" and "4b[]" are elements, "#" an immediate
	bits         uint32   // the fields Q and size or sz that the arrangements stand for
}

var (
	three4S = shape{[]string{"4s", "4s", "4s"}, bitQ}
	three2D = shape{[]string{"2d", "2d", "2d"}, bitQ | bitSZ}
	two4S   = shape{[]string{"4s", "4s"}, bitQ}
	element = shape{[]string{"4s", "4s", "s[]"}, bitQ}
	all16B  = shape{[]string{"4s", "16b", "16b"}, bitQ}
	fourB   = shape{[]string{"4s", "16b", "4b[]"}, bitQ}
	shift4S = shape{[]string{"4s", "4s", "#"}, bitQ}
	low2D   = shape{[]string{"2d", "2s"}, bitSZ}
	high2D  = shape{[]string{"2d", "4s"}, bitQ | bitSZ}
	low4S   = shape{[]string{"4s", "4h"}, 0}
	high4S  = shape{[]string{"4s", "8h"}, bitQ}
	low8H   = shape{[]string{"8h", "8b", "8b"}, 0}
	high8H  = shape{[]string{"8h", "16b", "16b"}, bitQ}
	wide8H  = shape{[]string{"8h", "8b"}, 1 << 19}
	wide4S  = shape{[]string{"4s", "4h"}, 1 << 20}
	upper8H = shape{[]string{"8h", "16b"}, bitQ | 1<<19}
	upper4S = shape{[]string{"4s", "8h"}, bitQ | 1<<20}
	pairs8H = shape{[]string{"4s", "8h"}, bitQ | bitSZ}
)

// Fields of Advanced SIMD instructions.
const (
	bitQ  = 1 << 30 // 128 bits wide
	bitU  = 1 << 29 // the second half of the opcode space
	bitO  = 1 << 23 // likewise: the upper bit of size
	bitSZ = 1 << 22 // float64, or the lower bit of size
)

// same is the class "three registers of the same type": 0 Q U 01110 size 1 Rm opcode 1 Rn Rd.
func same(fields, opcode uint32) uint32 {
	return 0b01110<<24 | 1<<21 | 1<<10 | fields | opcode<<11
}

// extra is the class "three registers, extension": 0 Q U 01110 size 0 Rm 1 opcode 1 Rn Rd.
func extra(fields, opcode uint32) uint32 { return 0b01110<<24 | 1<<15 | 1<<10 | fields | opcode<<11 }

// different is the class "three registers, different types": 0 Q U 01110 size 1 Rm opcode 00 Rn Rd.
func different(fields, opcode uint32) uint32 { return 0b01110<<24 | 1<<21 | fields | opcode<<12 }

// misc is the class "two registers, miscellaneous": 0 Q U 01110 size 10000 opcode 10 Rn Rd.
func misc(fields, opcode uint32) uint32 {
	return 0b01110<<24 | 0b10000<<17 | 0b10<<10 | fields | opcode<<12
}

// byElement is the class "vector by indexed element": 0 Q U 01111 size L M Rm opcode H 0 Rn Rd.
func byElement(fields, opcode uint32) uint32 { return 0b01111<<24 | fields | opcode<<12 }

// shifted is the class "shift by immediate": 0 Q U 011110 immh immb opcode 1 Rn Rd.
func shifted(fields, opcode uint32) uint32 { return 0b011110<<23 | 1<<10 | fields | opcode<<11 }

// An instruction is an instruction unknown to Go's assembler, in the shapes of one class.
type instruction struct {
	code   uint32
	shapes []shape
}

var instructions = map[string][]instruction{
	"fadd":   {{same(0, 0b11010), []shape{three4S, three2D}}},
	"fsub":   {{same(bitO, 0b11010), []shape{three4S}}},
	"fmul":   {{same(bitU, 0b11011), []shape{three4S}}, {byElement(bitO, 0b1001), []shape{element}}},
	"fdiv":   {{same(bitU, 0b11111), []shape{three4S}}},
	"fmax":   {{same(0, 0b11110), []shape{three4S}}},
	"fmin":   {{same(bitO, 0b11110), []shape{three4S}}},
	"faddp":  {{same(bitU, 0b11010), []shape{three4S, three2D}}},
	"fmaxp":  {{same(bitU, 0b11110), []shape{three4S}}},
	"fcmge":  {{same(bitU, 0b11100), []shape{three4S}}},
	"fcmgt":  {{same(bitU|bitO, 0b11100), []shape{three4S, three2D}}},
	"fabs":   {{misc(bitO, 0b01111), []shape{two4S}}},
	"fneg":   {{misc(bitU|bitO, 0b01111), []shape{two4S}}},
	"fsqrt":  {{misc(bitU|bitO, 0b11111), []shape{two4S}}},
	"frintn": {{misc(0, 0b11000), []shape{two4S}}},
	"fcvtns": {{misc(0, 0b11010), []shape{two4S}}},
	"fcvtl":  {{misc(0, 0b10111), []shape{low2D, low4S}}},
	"fcvtl2": {{misc(0, 0b10111), []shape{high2D, high4S}}},
	"fmla":   {{byElement(bitO, 0b0001), []shape{element}}},
	"umaxp":  {{same(bitU|bitO, 0b10100), []shape{three4S}}},
	"sdot":   {{byElement(bitO, 0b1110), []shape{fourB}}},
	"smmla":  {{extra(bitO, 0b0100), []shape{all16B}}},
	"smull":  {{different(0, 0b1100), []shape{low8H}}},
	"smull2": {{different(0, 0b1100), []shape{high8H}}},
	"sadalp": {{misc(0, 0b00110), []shape{pairs8H}}},
	"scvtf":  {{misc(0, 0b11101), []shape{two4S}}},
	"sxtl":   {{shifted(0, 0b10100), []shape{wide8H, wide4S}}},
	"sxtl2":  {{shifted(0, 0b10100), []shape{upper8H, upper4S}}},
	"uxtl":   {{shifted(bitU, 0b10100), []shape{wide8H, wide4S}}},
	"uxtl2":  {{shifted(bitU, 0b10100), []shape{upper8H, upper4S}}},
	"sshr":   {{shifted(0, 0b00000), []shape{shift4S}}},
}

// encode assembles one instruction, written in the syntax of GNU as.
func encode(text string) (uint32, error) {
	name, rest, _ := strings.Cut(text, " ")
	operands := strings.Split(rest, ", ")
	for _, i := range instructions[name] {
		for _, s := range i.shapes {
			if len(s.arrangements) != len(operands) {
				continue
			}
			if fields, ok := s.encode(operands); ok {
				return i.code | s.bits | fields, nil
			}
		}
	}
	return 0, fmt.Errorf("cannot encode %q", text)
}

// encode returns the fields of the operands: Rd in bit 0, Rn in bit 5, Rm, an element
// or a shift from bit 16.
func (s shape) encode(operands []string) (fields uint32, ok bool) {
	for i, arrangement := range s.arrangements {
		var v uint32
		switch {
		case arrangement == "#":
			v, ok = rightShift(operands[i])
		case strings.HasSuffix(arrangement, "[]"):
			v, ok = laneOf(operands[i], "."+strings.TrimSuffix(arrangement, "[]"))
		default:
			v, ok = register(operands[i], "."+arrangement)
			v <<= [...]int{0, 5, 16}[i]
		}
		if !ok {
			return 0, false
		}
		fields |= v
	}
	return fields, true
}

// register reads "v31.4s".
func register(operand, arrangement string) (uint32, bool) {
	number, prefix := strings.CutPrefix(operand, "v")
	number, suffix := strings.CutSuffix(number, arrangement)
	return decimal(number, 32, prefix && suffix)
}

// laneOf reads "v31.s[3]" or, of four bytes, "v31.4b[3]": the register is M:Rm (bits 20
// to 16), the lane H:L (bits 11 and 21).
func laneOf(operand, arrangement string) (uint32, bool) {
	name, index, found := strings.Cut(operand, "[")
	m, ok := register(name, arrangement)
	number, closed := strings.CutSuffix(index, "]")
	lane, valid := decimal(number, 4, found && closed && ok)
	return m<<16 | lane&1<<21 | lane>>1<<11, valid
}

// rightShift reads "#1": immh:immb is 64 less the shift for lanes of 32 bits.
func rightShift(operand string) (uint32, bool) {
	number, prefix := strings.CutPrefix(operand, "#")
	n, ok := decimal(number, 33, prefix)
	return (64 - n) << 16, ok && n > 0
}

// decimal parses a number below the limit in its canonical form; ok is false otherwise.
func decimal(s string, limit uint64, ok bool) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	if !ok || err != nil || n >= limit || s != strconv.FormatUint(n, 10) {
		return 0, false
	}
	return uint32(n), true
}
