package main

import (
	"regexp"
	"slices"
	"strings"
)

// englishPlural makes the regular plural.
func englishPlural(s string) string {
	switch {
	case strings.HasSuffix(s, "y") && !strings.ContainsAny(s[len(s)-2:len(s)-1], "aeiou"):
		return s[:len(s)-1] + "ies"
	case s == "tomato", s == "potato", sibilant(s):
		return s + "es"
	}
	return s + "s"
}

// sibilant reports an ending after which an s needs an e.
func sibilant(s string) bool {
	for _, end := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// particles are the words that follow a verb and are not a form of it.
var particles = []string{"for", "to", "up", "back", "dressed", "fun", "bed"}

// englishVerb reads a verb with its particle and those of its forms that are
// irregular: "look for", "wake up woke waking".
func englishVerb(s string) (base, past, ing string) {
	f := strings.Fields(s)
	stem, particle := f[0], ""
	f = f[1:]
	for len(f) > 0 && slices.Contains(particles, f[0]) {
		particle += " " + f[0]
		f = f[1:]
	}
	past, ing = stem+"ed", stem+"ing"
	switch {
	case strings.HasSuffix(stem, "e"):
		past, ing = stem+"d", stem[:len(stem)-1]+"ing"
	case strings.HasSuffix(stem, "y") && !strings.ContainsAny(stem[len(stem)-2:len(stem)-1], "aeiou"):
		past = stem[:len(stem)-1] + "ied"
	}
	if len(f) > 0 {
		past = f[0]
	}
	if len(f) > 1 {
		ing = f[1]
	}
	if stem == "read" {
		past = "read"
	}
	return stem + particle, past + particle, ing + particle
}

// thirdPerson gives the form that follows he and she.
func thirdPerson(base string) string {
	stem, particle, _ := strings.Cut(base, " ")
	if particle != "" {
		particle = " " + particle
	}
	switch stem {
	case "have":
		return "has" + particle
	case "go", "do":
		return stem + "es" + particle
	}
	return englishPlural(stem) + particle
}

var (
	be    = [6]string{"am", "are", "is", "are", "are", "are"}
	was   = [6]string{"was", "were", "was", "were", "were", "were"}
	aOpen = regexp.MustCompile(`\b([Aa]) ([aeiou][a-z]*|hour)\b`)
	// youSound begins like a consonant.
	youSound = regexp.MustCompile(`^(?:uni|use|euro|one)`)
)

// contractions are applied in this order.
var contractions = strings.NewReplacer(
	" cannot ", " can't ", " do not ", " don't ", " does not ", " doesn't ", " did not ", " didn't ",
	" will not ", " won't ", " is not ", " isn't ", " are not ", " aren't ", " was not ", " wasn't ",
	" were not ", " weren't ", " must not ", " mustn't ", " would not ", " wouldn't ",
	" I am ", " I'm ", " you are ", " you're ", " he is ", " he's ", " she is ", " she's ", " we are ", " we're ",
	" they are ", " they're ", " it is ", " it's ", " I will ", " I'll ", " you will ", " you'll ", " he will ", " he'll ",
	" she will ", " she'll ", " we will ", " we'll ", " they will ", " they'll ", " where is ", " where's ",
	" what is ", " what's ", " there is ", " there's ", " I would ", " I'd ",
)

// finishEnglish sets articles, spaces, contractions and the first capital right.
func finishEnglish(s string, st style) string {
	s = " " + strings.Join(strings.Fields(s), " ") + " "
	if st.contracted {
		s = contractions.Replace(s)
	}
	s = strings.TrimSpace(s)
	s = strings.NewReplacer(" ,", ",", " .", ".", " ?", "?", " !", "!").Replace(s)
	s = aOpen.ReplaceAllStringFunc(s, func(m string) string {
		if youSound.MatchString(m[2:]) {
			return m
		}
		return m[:1] + "n" + m[1:]
	})
	return capitalised(s)
}

// capitalised makes the first letters of the sentences capitals.
func capitalised(s string) string {
	out := []rune(s)
	begins := true
	for i, r := range out {
		switch {
		case r == '.' || r == '?' || r == '!':
			begins = true
		case begins && r != ' ':
			out[i], begins = []rune(strings.ToUpper(string(r)))[0], false
		}
	}
	return string(out)
}
