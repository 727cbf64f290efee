package main

var (
	englishSmall = []string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
		"fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	englishTens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	frenchSmall = []string{
		"zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "treize",
		"quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
	}
	frenchTens = []string{"", "", "vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"}
)

// english writes a number from 0 to 99 in words.
func english(n int) string {
	switch {
	case n < 20:
		return englishSmall[n]
	case n%10 == 0:
		return englishTens[n/10]
	}
	return englishTens[n/10] + "-" + englishSmall[n%10]
}

// french writes a number from 0 to 99 in words: 71 to 79 and 91 to 99 count on from
// sixty and eighty; one is joined by et, but not to eighty.
func french(n int) string {
	if n < 20 {
		return frenchSmall[n]
	}
	tens, rest := frenchTens[n/10], n%10
	if n/10 == 7 || n/10 == 9 {
		rest += 10
	}
	switch {
	case n == 80:
		return "quatre-vingts"
	case rest == 0:
		return tens
	case n < 80 && (rest == 1 || rest == 11):
		return tens + " et " + frenchSmall[rest]
	}
	return tens + "-" + frenchSmall[rest]
}
