package textsynth

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// score and translate decode and translate a body.
func score(body []byte) (*llm.ScoreRequest, error) {
	var in logprobRequest
	if err := logprobTable.Decode(body, &in); err != nil {
		return nil, err
	}
	return in.request()
}

func translate(body []byte) (*llm.TranslateRequest, error) {
	var in translateRequest
	if err := translateTable.Decode(body, &in); err != nil {
		return nil, err
	}
	return in.request()
}

func TestLogprobRequest(t *testing.T) {
	for body, want := range map[string]llm.ScoreRequest{
		`{"context":"The lazy","continuation":" dog"}`: {Prompt: llm.Text("The lazy"), Continuation: " dog"},
		`{"continuation":" ","context":""}`:            {Prompt: llm.Text(""), Continuation: " "},
		`{"context":"<|endoftext|>","continuation":"\n\u0000"}`: {
			Prompt: llm.Prompt{Parts: []llm.Part{{Text: "<|endoftext|>"}}}, Continuation: "\n\x00",
		},
	} {
		if got, err := score([]byte(body)); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func TestTranslateRequest(t *testing.T) {
	for body, want := range map[string]llm.TranslateRequest{
		`{"text":["a"],"source_lang":"en","target_lang":"fr"}`: {
			Texts: []string{"a"}, Source: "en", Target: "fr", Beams: 4, SplitSentences: true,
		},
		`{"text":["a",""],"source_lang":"auto","target_lang":"nso","num_beams":null,"split_sentences":null}`: {
			Texts: []string{"a", ""}, Target: "nso", Beams: 4, SplitSentences: true,
		},
		`{"text":["b"],"source_lang":"zu","target_lang":"zu","num_beams":1,"split_sentences":false}`: {
			Texts: []string{"b"}, Source: "zu", Target: "zu", Beams: 1,
		},
		`{"text":["b"],"source_lang":"ilo","target_lang":"ceb","num_beams":5,"split_sentences":true}`: {
			Texts: []string{"b"}, Source: "ilo", Target: "ceb", Beams: 5, SplitSentences: true,
		},
	} {
		if got, err := translate([]byte(body)); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

// seedTable is the language table of TextSynth's documentation §1.4, in its order.
const seedTable = `
	af Afrikaans, sq Albanian, am Amharic, ar Arabic, hy Armenian, ast Asturian, az Azerbaijani, ba Bashkir, be Belarusian,
	bn Bengali, bs Bosnian, bg Bulgarian, my Burmese, ca Catalan, ceb Cebuano, km Central Khmer, zh Chinese, hr Croatian,
	cs Czech, da Danish, nl Dutch, en English, et Estonian, fi Finnish, fr French, ff Fulah, gl Galician, lg Ganda,
	ka Georgian, de German, el Greek, gu Gujarati, ht Haitian Creole, ha Hausa, he Hebrew, hi Hindi, hu Hungarian,
	is Icelandic, ig Igbo, ilo Iloko, id Indonesian, ga Irish, it Italian, ja Japanese, jv Javanese, kn Kannada, kk Kazakh,
	ko Korean, lo Lao, lv Latvian, ln Lingala, lt Lithuanian, lb Luxembourgish, mk Macedonian, mg Malagasy, ms Malay,
	ml Malayalam, mr Marathi, mn Mongolian, ne Nepali, nso Northern Sotho, no Norwegian, oc Occitan, or Oriya, pa Panjabi,
	ps Pashto, fa Persian, pl Polish, pt Portuguese, ro Romanian, ru Russian, gd Scottish Gaelic, sr Serbian, sd Sindhi,
	si Sinhala, sk Slovak, sl Slovenian, so Somali, es Spanish, su Sundanese, sw Swahili, ss Swati, sv Swedish, tl Tagalog,
	ta Tamil, th Thai, tn Tswana, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, cy Welsh, fy Western Frisian,
	wo Wolof, xh Xhosa, yi Yiddish, yo Yoruba, zu Zulu`

func TestLanguages(t *testing.T) {
	var want []string
	for row := range strings.SplitSeq(seedTable, ",") {
		want = append(want, strings.Fields(row)[0])
	}
	slices.Sort(want)
	if got := Languages(); !slices.Equal(got, want) || len(got) != 99 {
		t.Errorf("got %d: %v", len(got), got)
	}
	for _, code := range want {
		req, err := translate([]byte(`{"text":["x"],"source_lang":"` + code + `","target_lang":"` + code + `"}`))
		if err != nil || req.Source != code || req.Target != code {
			t.Errorf("%s: %+v, %v", code, req, err)
		}
	}
	for _, code := range []string{"", "br", "ns", "EN", "en ", "en-GB", "eng", "a", "zz", "auto "} {
		if knownLanguage(code) {
			t.Errorf("%q is known", code)
		}
	}
}

// TestParameters: every key has a row and every row a key.
func TestParameters(t *testing.T) {
	keys := map[string]bool{}
	for route, request := range map[string]reflect.Type{
		"completions": reflect.TypeFor[completionRequest](), "translate": reflect.TypeFor[translateRequest](),
		"logprob": reflect.TypeFor[logprobRequest](), "tokenize": reflect.TypeFor[tokenizeRequest](),
	} {
		for key := range wire.Keys(request) {
			keys[route+" "+key] = true
		}
	}
	for _, p := range Parameters() {
		if !keys[p.Name] || p.Disposition != wire.Honoured && p.Disposition != wire.Refused || p.Note == "" {
			t.Errorf("%+v has no key", p)
		}
		delete(keys, p.Name)
	}
	for key := range keys {
		t.Errorf("%s has no disposition", key)
	}
}

// FuzzRequests: no body makes the dialect panic, every rejection is a client error, and
// accepted values are in range.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"context":"The lazy","continuation":" dog"}`))
	f.Add([]byte(`{"text":["a","b"],"source_lang":"auto","target_lang":"nso","num_beams":5,"split_sentences":false}`))
	f.Add([]byte(`{"text":[null],"source_lang":null,"target_lang":"auto"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if req, err := score(body); err != nil {
			clientsFault(t, body, err)
		} else if _, ok := req.Prompt.Text(); !ok || req.Continuation == "" {
			t.Errorf("%q was taken as %+v", body, req)
		}
		switch req, err := translate(body); {
		case err != nil:
			clientsFault(t, body, err)
		case len(req.Texts) < 1, len(req.Texts) > 64, req.Beams < 1, req.Beams > 5,
			!knownLanguage(req.Target), req.Source != "" && !knownLanguage(req.Source):
			t.Errorf("%q was taken as %+v", body, req)
		}
	})
}

func clientsFault(t *testing.T, in []byte, err error) {
	t.Helper()
	if e, ok := errors.AsType[*llm.Error](err); !ok || httpx.Status(e.Code) != 400 || e.Message == "" {
		t.Errorf("%q: %v", in, err)
	}
}
