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
// the look-ahead (?!\S); so a state decides it when it reads the next one.
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

// Bounds of an automaton: states, and classes of characters.
const (
	maxPatternStates  = 4096
	maxPatternClasses = 250
	maxPatternInsts   = 2000 // of the program: the largest known pattern has some hundreds
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
	matches, spaces, err := d.classify(prog)
	if err != nil {
		return nil, err
	}
	b := dfaBuilder{d: d, prog: prog, matches: matches, spaces: spaces, states: map[string]int32{}}
	return d, b.build()
}

// classify divides the characters into classes that the program does not tell apart, and
// returns which classes each instruction matches, and which are white space.
func (d *patternDFA) classify(prog *syntax.Prog) (matches [][]bool, spaces []bool, err error) {
	space, err := syntax.Parse("["+spaceSet+"]", syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	sets := [][]rune{space.Rune} // pairs
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
		of[i] = len(sets)
		sets = append(sets, set)
	}
	classOf := d.partition(sets)
	if d.count > maxPatternClasses {
		return nil, nil, errPatternSize
	}
	matches = make([][]bool, len(prog.Inst))
	for i := range prog.Inst {
		if of[i] > 0 {
			matches[i] = classOf[of[i]]
		}
	}
	return matches, classOf[0], nil
}

// partition sets the classes, and returns those of each set; the end of a text is in none.
func (d *patternDFA) partition(sets [][]rune) [][]bool {
	d.bounds = []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			d.bounds = append(d.bounds, set[i], set[i+1]+1)
		}
	}
	slices.Sort(d.bounds)
	d.bounds = slices.DeleteFunc(slices.Compact(d.bounds), func(r rune) bool { return r > utf8.MaxRune })
	numbers, members := map[string]int{}, []string{}
	for _, from := range d.bounds {
		member := make([]byte, len(sets))
		for i, set := range sets {
			if inPairs(set, from) {
				member[i] = 1
			}
		}
		n, ok := numbers[string(member)]
		if !ok {
			n = len(members)
			numbers[string(member)] = n
			members = append(members, string(member))
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
	return list
}

func inPairs(set []rune, r rune) bool {
	for i := 0; i < len(set); i += 2 {
		if set[i] <= r && r <= set[i+1] {
			return true
		}
	}
	return false
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
	matches [][]bool // by instruction and class
	spaces  []bool   // by class

	states map[string]int32 // by their threads
	lists  [][]uint32       // the same by number
	seen   []bool           // of one step, by instruction
}

func (b *dfaBuilder) build() error {
	b.number([]uint32{uint32(b.prog.Start)})
	classes := b.d.count + 1
	for i := 0; i < len(b.lists); i++ {
		if i > maxPatternStates {
			return errPatternSize
		}
		for class := range classes {
			var threads []uint32
			b.seen = make([]bool, 2*len(b.prog.Inst))
			ends := b.step(b.lists[i], class, &threads)
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
	if b.seen[pc] {
		return false
	}
	b.seen[pc] = true
	inst := &b.prog.Inst[pc]
	switch inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		return b.follow(inst.Out, class, next) || b.follow(inst.Arg, class, next)
	case syntax.InstCapture, syntax.InstNop:
		return b.follow(inst.Out, class, next)
	case syntax.InstEmptyWidth: // (?!\S)
		return (class == b.d.count || b.spaces[class]) && b.follow(inst.Out, class, next)
	case syntax.InstFail:
		return false
	}
	if after := len(b.prog.Inst) + int(inst.Out); b.matches[pc][class] && !b.seen[after] {
		b.seen[after] = true
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

// find is a [matcher].
func (d *patternDFA) find(text string, from int) (start, end int) {
	for i := from; i < len(text); {
		class, n := d.class(text, i)
		if d.next[class].to >= 0 {
			if end := d.match(text, i); end >= 0 {
				return i, end
			}
		}
		i += n
	}
	return -1, -1
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

// bounded reports whether a search for a match that fails has read a bounded number of
// characters: no cycle of states without a match can be reached from the start.
func (d *patternDFA) bounded() bool {
	const open, done = 1, 2
	width := d.count + 1
	marks := make([]uint8, len(d.next)/width)
	var visit func(state int32) bool
	visit = func(state int32) bool {
		marks[state] = open
		for _, t := range d.next[int(state)*width:][:width] {
			if t.to < 0 || t.ends || marks[t.to] == done {
				continue
			}
			if marks[t.to] == open || !visit(t.to) {
				return false
			}
		}
		marks[state] = done
		return true
	}
	return visit(0)
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
