package main

import "testing"

func TestFinishFrench(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"je ai le impression que il est à le hôtel .", "J'ai l'impression qu'il est à l'hôtel."},
		{"le ami de le homme va à le marché", "L'ami de l'homme va au marché"},
		{"la amie de les enfants va à les magasins", "L'amie des enfants va aux magasins"},
		{"ce arbre , ce homme et ce chat", "Cet arbre, cet homme et ce chat"},
		{"ce est ma école", "C'est mon école"},
		{"il ne y a pas de eau", "Il n'y a pas d'eau"},
		{"si il vient et si elle part", "S'il vient et si elle part"},
		{"il y a beaucoup de huit et de onze", "Il y a beaucoup de huit et de onze"},
		{"jusque à le pont", "Jusqu'au pont"},
		{"je %vous donne %votre livre et %vos clés", "Je vous donne votre livre et vos clés"},
		{"de la eau ; de le pain", "De l'eau ; du pain"},
	} {
		if got := finishFrench(c.in, style{}); got != c.want {
			t.Errorf("%q gives %q, want %q", c.in, got, c.want)
		}
	}
	if got := finishFrench("il %vous voit avec %votre-f amie", style{familiar: true}); got != "Il te voit avec ton amie" {
		t.Error(got)
	}
}

func TestConjugation(t *testing.T) {
	l := words()
	for _, c := range []struct {
		verb                                 string
		present, imperfect, future, feminine string // of nous, je, ils; of the participle
	}{
		{"manger", "mangeons", "mangeais", "mangeront", "mangée"},
		{"lancer", "lançons", "lançais", "lanceront", "lancée"},
		{"parler", "parlons", "parlais", "parleront", "parlée"},
		{"essuyer", "essuyons", "essuyais", "essuieront", "essuyée"},
		{"être", "sommes", "étais", "seront", "étée"},
		{"avoir", "avons", "avais", "auront", "eue"},
		{"devoir", "devons", "devais", "devront", "due"},
		{"prendre", "prenons", "prenais", "prendront", "prise"},
		{"voir", "voyons", "voyais", "verront", "vue"},
		{"acheter", "achetons", "achetais", "achèteront", "achetée"},
		{"espérer", "espérons", "espérais", "espéreront", "espérée"},
		{"aller", "allons", "allais", "iront", "allée"},
	} {
		v := l.conjugation(c.verb)
		got := [4]string{v.present[3], v.inImperfect(0), v.inFuture(5), v.agreed(true, false)}
		if want := [4]string{c.present, c.imperfect, c.future, c.feminine}; got != want {
			t.Errorf("%s: %v, want %v", c.verb, got, want)
		}
	}
	manger := l.conjugation("manger")
	if got := manger.inImperfect(3); got != "mangions" {
		t.Error(got)
	}
	if got := l.conjugation("prendre").agreed(false, true); got != "pris" {
		t.Error(got)
	}
}

func TestPlurals(t *testing.T) {
	for _, c := range [][2]string{{"bateau", "bateaux"}, {"cheval", "chevaux"}, {"nez", "nez"}, {"jeu", "jeux"}, {"chat", "chats"}, {"prix", "prix"}} {
		if got := frenchPlural(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	for _, c := range [][2]string{{"city", "cities"}, {"boy", "boys"}, {"box", "boxes"}, {"church", "churches"}, {"potato", "potatoes"}, {"photo", "photos"}} {
		if got := englishPlural(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int][2]string{
		0: {"zero", "zéro"}, 16: {"sixteen", "seize"}, 21: {"twenty-one", "vingt et un"}, 30: {"thirty", "trente"},
		70: {"seventy", "soixante-dix"}, 71: {"seventy-one", "soixante et onze"}, 77: {"seventy-seven", "soixante-dix-sept"},
		80: {"eighty", "quatre-vingts"}, 81: {"eighty-one", "quatre-vingt-un"}, 91: {"ninety-one", "quatre-vingt-onze"},
		99: {"ninety-nine", "quatre-vingt-dix-neuf"},
	} {
		if got := [2]string{english(n), french(n)}; got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

func TestEnglishVerb(t *testing.T) {
	for in, want := range map[string][4]string{
		"look for":             {"look for", "looked for", "looking for", "looks for"},
		"wake up woke waking":  {"wake up", "woke up", "waking up", "wakes up"},
		"go to bed went going": {"go to bed", "went to bed", "going to bed", "goes to bed"},
		"like":                 {"like", "liked", "liking", "likes"},
		"study":                {"study", "studied", "studying", "studies"},
		"have had having":      {"have", "had", "having", "has"},
		"watch":                {"watch", "watched", "watching", "watches"},
	} {
		base, past, ing := englishVerb(in)
		if got := [4]string{base, past, ing, thirdPerson(base)}; got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

func TestFinishEnglish(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"he is a engineer and has a old car .", "He is an engineer and has an old car."},
		{"a useful book in a university", "A useful book in a university"},
		{"they do not eat , but I am hungry.", "They do not eat, but I am hungry."},
	} {
		if got := finishEnglish(c.in, style{}); got != c.want {
			t.Errorf("%q gives %q, want %q", c.in, got, c.want)
		}
	}
	if got := finishEnglish("he does not know that I cannot come.", style{contracted: true}); got != "He doesn't know that I can't come." {
		t.Error(got)
	}
}
