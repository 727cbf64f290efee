package corpus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CheckTune returns the first fault of a tune in ABC notation: its header fields must be
// X T M L K in order, followed by two lines of four bars of plain notes of the key, each
// bar as long as the metre, the last note on the tonic, "|]" at the end.
func CheckTune(text string) error {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) != 7 {
		return fmt.Errorf("tune: %d lines, want 7", len(lines))
	}
	m, k, err := checkTuneHeader(lines[:5])
	if err != nil {
		return err
	}
	first, ok := strings.CutSuffix(lines[5], "|")
	if !ok {
		return errors.New(`tune: the first line does not end with "|"`)
	}
	second, ok := strings.CutSuffix(lines[6], "|]")
	if !ok {
		return errors.New(`tune: does not end with "|]"`)
	}
	last := byte(0)
	for i, line := range []string{first, second} {
		bars := strings.Split(line, "|")
		if len(bars) != tuneBars/2 {
			return fmt.Errorf("tune: line %d has %d bars, want %d", i+1, len(bars), tuneBars/2)
		}
		for j, bar := range bars {
			units, note, err := measureBar(bar)
			if err != nil {
				return fmt.Errorf("tune: bar %d: %w", i*tuneBars/2+j+1, err)
			}
			if units != m.units {
				return fmt.Errorf("tune: bar %d lasts %d eighths, %s wants %d", i*tuneBars/2+j+1, units, m.name, m.units)
			}
			last = note
		}
	}
	if strings.IndexByte(noteLetters, last)%7 != k.tonic {
		return fmt.Errorf("tune: ends on %q, which is not the tonic of %s", last, k.name)
	}
	return nil
}

// checkTuneHeader checks the five fields and returns the metre and the key.
func checkTuneHeader(lines []string) (abcMetre, abcKey, error) {
	var value [5]string
	for i, field := range []string{"X:", "T:", "M:", "L:", "K:"} {
		v, ok := strings.CutPrefix(lines[i], field)
		if !ok || v == "" {
			return abcMetre{}, abcKey{}, fmt.Errorf("tune: line %d is not a %s field", i+1, field)
		}
		value[i] = v
	}
	if n, err := strconv.Atoi(value[0]); err != nil || n < 1 {
		return abcMetre{}, abcKey{}, fmt.Errorf("tune: X:%s is not a number from 1", value[0])
	}
	if value[3] != "1/8" {
		return abcMetre{}, abcKey{}, fmt.Errorf("tune: L:%s, want 1/8", value[3])
	}
	for _, m := range abcMetres {
		if m.name != value[2] {
			continue
		}
		for _, k := range abcKeys {
			if k.name == value[4] {
				return m, k, nil
			}
		}
		return abcMetre{}, abcKey{}, fmt.Errorf("tune: unknown key %q", value[4])
	}
	return abcMetre{}, abcKey{}, fmt.Errorf("tune: unknown metre %q", value[2])
}

// measureBar adds up the lengths of a bar's notes, in eighths, and returns the last note.
// Only plain letters are in every key; an accidental is an error.
func measureBar(bar string) (units int, last byte, err error) {
	for i := 0; i < len(bar); {
		if strings.IndexByte(noteLetters, bar[i]) < 0 {
			return 0, 0, fmt.Errorf("%q is not a note of the key", bar[i])
		}
		last = bar[i]
		i++
		length := 1
		if i < len(bar) && bar[i] >= '0' && bar[i] <= '9' {
			length = int(bar[i] - '0')
			i++
			if length < 2 || length > 8 {
				return 0, 0, fmt.Errorf("length %d is not written", length)
			}
		}
		units += length
	}
	if units == 0 {
		return 0, 0, errors.New("empty")
	}
	return units, last, nil
}
