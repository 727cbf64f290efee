package language_test

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/language"
)

func TestDetect(t *testing.T) {
	all := strings.Fields("en fr de es ru zh ja ar he el hi ceb fa no yi da sv nl it pt ro pl cs hu fi tr id ht af ca vi uk bg sr")
	for text, want := range map[string]string{
		"The quick brown fox jumps over the lazy dog and runs away.":                  "en",
		"Le renard brun rapide saute par-dessus le chien paresseux et s'enfuit.":      "fr",
		"Der schnelle braune Fuchs springt über den faulen Hund und läuft weg.":       "de",
		"El veloz zorro marrón salta sobre el perro perezoso y se va corriendo.":      "es",
		"Быстрая коричневая лиса перепрыгивает через ленивую собаку и убегает прочь.": "ru",
		"敏捷的棕色狐狸跳过懒狗。":                                                                "zh",
		"すばやい茶色のきつねがのろまな犬を飛び越えます。":                                                    "ja",
		"الثعلب البني السريع يقفز فوق الكلب الكسول ويهرب بعيدا عنه":                   "ar",
		"Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.":                   "el",
		"": "", "1234 !?": "",
		// Short texts, among all languages.
		"The miller sells flour. Thank you. It rains on the market.": "en",
		"My sister reads a long letter under the bridge.":            "en",
		"Un bateau rouge attend sous le pont.":                       "fr",
		"Wo ist der Bahnhof?":                                        "de",
		"¿Dónde está la estación?":                                   "es",
	} {
		if got := language.Detect(text, all); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	const french = "Je voudrais une tasse de café et un morceau de gâteau, s'il vous plaît."
	if got := language.Detect(french, []string{"en", "de"}); got == "fr" || got == "" {
		t.Errorf("among English and German: %q", got)
	}
	if got := language.Detect("Η γρήγορη καφέ αλεπού", []string{"en", "fr"}); got != "" {
		t.Errorf("Greek among Latin scripts: %q", got)
	}
	if got := language.Detect(french, nil); got != "" {
		t.Errorf("among none: %q", got)
	}
}

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		lang, text string
		want       []string
	}{
		{"en", "", nil},
		{"en", " \n", []string{""}},
		{"en", "One.", []string{"One."}},
		{"en", "One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"en", "  One.\n\nTwo.  ", []string{"One.", "Two."}},
		{"en", "Mr. Smith met Dr. Jones. They spoke.", []string{"Mr. Smith met Dr. Jones.", "They spoke."}},
		{"fr", "M. Dupont est là. Il attend.", []string{"M. Dupont est là.", "Il attend."}},
		{"de", "Das ist z.B. Herr Dr. Maier. Er wartet.", []string{"Das ist z.B. Herr Dr. Maier.", "Er wartet."}},
		{"en", "J. S. Bach wrote it. So did I. We know.", []string{"J. S. Bach wrote it.", "So did I.", "We know."}},
		{"en", "It costs 3.50 euros. Really.", []string{"It costs 3.50 euros.", "Really."}},
		{"en", "He said \"Stop.\" Then he left.", []string{"He said \"Stop.\"", "Then he left."}},
		{"en", "I saw Mr.\nSmith.", []string{"I saw Mr.", "Smith."}},
		{"en", "No. I will not. It is No. 5 there.", []string{"No.", "I will not.", "It is No. 5 there."}},
		{"ru", "Я помогу им. Они ждут.", []string{"Я помогу им.", "Они ждут."}},
		{"zh", "你好。再见。", []string{"你好。", "再见。"}},
		{"xx", "Mr. Smith.", []string{"Mr.", "Smith."}},
	} {
		var got []string
		for _, s := range language.Sentences(test.text, test.lang) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %q: %q, want %q", test.lang, test.text, got, test.want)
		}
	}
}

// Megabytes of text without sentence boundaries take linear time.
func TestLongSentences(t *testing.T) {
	for _, part := range []string{"\n", "Mr. ", "J. ", "\r\n \n"} {
		text := "x " + strings.Repeat(part, 4<<20/len(part)) + "y"
		var whole strings.Builder
		for _, s := range language.Sentences(text, "en") {
			whole.WriteString(s.Before + s.Text + s.After)
		}
		if whole.String() != text {
			t.Errorf("%q many times became another text", part)
		}
	}
}

// No part of a text is lost, and sentences have no white space at their ends.
func FuzzSentences(f *testing.F) {
	for _, s := range []string{"One. Two.", " \n ", "Mr. X.\r\nY", "a\u0085b", "你好。再见。", "\xff. A"} {
		f.Add(s, "en")
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		var whole strings.Builder
		for i, s := range language.Sentences(text, lang) {
			whole.WriteString(s.Before + s.Text + s.After)
			if s.Text != strings.TrimSpace(s.Text) || i > 0 && s.Before != "" {
				t.Errorf("%q: sentence %q", text, s)
			}
		}
		if whole.String() != text {
			t.Errorf("%q became %q", text, whole.String())
		}
	})
}
