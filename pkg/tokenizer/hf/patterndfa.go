package hf

import (
	"encoding/binary"
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A patternDFA matches a pattern as a backtracking engine does: the first alternative that
// matches wins, and takes as much as its repetitions say. A state is the list of the threads
// of such an engine in the order of their precedence (Cox 2010, "Regular Expression Matching
// in the Wild"). Whether a match ends before a character depends on that character, because of
// (?!\S) and $; so a state decides it when it reads the next one.
type patternDFA struct {
	basic   [1 << 16]uint8 // the classes below U+10000
	bounds  []rune         // where runs of one class begin, ascending
	classes []uint8        // by run
	count   int            // classes; the number itself is that of the end of the text

	next []transition // (state, class)
}

// A transition is the effect of a character: the next state, -1 if no thread is left, and
// whether a match ends before it.
type transition struct {
	to   int32
	ends bool
}

// Bounds of an automaton and of the work to build it. The largest known pattern takes less
// than a tenth of each.
const (
	maxPatternStates  = 4096
	maxPatternClasses = 250
	maxPatternInsts   = 2000    // of the program
	maxPatternCells   = 1 << 24 // sets of characters times the places where any of them begins or ends
	maxPatternSteps   = 1 << 24 // of threads over instructions
)

var errPatternSize = errors.New("it is too large")

// newPatternDFA compiles a pattern for package regexp, in which \b stands for (?!\S).
func newPatternDFA(pattern string) (*patternDFA, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxPatternInsts {
		return nil, errPatternSize
	}
	d := &patternDFA{}
	matches, before, err := d.classify(prog)
	if err != nil {
		return nil, err
	}
	b := dfaBuilder{d: d, prog: prog, matches: matches, before: before, states: map[string]int32{}}
	return d, b.build()
}

// classify divides the characters into classes that the program does not tell apart, and
// returns which classes each instruction matches, and before which classes each look-ahead holds.
func (d *patternDFA) classify(prog *syntax.Prog) (matches [][]bool, before map[syntax.EmptyOp][]bool, err error) {
	space, err := syntax.Parse("["+spaceSet+"]", syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	sets := [][]rune{space.Rune, {'\n', '\n'}} // pairs
	known := map[*rune]int{}                   // repetitions share their sets; nil: the empty one
	of := make([]int, len(prog.Inst))
	for i, inst := range prog.Inst {
		var set []rune
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1:
			if set = inst.Rune; len(set) == 1 {
				set = []rune{set[0], set[0]}
				if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 { // package regexp's form of [aA]
					for r := unicode.SimpleFold(set[0]); r != set[0]; r = unicode.SimpleFold(r) {
						set = append(set, r, r)
					}
				}
			}
		case syntax.InstRuneAny:
			set = []rune{0, utf8.MaxRune}
		case syntax.InstRuneAnyNotNL:
			set = []rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune}
		default:
			continue
		}
		var at *rune
		if len(set) > 0 {
			at = &set[0]
		}
		if of[i] = known[at]; of[i] == 0 {
			of[i] = len(sets)
			known[at] = of[i]
			sets = append(sets, set)
		}
	}
	classOf, err := d.partition(sets)
	if err != nil {
		return nil, nil, err
	}
	matches = make([][]bool, len(prog.Inst))
	for i := range prog.Inst {
		if of[i] > 0 {
			matches[i] = classOf[of[i]]
		}
	}
	before = map[syntax.EmptyOp][]bool{syntax.EmptyWordBoundary: classOf[0], syntax.EmptyEndLine: classOf[1]}
	return matches, before, nil
}

// partition sets the classes, and returns those of each set; the end of a text is in none.
func (d *patternDFA) partition(sets [][]rune) ([][]bool, error) {
	d.bounds = []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			d.bounds = append(d.bounds, set[i], set[i+1]+1)
		}
		if len(d.bounds) > maxPatternCells {
			return nil, errPatternSize
		}
	}
	slices.Sort(d.bounds)
	d.bounds = slices.DeleteFunc(slices.Compact(d.bounds), func(r rune) bool { return r > utf8.MaxRune })
	if len(d.bounds)*len(sets) > maxPatternCells {
		return nil, errPatternSize
	}
	cells := make([]byte, len(d.bounds)*len(sets)) // (bound, set): whether the run is in the set
	for i, set := range sets {
		for j := 0; j < len(set); j += 2 {
			at, _ := slices.BinarySearch(d.bounds, set[j])
			for ; at < len(d.bounds) && d.bounds[at] <= set[j+1]; at++ {
				cells[at*len(sets)+i] = 1
			}
		}
	}
	numbers, members := map[string]int{}, []string{}
	for at := range d.bounds {
		member := cells[at*len(sets):][:len(sets)]
		n, ok := numbers[string(member)]
		if !ok {
			if n = len(members); n == maxPatternClasses {
				return nil, errPatternSize
			}
			members = append(members, string(member))
			numbers[members[n]] = n
		}
		d.classes = append(d.classes, uint8(n))
	}
	d.count = len(members)
	for i, from := range d.bounds {
		to := rune(len(d.basic))
		if i+1 < len(d.bounds) {
			to = min(to, d.bounds[i+1])
		}
		for r := from; r < to; r++ {
			d.basic[r] = d.classes[i]
		}
	}
	list := make([][]bool, len(sets))
	for i := range sets {
		list[i] = make([]bool, d.count+1)
		for c, member := range members {
			list[i][c] = member[i] == 1
		}
	}
	return list, nil
}

