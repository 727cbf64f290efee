// Package fit chooses the quantisation of a model that fits into a memory, and says why.
// It refuses to know how much memory there is, where models come from and how weights are
// encoded: it compares names and sizes.
package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Candidate is one quantisation of a model.
type Candidate struct {
	Name string // as the repository spells it, such as Q4_K_M
	Size int64  // of its weights, bytes
}

// A Choice is a quantisation and the reason for it.
type Choice struct {
	Index  int    // of the candidate
	Reason string // the end of a sentence that begins with its name
}

// fine is the quantisation that differs least from the original weights at half their size.
// It is chosen if it takes at most half of the room: a larger one answers slowly.
const fine = "Q8_0"

// preferred returns the quantisations of GGUF in the order in which they are chosen:
// Q4_K_M, the common balance of quality and size, its neighbours, then those that need more
// memory, then those that lose quality.
func preferred() []string {
	return []string{
		"Q4_K_M", "Q4_K_L", "Q4_K_S", "IQ4_XS", "IQ4_NL", "Q4_0", "Q4_1", "MXFP4", "MXFP4_MOE",
		"Q5_K_M", "Q5_K_L", "Q5_K_S", "Q5_0", "Q5_1", "Q6_K", "Q6_K_L", fine, "BF16", "F16",
		"Q3_K_L", "Q3_K_XL", "Q3_K_M", "Q3_K_S", "Q2_K", "Q2_K_L", "Q2_K_S", "F32",
	}
}

// Known reports whether a name is that of a quantisation that [Choose] can choose.
func Known(name string) bool { return slices.Contains(preferred(), strings.ToUpper(name)) }

// Choose chooses among candidates the one for weights of at most room bytes; room 0 is
// unknown and bounds nothing. Candidates with other names than [Known] ones are not chosen.
// The error says how much the smallest needs.
func Choose(list []Candidate, room int64) (Choice, error) {
	rank := func(name string) int { return slices.Index(preferred(), strings.ToUpper(name)) }
	best, smallest := -1, -1
	for i, c := range list {
		r := rank(c.Name)
		if r < 0 {
			continue
		}
		if smallest < 0 || c.Size < list[smallest].Size {
			smallest = i
		}
		if room > 0 && c.Size > room {
			continue
		}
		if room > 0 && strings.EqualFold(c.Name, fine) && c.Size <= room/2 {
			return Choice{i, "is the closest to the original weights and takes at most half of that memory"}, nil
		}
		if best < 0 || r < rank(list[best].Name) {
			best = i
		}
	}
	switch {
	case smallest < 0:
		return Choice{}, errors.New("none of its quantisations is supported")
	case best < 0:
		return Choice{}, &TooLargeError{Need: list[smallest].Size, Room: room, Name: list[smallest].Name}
	case room == 0:
		return Choice{best, "is the common balance of quality and size; the memory of this machine is not known"}, nil
	case rank(list[best].Name) == 0:
		return Choice{best, "is the common balance of quality and size, and fits"}, nil
	}
	return Choice{best, "is the best of those that fit"}, nil
}

// A TooLargeError is the error of a model of which no form fits.
type TooLargeError struct {
	Name       string // of the smallest form
	Need, Room int64  // bytes
}

// Error says what the model needs and what there is.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it does not fit into memory: its smallest form, %s, needs %s, and weights may take %s", e.Name, Bytes(e.Need), Bytes(e.Room))
}

// Format chooses the format of weights in memory: as they are stored if that fits, else the
// largest of the other formats that fits. sizes are the bytes of the weights by format,
// "stored" among them. Formats of one size hold the same weights, as narrow matrices are in q8_0
// where q6_k would be larger: the last name says it.
func Format(sizes map[string]int64, room int64) (name, reason string, err error) {
	stored := sizes["stored"]
	if room == 0 || stored <= room {
		return "stored", "", nil
	}
	smallest := "stored"
	for format, size := range sizes {
		if size > 0 && (size < sizes[smallest] || size == sizes[smallest] && format > smallest) {
			smallest = format
		}
		if size > 0 && size <= room && (name == "" || size > sizes[name] || size == sizes[name] && format > name) {
			name = format
		}
	}
	if name == "" {
		return "", "", &TooLargeError{Name: smallest, Need: sizes[smallest], Room: room}
	}
	return name, fmt.Sprintf("its weights need %s as stored, and may take %s: they are loaded as %s, which needs %s",
		Bytes(stored), Bytes(room), name, Bytes(sizes[name])), nil
}

// Paged says why experts of a model stay in its file.
func Paged(stored, room int64) string {
	return fmt.Sprintf("its weights need %s, and may take %s: the experts that were used last are in memory, the others stay in the file", Bytes(stored), Bytes(room))
}

// Bytes formats a size for people in decimal units: 4.9 GB.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
