// Package spelling measures how far a word is from a name that its writer may have meant. It
// knows no names.
package spelling

// Distance returns the number of letters to change, insert, delete or swap with their
// neighbour (Damerau 1964) to turn a into b.
// It is the length of a for one of more than 64 bytes.
func Distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