// search returns the class of a character.
func (d *patternDFA) search(r rune) uint8 {
	i, found := slices.BinarySearch(d.bounds, r)
	if !found {
		i--
	}
	return d.classes[i]
}

// A dfaBuilder adds the states that are reachable.
type dfaBuilder struct {
	d       *patternDFA
	prog    *syntax.Prog
	matches [][]bool                  // by instruction and class
	before  map[syntax.EmptyOp][]bool // by look-ahead and class

	states map[string]int32 // by their threads
	lists  [][]uint32       // the same by number
	seen   []uint32         // the last step that has seen it, by instruction, and by instruction after the character
	steps  uint32
	work   int // calls of follow
}

func (b *dfaBuilder) build() error {
	b.number([]uint32{uint32(b.prog.Start)})
	b.seen = make([]uint32, 2*len(b.prog.Inst))
	classes := b.d.count + 1
	for i := 0; i < len(b.lists); i++ {
		for class := range classes {
			var threads []uint32
			b.steps++
			ends := b.step(b.lists[i], class, &threads)
			if b.work > maxPatternSteps || i == maxPatternStates {
				return errPatternSize
			}
			b.d.next = append(b.d.next, transition{b.number(threads), ends})
		}
	}
	return nil
}

// number returns the number of a state, -1 for that without threads.
func (b *dfaBuilder) number(threads []uint32) int32 {
	if len(threads) == 0 {
		return -1
	}
	var key []byte
	for _, t := range threads {
		key = binary.AppendUvarint(key, uint64(t))
	}
	n, ok := b.states[string(key)]
	if !ok {
		n = int32(len(b.lists))
		b.states[string(key)] = n
		b.lists = append(b.lists, threads)
	}
	return n
}

// step appends the threads after a character of a class. It returns true, and leaves out those
// of less precedence, if a match ends before the character.
func (b *dfaBuilder) step(threads []uint32, class int, next *[]uint32) (ends bool) {
	for _, pc := range threads {
		if b.follow(pc, class, next) {
			return true
		}
	}
	return false
}

// follow runs a thread up to the character, and over it.
func (b *dfaBuilder) follow(pc uint32, class int, next *[]uint32) (ends bool) {
	if b.work++; b.seen[pc] == b.steps {
		return false
	}
	b.seen[pc] = b.steps
	inst := &b.prog.Inst[pc]
	switch inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		return b.follow(inst.Out, class, next) || b.follow(inst.Arg, class, next)
	case syntax.InstCapture, syntax.InstNop:
		return b.follow(inst.Out, class, next)
	case syntax.InstEmptyWidth: // (?!\S) or $
		return (class == b.d.count || b.before[syntax.EmptyOp(inst.Arg)][class]) && b.follow(inst.Out, class, next)
	case syntax.InstFail:
		return false
	}
	if after := len(b.prog.Inst) + int(inst.Out); b.matches[pc][class] && b.seen[after] != b.steps {
		b.seen[after] = b.steps
		*next = append(*next, inst.Out)
	}
	return false
}

// match returns the end of the match that begins at i, -1 if there is none.
func (d *patternDFA) match(text string, i int) (end int) {
	end = -1
	width := d.count + 1
	for state, n := int32(0), 0; ; i += n {
		class := d.count
		if i < len(text) {
			class, n = d.class(text, i)
		}
		t := d.next[int(state)*width+class]
		if t.ends {
			end = i
		}
		if state = t.to; state < 0 || i >= len(text) {
			return end
		}
	}
}

// class returns the class and the bytes of the character at i. A byte that is not UTF-8 is
// U+FFFD.
func (d *patternDFA) class(text string, i int) (class, n int) {
	if c := text[i]; c < utf8.RuneSelf {
		return int(d.basic[c]), 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if r < 1<<16 {
		return int(d.basic[r]), n
	}
	return int(d.search(r)), n
}

// covers reports whether a match begins at every character, whatever follows: each character
// is a match by itself, if not the one that is taken.
func (d *patternDFA) covers() bool {
	width := d.count + 1
	for first := range d.count {
		t := d.next[first]
		if t.to < 0 || t.ends {
			return false
		}
		for second := range width {
			if !d.next[int(t.to)*width+second].ends {
				return false
			}
		}
	}
	return true
}
