package corpus

import (
	"fmt"
	"strings"
)

// Notes are counted from 0 = C (ABC "C") to 13 = b, one letter each; durations
// are in eighths (L:1/8).
const (
	noteLetters = "CDEFGABcdefgab"
	maxTune     = 240 // bytes, header and body
	tuneBars    = 8
)

// abcMetre is a time signature and the rhythms of its bars.
type abcMetre struct {
	name   string
	units  int     // eighths in a bar
	halves [][]int // rhythms of one cell; the cells of a bar fill units
	last   [][]int // rhythms of the closing bar: the final note is long
	pause  [][]int // rhythms of the bar that ends the first line
}

var abcMetres = []abcMetre{
	{
		name: "4/4", units: 8,
		halves: [][]int{{1, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1}, {1, 1, 2}, {2, 2}, {3, 1}, {1, 2, 1}},
		last:   [][]int{{1, 1, 1, 1, 4}, {2, 1, 1, 4}, {1, 1, 2, 4}, {3, 1, 4}, {2, 2, 4}, {1, 1, 1, 1, 2, 2}, {2, 1, 1, 2, 2}},
		pause:  [][]int{{1, 1, 1, 1, 4}, {2, 1, 1, 4}, {1, 1, 2, 4}, {3, 1, 4}, {1, 1, 1, 1, 2, 2}, {2, 1, 1, 3, 1}},
	},
	{
		name: "3/4", units: 6,
		halves: [][]int{{1, 1}, {1, 1}, {2}},
		last:   [][]int{{1, 1, 4}, {2, 4}, {1, 1, 1, 1, 2}, {2, 1, 1, 2}, {1, 1, 2, 2}},
		pause:  [][]int{{1, 1, 4}, {2, 4}, {3, 1, 2}, {2, 2, 2}, {1, 1, 1, 1, 2}},
	},
	{
		name: "2/4", units: 4,
		halves: [][]int{{1, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1}, {1, 1, 2}, {3, 1}, {1, 2, 1}},
		last:   [][]int{{1, 1, 2}, {2, 2}, {1, 3}},
		pause:  [][]int{{1, 1, 2}, {2, 2}, {1, 3}, {3, 1}},
	},
	{
		name: "6/8", units: 6,
		halves: [][]int{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {2, 1}, {1, 2}, {3}},
		last:   [][]int{{1, 1, 1, 3}, {2, 1, 3}, {1, 2, 3}},
		pause:  [][]int{{1, 1, 1, 3}, {2, 1, 3}, {1, 2, 3}, {1, 1, 1, 2, 1}},
	},
}

// abcKey is a key field, its tonic as an index into C..B, and whether its third is major,
// which determines the chords of the bars.
type abcKey struct {
	name  string
	tonic int
	major bool
}

var abcKeys = []abcKey{
	{"C", 0, true}, {"G", 4, true}, {"D", 1, true}, {"A", 5, true}, {"F", 3, true}, {"Bb", 6, true},
	{"Dmix", 1, true}, {"Amix", 5, true}, {"Gmix", 4, true},
	{"Am", 5, false}, {"Em", 2, false}, {"Bm", 6, false}, {"Dm", 1, false}, {"Gm", 4, false},
	{"Ador", 5, false}, {"Edor", 2, false}, {"Ddor", 1, false}, {"Gdor", 4, false},
}

// abcForms name the eight bars: equal letters are equal bars, a capital is the bar of its
// lower-case letter moved by a step or two, z is the closing bar.
var abcForms = []string{
	"abcdabez", "abcdaefz", "abacabdz", "abacdeaz", "abcdefgz", "abcdefaz",
	"aAbcaAdz", "abABcdez", "abcdeEaz", "aAbcdeaz", "abcdABez", "abacdDez",
}

