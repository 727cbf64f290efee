// Package pretoken cuts texts into pieces by the patterns of well-known byte-level
// vocabularies, without regular expressions.
package pretoken

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// The patterns of byte-level vocabularies, as tokenizer.json spells them. The first
// matching alternative wins and takes as much as it can, and together they match every
// text. So one character of look-ahead suffices, and no regular expressions are needed.
const (
	// PatternGPT2 is also that of GPT-J and GPT-NeoX, and what pre-tokenizer
	// ByteLevel uses by itself.
	PatternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	// PatternLlama3 is that of Llama 3 and of cl100k.
	PatternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	// PatternQwen2 is that of Qwen 2: numbers are cut into their digits.
	PatternQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// Splitter returns where the piece that begins at i < len(text) ends.
type Splitter func(text string, i int) int

// charClass is a class of characters that the patterns distinguish. A byte that is not part
// of a valid rune is a character of class other; the references do not define this case.
type charClass uint8

const (
	other  charClass = iota
	letter           // \p{L}
	number           // \p{N}
	space            // \s: White_Space
	beyond           // not ASCII: must be decoded
)

// basic has the classes of the runes below U+10000.
var basic = sync.OnceValue(func() *[1 << 16]charClass {
	var table [1 << 16]charClass
	for r := range rune(len(table)) {
		table[r] = classOf(r)
	}
	return &table
})

func classOf(r rune) charClass {
	switch {
	case unicode.Is(unicode.L, r):
		return letter
	case unicode.Is(unicode.N, r):
		return number
	case unicode.Is(unicode.White_Space, r):
		return space
	}
	return other
}

// ascii has the classes of bytes that are runes, and beyond for the others.
var ascii = func() (table [256]charClass) {
	for c := range table {
		table[c] = beyond
		if c < utf8.RuneSelf {
			table[c] = classOf(rune(c))
		}
	}
	return table
}()

// classAt returns the class and the width in bytes of the character at i.
func classAt(text string, i int) (charClass, int) {
	if c := ascii[text[i]]; c != beyond {
		return c, 1
	}
	return classBeyond(text, i)
}

func classBeyond(text string, i int) (charClass, int) {
	r, n := utf8.DecodeRuneInString(text[i:])
	switch {
	case n == 1:
		return other, 1
	case r < 1<<16:
		return basic()[r], n
	}
	return classOf(r), n
}

// run returns the end of the characters of class c that begin at i.
func run(text string, i int, c charClass) int {
	for i < len(text) {
		found := ascii[text[i]]
		if found == c {
			i++
			continue
		}
		if found != beyond {
			break
		}
		found, n := classBeyond(text, i)
		if found != c {
			break
		}
		i += n
	}
	return i
}

// spaces returns the end of the white space that begins at i, the start of its last
// character, and the end of its last CR or LF, or i if there is none.
func spaces(text string, i int) (end, last, newline int) {
	end, last, newline = i, i, i
	for end < len(text) {
		c, n := classAt(text, end)
		if c != space {
			break
		}
		last = end
		end += n
		if isNewline(text[last]) {
			newline = end
		}
	}
	return end, last, newline
}

func isNewline(c byte) bool { return c == '\r' || c == '\n' }

// contraction returns the length of 's 't 're 've 'm 'll 'd at the beginning of text, which
// begins with the apostrophe, or 0. With fold it ignores case, and U+017F is an s.
func contraction(text string, fold bool) int {
	if len(text) < 2 {
		return 0
	}
	lower := func(c byte) byte {
		if fold && 'A' <= c && c <= 'Z' {
			return c | 0x20
		}
		return c
	}
	first := lower(text[1])
	switch first {
	case 's', 't', 'm', 'd':
		return 2
	case "ſ"[0]:
		if fold && len(text) > 2 && text[2] == "ſ"[1] {
			return 3
		}
	}
	if len(text) < 3 {
		return 0
	}
	switch second := lower(text[2]); {
	case first == 'r' && second == 'e', first == 'v' && second == 'e', first == 'l' && second == 'l':
		return 3
	}
	return 0
}

// GPT2 is PatternGPT2.
func GPT2(text string, i int) int {
	if text[i] == '\'' {
		if n := contraction(text[i:], false); n > 0 {
			return i + n
		}
	}
	c, _ := classAt(text, i)
	if text[i] == ' ' && i+1 < len(text) { // no other white space is part of a word
		if next, _ := classAt(text, i+1); next != space {
			c, i = next, i+1
		}
	}
	if c != space {
		return run(text, i, c)
	}
	return leaveLast(text, i)
}

// leaveLast matches white space except for its last character, or all of it if it is one
// character or ends the text: \s+(?!\S)|\s+.
func leaveLast(text string, i int) int {
	end, last, _ := spaces(text, i)
	if end == len(text) || last == i {
		return end
	}
	return last
}

// Llama3 is PatternLlama3.
func Llama3(text string, i int) int { return splitWords(text, i, 3) }

// Qwen2 is PatternQwen2.
func Qwen2(text string, i int) int { return splitWords(text, i, 1) }

// splitWords is PatternLlama3 with the given number of digits.
func splitWords(text string, i, digits int) int {
	if text[i] == '\'' {
		if n := contraction(text[i:], true); n > 0 {
			return i + n
		}
	}
	c, n := classAt(text, i)
	switch c {
	case letter:
		return run(text, i, letter)
	case number:
		return upTo(text, i, digits)
	}
	if i+n < len(text) {
		next, _ := classAt(text, i+n)
		if next == letter && !isNewline(text[i]) {
			return run(text, i+n, letter)
		}
	}
	return splitRest(text, i, false)
}

// splitRest is ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+` where neither a
// letter nor a number begins; with slash, / counts among the line ends of the first.
func splitRest(text string, i int, slash bool) int {
	c, _ := classAt(text, i)
	if text[i] == ' ' && i+1 < len(text) {
		if next, _ := classAt(text, i+1); next == other {
			c = other
			i++
		}
	}
	if c == other {
		for i = run(text, i, other); i < len(text) && (isNewline(text[i]) || slash && text[i] == '/'); {
			i++
		}
		return i
	}
	if _, _, newline := spaces(text, i); newline > i {
		return newline
	}
	return leaveLast(text, i)
}

// upTo is \p{N}{1,digits}.
func upTo(text string, i, digits int) int {
	for range digits {
		if i == len(text) {
			break
		}
		c, n := classAt(text, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}
