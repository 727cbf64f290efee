package arch_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
)

// codes returns the codes of languages.
func codes(list []arch.Language) (all []string) {
	for _, l := range list {
		all = append(all, l.Code)
	}
	return all
}

// Models spell languages in their own ways; requests use ISO 639's short codes.
func TestLanguages(t *testing.T) {
	m2m100, nllb := open(t, "m2m_100").Translation, open(t, "nllb").Translation
	for _, code := range strings.Fields("af am ar ast az ba be bg bn bs ca ceb cs cy da de el en es et fa ff fi fr ga gd gl gu ha he hi hr ht hu hy" +
		" id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no nso oc or pa pl ps pt ro ru" +
		" sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu") {
		for name, m := range map[string]*arch.Translation{"M2M100": m2m100, "NLLB": nllb} {
			if !slices.Contains(codes(m.Sources), code) || !slices.Contains(codes(m.Targets), code) {
				t.Errorf("%s: no %s", name, code)
			}
		}
	}
	if got := codes(nllb.Sources); len(got) != 202 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 202 || !slices.Contains(got, "zho_Hant") {
		t.Errorf("NLLB: %d languages: %v", len(got), got)
	}
	for _, code := range strings.Fields("as ay bm bo dz ee fj gn kg ki kr ks li ny rn sa sc sg tw") {
		if !slices.Contains(codes(nllb.Targets), code) {
			t.Errorf("NLLB: no %s", code)
		}
	}
	i := slices.Index(codes(nllb.Targets), "zh")
	if piece := open(t, "nllb").Tokenizer.Piece(nllb.Targets[i].Target); piece != "zho_Hans" || nllb.Targets[i].Source != 0 {
		t.Errorf("NLLB writes zh as %q", piece)
	}
}

// The languages of mBART-50 have usual codes, whichever file has its tokenizer. A model whose first
// token is forced writes one of them, and a tokenizer of another form is refused.
func TestLanguagesOfMBART(t *testing.T) {
	for _, name := range []string{"mbart", "mbart-gelu"} {
		m := open(t, name)
		sources, targets := codes(m.Translation.Sources), codes(m.Translation.Targets)
		if len(sources) != 52 || !slices.Equal(sources, targets) || len(slices.Compact(slices.Sorted(slices.Values(sources)))) != 52 {
			t.Errorf("%s: from %v to %v", name, sources, targets)
		}
		for code, piece := range map[string]string{"ar": "ar_AR", "en": "en_XX", "zh": "zh_CN", "sl": "sl_SI"} {
			i := slices.Index(sources, code)
			if i < 0 || m.Tokenizer.Piece(m.Translation.Sources[i].Source) != piece || m.Tokenizer.Piece(m.Translation.Targets[i].Target) != piece {
				t.Errorf("%s: %s is not %s", name, code, piece)
			}
		}
		fsys := copyOf(t, name)
		set(t, fsys, "generation_config.json", map[string]any{"forced_bos_token_id": m.Translation.Targets[3].Target})
		if one := openIn(t, fsys, "m").Translation; !slices.Equal(codes(one.Targets), []string{"en"}) || len(one.Sources) != 52 {
			t.Errorf("%s: from %v to %v", name, codes(one.Sources), codes(one.Targets))
		}
		for _, class := range []any{"MBartTokenizer", nil} {
			set(t, fsys, "tokenizer_config.json", map[string]any{"tokenizer_class": class})
			checkRejected(t, name, fsys, "only MBart50Tokenizer")
		}
		set(t, fsys, "config.json", map[string]any{"tokenizer_class": "MBart50TokenizerFast"})
		openIn(t, fsys, "m")
	}
}

// The sources of a Marian model are in one language, or in any of a group; its targets are in one
// language, or in those of the tokens that sources begin with.
func TestLanguagesOfMarian(t *testing.T) {
	for _, c := range []struct {
		source, target string
		sources        int
		first          string
	}{{"eng", "deu", 1, "en"}, {"en", "", 1, "en"}, {"roa", "deu", 80, ""}, {"", "", 80, ""}} {
		fsys := copyOf(t, "marian")
		set(t, fsys, "tokenizer_config.json", map[string]any{"source_lang": c.source, "target_lang": c.target})
		m := openIn(t, fsys, "m").Translation
		if got := codes(m.Sources); len(got) < c.sources || c.first != "" && (len(got) > 1 || got[0] != c.first) {
			t.Errorf("%q: %v", c.source, got)
		}
		if m.EarlyStopping != arch.StopFalse || !m.Renormalize {
			t.Errorf("searches stop by %v, renormalised %v", m.EarlyStopping, m.Renormalize)
		}
		if got := codes(m.Targets); !slices.Equal(got, []string{"de", "nl"}) || m.Targets[0].Source == 0 || m.Targets[0].Target != 0 {
			t.Errorf("%q: targets %+v", c.target, m.Targets)
		}
	}
	fsys := copyOf(t, "marian")
	vocab := strings.NewReplacer(">>deu<<", "one", ">>nld<<", "two").Replace(string(fsys["m/vocab.json"].Data))
	put(fsys, "vocab.json", vocab)
	if got := openIn(t, fsys, "m").Translation.Targets; !slices.Equal(got, []arch.Language{{Code: "de"}}) {
		t.Errorf("without tokens: %+v", got)
	}
	for want, settings := range map[string]map[string]any{"separate_vocabs": {"separate_vocabs": true}, "legacy_behaviour": {"legacy_behaviour": true}} {
		fsys := copyOf(t, "marian")
		set(t, fsys, "tokenizer_config.json", settings)
		checkRejected(t, want, fsys, "m/tokenizer_config.json: "+want+": ")
	}
	files := slices.Sorted(maps.Keys(fsys))
	if !slices.Contains(files, "m/source.spm") {
		t.Error(files)
	}
}
