package sentencepiece

import (
	"fmt"
	"slices"
	"strings"
)

// mBART50Languages are the languages of mBART-50 (Tang et al. 2020) in the order of their ids,
// which follow those of the pieces.
const mBART50Languages = "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP " +
	"nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF " +
	"pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"

// MBART50 is the tokenizer of mBART-50: the pieces of a SentencePiece model with fairseq's ids, and
// a token for each language. The affix after a text is </s>. The caller puts the language before
// it.
type MBART50 struct {
	remapped
	languages []string
	first     int // id of the first language
}

// ParseMBART50 builds the tokenizer of sentencepiece.bpe.model.
func ParseMBART50(model []byte) (*MBART50, error) {
	t := &MBART50{languages: strings.Fields(mBART50Languages)}
	sp, err := parse(model)
	if err == nil {
		err = t.renumber(sp)
	}
	if err == nil {
		t.first = len(t.pieces)
		t.pieces = append(append(t.pieces, t.languages...), "<mask>")
		t.after = []int{fairseqEOS}
		err = t.finish(t.specials())
	}
	if err != nil {
		return nil, fmt.Errorf("sentencepiece.bpe.model of mBART-50: %w", err)
	}
	return t, nil
}

// Language returns the id of a language's token, by its code.
func (t *MBART50) Language(code string) (id int, ok bool) {
	i := slices.Index(t.languages, code)
	return t.first + i, i >= 0
}

// Languages returns the codes of all languages.
func (t *MBART50) Languages() []string { return slices.Clone(t.languages) }