// abcRoots are the scale steps of the bars' chords, phrase by phrase.
var abcRoots = map[bool][][]int{
	true:  {{0, 3, 0, 4}, {0, 5, 3, 4}, {0, 4, 0, 4}, {0, 1, 4, 0}, {0, 3, 4, 0}, {0, 5, 1, 4}, {0, 0, 3, 4}, {3, 0, 1, 4}},
	false: {{0, 6, 0, 4}, {0, 3, 0, 4}, {0, 6, 5, 4}, {0, 0, 6, 0}, {0, 2, 6, 4}, {0, 5, 6, 0}, {0, 3, 6, 4}, {0, 6, 0, 6}},
}

// ABC writes tunes in ABC notation, a blank line after each, about size bytes
// in all. Each has a header X T M L K and two lines of four bars, at most
// maxTune bytes; every bar fills its metre and the tune ends on its tonic.
func ABC(seed uint64, size int) string {
	d := newDice(seed, "abc")
	return fill(size, func(b *strings.Builder) {
		for {
			if tune := oneTune(d); len(tune) <= maxTune {
				b.WriteString(tune)
				b.WriteString("\n")
				return
			}
		}
	})
}

// oneTune writes a tune, ending with one line feed.
func oneTune(d *dice) string {
	m, k := pick(d, abcMetres), pick(d, abcKeys)
	var b strings.Builder
	fmt.Fprintf(&b, "X:%d\nT:%s\nM:%s\nL:1/8\nK:%s\n", 1+d.n(999), tuneTitle(d), m.name, k.name)
	for i, bar := range composeBars(d, m, k) {
		b.WriteString(bar)
		switch i {
		case tuneBars/2 - 1:
			b.WriteString("|\n")
		case tuneBars - 1:
			b.WriteString("|]\n")
		default:
			b.WriteString("|")
		}
	}
	return b.String()
}

// tuneNote is one note: its step from 0 = C and its length in eighths.
type tuneNote struct{ step, units int }

// composeBars writes the bars of a tune as ABC.
func composeBars(d *dice, m abcMetre, k abcKey) []string {
	form := pick(d, abcForms)
	roots := append(append([]int{}, pick(d, abcRoots[k.major])...), pick(d, abcRoots[k.major])...)
	made := map[byte][]tuneNote{}
	at := nearest(k.tonic, 4+d.n(5)) // current step of the melody
	bars := make([]string, tuneBars)
	for i := range bars {
		c := form[i]
		bar, ok := made[c]
		if !ok {
			switch {
			case c == 'z':
				bar = melody(d, m, pick(d, m.last), k.tonic, at)
				bar[len(bar)-1].step = nearest(k.tonic, bar[len(bar)-1].step)
			case c < 'a':
				bar = moved(d, made[c-'A'+'a'])
			case i == tuneBars/2-1:
				bar = melody(d, m, pick(d, m.pause), k.tonic+roots[i], at)
			default:
				bar = melody(d, m, barRhythm(d, m), k.tonic+roots[i], at)
			}
			made[c] = bar
		}
		at = bar[len(bar)-1].step
		bars[i] = barText(bar)
	}
	return bars
}

// barRhythm joins cells until the bar is full. A bar of 3/4 may instead start
// or end with a longer note.
func barRhythm(d *dice, m abcMetre) []int {
	if m.name == "3/4" && d.chance(35) {
		return pick(d, [][]int{{3, 1, 1, 1}, {3, 1, 2}, {2, 3, 1}, {1, 1, 3, 1}, {4, 1, 1}, {1, 1, 4}, {1, 2, 1, 1, 1}})
	}
	var r []int
	for left := m.units; left > 0; {
		for _, u := range pick(d, m.halves) {
			r = append(r, u)
			left -= u
		}
	}
	return r
}

// melody assigns notes to a rhythm. The first note and every other strong one belong to
// the chord on root; the rest move by small intervals.
func melody(d *dice, m abcMetre, rhythm []int, root, at int) []tuneNote {
	beat := 2
	if m.name == "6/8" {
		beat = 3
	} else if m.units == 8 {
		beat = 4
	}
	bar, pos := make([]tuneNote, len(rhythm)), 0
	for i, u := range rhythm {
		if pos%beat == 0 {
			at = chordTone(d, root, at)
		} else {
			at = neighbour(d, at)
		}
		bar[i] = tuneNote{at, u}
		pos += u
	}
	return bar
}

// chordTone draws a note of the triad on root within a fourth of at.
func chordTone(d *dice, root, at int) int {
	var from []int
	for s := max(0, at-3); s <= min(len(noteLetters)-1, at+3); s++ {
		if t := ((s-root)%7 + 7) % 7; t == 0 || t == 2 || t == 4 {
			from = append(from, s)
		}
	}
	return pick(d, from)
}

// Intervals and their weights away from strong beats, in scale steps.
var (
	intervals       = []int{-3, -2, -1, 0, 1, 2, 3}
	intervalWeights = []int{2, 4, 6, 1, 6, 4, 2}
)

// neighbour moves by an interval, turning back at the ends of the range.
func neighbour(d *dice, at int) int {
	by := intervals[d.weighted(intervalWeights)]
	if s := at + by; s >= 0 && s < len(noteLetters) {
		return s
	}
	return at - by
}

// nearest returns the note of the tonic's letter that is closest to step.
func nearest(tonic, step int) int {
	best := tonic
	for _, s := range []int{tonic, tonic + 7} {
		if s < len(noteLetters) && abs(s-step) < abs(best-step) {
			best = s
		}
	}
	return best
}

// moved repeats a bar one to three steps higher or lower, within the range.
func moved(d *dice, bar []tuneNote) []tuneNote {
	lo, hi := len(noteLetters), 0
	for _, n := range bar {
		lo, hi = min(lo, n.step), max(hi, n.step)
	}
	by := pick(d, []int{-3, -2, -1, 1, 2, 3})
	if lo+by < 0 || hi+by >= len(noteLetters) {
		by = -by
	}
	if lo+by < 0 || hi+by >= len(noteLetters) {
		by = 0
	}
	out := make([]tuneNote, len(bar))
	for i, n := range bar {
		out[i] = tuneNote{n.step + by, n.units}
	}
	return out
}

// barText writes notes as ABC: a letter and, above one eighth, its length.
func barText(bar []tuneNote) string {
	var b strings.Builder
	for _, n := range bar {
		b.WriteByte(noteLetters[n.step])
		if n.units > 1 {
			fmt.Fprint(&b, n.units)
		}
	}
	return b.String()
}

func abs(x int) int { return max(x, -x) }

// tuneTitle composes a name in the style of session tunes.
func tuneTitle(d *dice) string {
	adj, noun, who := pick(d, titleAdjectives), pick(d, titleNouns), pick(d, titlePeople)
	switch d.n(7) {
	case 0:
		return who + "'s " + noun
	case 1:
		return "The " + adj + " " + noun
	case 2:
		return noun + " of " + pick(d, titlePlaces)
	case 3:
		return who + " of " + pick(d, titlePlaces)
	case 4:
		return adj + " " + who
	case 5:
		return "The " + noun + " and the " + pick(d, titleNouns)
	}
	return "To " + pick(d, titlePlaces) + " with " + who
}

var (
	titleAdjectives = strings.Fields("Merry Wandering Bonny Silver Lonely Dusty Jolly Misty Golden Crooked Quiet Windy Humble Drowsy Faithful Roving Vexed Nimble Idle Laughing Old Young Zealous")
	titleNouns      = strings.Fields("Miller Harbour Thrush Kettle Lantern Heron Anvil Meadow Fiddle Piper Weaver Shilling Hedge Quarry Orchard Foxglove Barrel Saddle Cobbler Juniper Wagon Yarrow Candle Bridge")
	titlePeople     = strings.Fields("Maggie Rory Kitty Donal Nora Jack Peggy Quinn Fergus Una Hugh Biddy Walter Rosie Edmund Xenia Vera Zachary Iris Owen Polly Tam Lucy Cormac")
	titlePlaces     = strings.Fields("Ardmore Kilbane Fenwick Lorne Dunlee Tarrow Glenvale Marwick Hexley Quay Yarmouth Corran Brandon Zennor Inver Ormsby Stranmore Wexham")
)
