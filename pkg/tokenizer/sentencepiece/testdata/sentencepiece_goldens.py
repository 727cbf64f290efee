"""Makes the SentencePiece models beside it and their goldens.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install sentencepiece==0.2.3 protobuf==7.36.2 tokenizers==0.23.3 transformers==5.23.0
    /tmp/venv/bin/python pkg/tokenizer/sentencepiece/testdata/sentencepiece_goldens.py

The text that the models are trained on and the texts that are encoded are made here.

Models (sp.*.model), each small:
  unigram      Unigram; rules of nmt_nfkc for some blocks
  unigramuser  Unigram; the same rules; user-defined pieces, no dummy prefix
  unigrambytes Unigram with byte_fallback, no rules, spaces kept, user-defined pieces
  bpe          BPE; the same rules; user-defined pieces; some pieces made UNUSED
  bpebytes     BPE with byte_fallback as Llama 2 has it: no rules, spaces kept
  bpesuffix    BPE; white space is a suffix of words; its own surface for the unknown

The rules of nmt_nfkc for all of Unicode are 240 kB; the script asks sentencepiece's
own normalizer what it does with each character of a few blocks and with letters and
one combining mark, and makes rules of that.

Goldens (sp.golden.json): texts, and for each model ids and decoded text by
sentencepiece.SentencePieceProcessor; random ids and what they are decoded to.
sp.unigram.model also serves as the sentencepiece.bpe.model of
  xglm    transformers.XGLMTokenizer (5.x has only the tokenizers-backed class; it is
          given the vocabulary that transformers' own XGLMConverter makes of the model)
  m2m100  transformers.M2M100Tokenizer (the class of sentencepiece in Python), with the
          dictionary sp.m2m100.vocab.json, which lacks some pieces and has others
"""

import io
import json
import os
import random
import tempfile

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

WORDS = """the a of to and in is it was for on with as at by from or not be are this that which one two three
morning evening river mountain bridge letter window garden kitchen station engine paper market winter summer
walk walks walked walking run runs running open opens opened close closed closing read reads reading write
writes written writing remember remembered forget forgotten understand understanding unbelievable
quick quickly slow slowly bright brightly quiet quietly old older oldest young younger youngest""".split()
FOREIGN = """río montaña puente ventana jardín corazón mañana niño fenêtre château élève garçon où déjà naïve
über straße grün schön Mädchen größer łódź żółw książka señor coração não maçã
мост река гора письмо окно сад утро вечер читать писать помнить
ποτάμι βουνό γέφυρα γράμμα παράθυρο κήπος
山 川 橋 手紙 窓 庭 朝 夜 読む 書く 今日は 天気 東京 北京 我们 你好 世界 学习 中文 河流 大山
강 산 다리 편지 창문 정원 아침 저녁 읽다 쓰다
नदी पहाड़ पुल पत्र खिड़की بحر جبل جسر رسالة نافذة""".split()
CODE = ["func main() {", "\tfmt.Println(i)", "}", "for i := 0; i < 10; i++ {", "return x + y", "if err != nil {",
        "def walk(tree):", "    return [n for n in tree]", "x = {'a': 1, \"b\": 2}", "// a note", "#include <stdio.h>"]


def corpus():
    rng = random.Random(7)
    lines = []
    for _ in range(1500):
        words = rng.choices(WORDS, k=rng.randint(3, 12))
        if rng.random() < 0.4:
            words.insert(rng.randint(0, len(words)), rng.choice(FOREIGN))
        if rng.random() < 0.1:
            words.append(str(rng.randint(0, 3000)))
        line = " ".join(words)
        lines.append((line[0].upper() + line[1:] if rng.random() < 0.5 else line) + rng.choice(["", ".", "!", "?", ", too"]))
    for _ in range(60):
        lines += [rng.choice(CODE), " ".join(rng.choices(FOREIGN, k=6))]
    return lines


def rules():
    """The rules of nmt_nfkc for some blocks, in sentencepiece's TSV."""
    normalizer = spm.SentencePieceNormalizer(rule_name="nmt_nfkc", add_dummy_prefix=False,
                                             remove_extra_whitespaces=False, escape_whitespaces=False)
    blocks = [(0x01, 0x180), (0x300, 0x345), (0x1100, 0x1113), (0x1161, 0x1176), (0x2000, 0x2070), (0x2070, 0x209F),
              (0x2100, 0x2150), (0x2460, 0x2474), (0x3000, 0x3001), (0x3099, 0x309D), (0x3300, 0x3310),
              (0xFB00, 0xFB07), (0xFE00, 0xFE10), (0xFEFF, 0xFF00), (0xFF01, 0xFFA0)]
    sources = [chr(c) for first, end in blocks for c in range(first, end)]
    letters = "aceinouyACEINOUY" + "かきカキハ"
    sources += [a + b for a in letters for b in "\u0300\u0301\u0302\u0303\u0308\u0327\u030c\u3099\u309a"]
    sources += [chr(a) + chr(b) for a in range(0x1100, 0x1105) for b in range(0x1161, 0x1166)]
    lines = []
    for source in sources:
        target = normalizer.normalize(source)
        if target != source and "\x00" not in source:
            lines.append("%s\t%s" % (" ".join("%X" % ord(c) for c in source), " ".join("%X" % ord(c) for c in target)))
    return "\n".join(lines) + "\n"


def train(name, edit=None, **options):
    raw = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=raw, num_threads=1, minloglevel=2,
                                   max_sentence_length=4192, **options)
    m = pb.ModelProto()
    m.ParseFromString(raw.getvalue())
    m.normalizer_spec.normalization_rule_tsv = ""
    m.trainer_spec.ClearField("input")
    if edit:
        edit(m)
    raw = m.SerializeToString(deterministic=True)
    with open(f"sp.{name}.model", "wb") as f:
        f.write(raw)
    print(name, len(raw), "bytes", len(m.pieces), "pieces")
    return spm.SentencePieceProcessor(model_proto=raw), m


def unuse(m):
    """Makes pieces that merging goes through UNUSED."""
    normal = [p for p in m.pieces if p.type == pb.ModelProto.SentencePiece.NORMAL and len(p.piece) > 1]
    for p in normal[5:200:7]:
        p.type = pb.ModelProto.SentencePiece.UNUSED


TEXTS = [
    "", " ", "   ", "a", " a", "a ", "  two  spaces  ", "Hello, world!", "The quick river walked to the bridge.",
    "unbelievable understanding, remembered and forgotten", "tab\tand\nline\r\nfeeds\n\n\nand more", "\n", "\t\t", "a\n", "\nb",
    "func main() {\n\tfor i := 0; i < 10; i++ {\n\t\tfmt.Println(i)\n\t}\n}\n", "x = {'a': 1, \"b\": [2, 3.14e-5]}  # note",
    "https://example.org/path?q=1&r=%20x#frag", "foo_bar.baz(qux)->quux[0x1F]", "1234567890 1,234.56 -7", "...!!!???---",
    "El niño cruzó el río mañana; déjà vu über straße", "niño río déjà", "e\u0301 n\u0303 o\u0308 e\u0301\u0301 x\u0301",
    "ﬁne oﬃce ﬂow", "ＦＵＬＬ　ｗｉｄｔｈ １２３", "①②③ ㌀ ½ ™ ℡", "x² + y³ = z₁", "soft\u00adhyphen zero\u200bwidth\u200djoin\ufeffbom",
    "no\u00a0break\u2003em\u3000ideographic\u2028line", "мост через реку, утро и вечер", "ποτάμι και βουνό", "東京の朝、手紙を書く。今日は天気。",
    "我们在北京学习中文，你好世界！", "か\u3099き\u3099 カ\u3099 ハ\u309a ｶﾞ", "강과 산과 다리", "\u1100\u1161\u1102\u1165 \u1112\u1161\u11ab",
    "नदी और पहाड़", "بحر وجبل ورسالة", "שלום עולם", "ไทยไม่มีช่องว่าง", "🙂", "a🙂b 👩‍👩‍👧‍👦 🇫🇷🇩🇪 👍🏽", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕊𝕥𝕪𝕝𝕖",
    "▁", "▁▁", "a▁b", "▁the ▁", " ▁ ", "<s>", "</s> <unk> <pad>", "x<s>y</s>", "<0x41>", "<0xE4><0xBD>", "a<sep>b", "<sep>", " <sep> <sep>c",
    "foo bar", "xfoo barx foo  bar", "NEWYORK NEWYORKER NEW", "__fr__ bonjour", "<madeupword3>", "null\x00byte", "\x00", "\x01\x02\x7f\x1b[0m", "\ufffd", "a\ufffdb",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "walk" * 40, "thethethe" * 20, "山川橋" * 30, "é" * 50, "e\u0301" * 30, " " * 70 + "x",
    "=" * 80, "🙂" * 20, "ab" * 150, "\u0301\u0301", "Ǆ ǅ ĳ ŉ ſ", "A\u030a\u0301", "the the the the the the", "a b c d e f g h",
    "\u2581\u2581the", "quick\u2581brown", "\u3000\u3000the", "Zürich ÅNGSTRÖM ﷺ", "\u1e9b\u0323", "~tilde ～ ˜", "\u2047", "a ⁇ b",
]
BROKEN = ["ff", "61ff62", "e4bd", "e4bda0e5", "c3", "c3c3a9", "f09f99", "f09f9982f0", "eda080", "c080", "20ff20", "80808080", "61e4bd62", "f8888080", "6120f4908080"]


def texts():
    rng = random.Random(11)
    parts = WORDS + FOREIGN + [" ", "  ", ".", ",", "\n", "é", "e\u0301", "ﬁ", "🙂", "①", "<sep>", "foo bar", "NEWYORK", "▁", "x", "Q", "７", "\u200b", "ガ", "(", "ß"]
    made = ["".join(rng.choices(parts, k=rng.randint(2, 9))) for _ in range(40)]
    made += [" ".join(rng.choices(WORDS + FOREIGN, k=rng.randint(4, 20))) for _ in range(15)]
    made += [" ".join(rng.choices(WORDS, k=250))]  # float32 sums of a long text
    return TEXTS + made


def main():
    common = {"hard_vocab_limit": False, "character_coverage": 0.999}
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    table = tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8")
    table.write(rules())
    table.flush()
    mapped = {"normalization_rule_tsv": table.name}
    kept = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    user = {"user_defined_symbols": ["<sep>", "foo bar", "NEW", "NEWYORK"]}
    llama = {"allow_whitespace_only_pieces": True, "byte_fallback": True}
    models = {
        "unigram": train("unigram", model_type="unigram", vocab_size=700, **mapped, **common),
        "unigrambytes": train("unigrambytes", model_type="unigram", vocab_size=800, byte_fallback=True, **kept, **user, **common),
        "bpe": train("bpe", edit=unuse, model_type="bpe", vocab_size=700, **mapped, **user, **common),
        "bpebytes": train("bpebytes", model_type="bpe", vocab_size=900, **llama, **kept, **common),
        "bpesuffix": train("bpesuffix", model_type="bpe", vocab_size=500, treat_whitespace_as_suffix=True,
                           unk_surface="<?>", **kept, **common),
        "unigramuser": train("unigramuser", model_type="unigram", vocab_size=600, add_dummy_prefix=False, **mapped, **user, **common),
    }
    golden = {"texts": texts(), "broken": BROKEN, "models": {}}
    inputs = golden["texts"] + [bytes.fromhex(h) for h in BROKEN]
    rng = random.Random(5)
    for name, (sp, m) in models.items():
        ids = [sp.encode(t) for t in inputs]
        sequences = [[rng.randrange(len(m.pieces)) for _ in range(rng.randint(1, 12))] for _ in range(40)]
        if m.trainer_spec.byte_fallback:
            byte0 = sp.piece_to_id("<0x00>")
            sequences += [[byte0 + b for b in bytes.fromhex(h)] + [rng.randrange(len(m.pieces))] for h in BROKEN]
        golden["models"][name] = {
            "ids": ids, "decoded": [sp.decode(i) if i else "" for i in ids],
            "sequences": sequences, "sequenceTexts": [sp.decode(s) for s in sequences],
        }
    golden["xglm"] = xglm(models["unigram"][1], golden["texts"])
    golden["m2m100"] = m2m100(models["unigram"][1], golden["texts"])
    with open("sp.golden.json", "w", encoding="utf-8") as f:
        json.dump(golden, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


def xglm(m, inputs):
    from transformers import XGLMTokenizer
    from transformers.convert_slow_tokenizer import XGLMConverter

    vocab = XGLMConverter.vocab(None, m)
    t = XGLMTokenizer(vocab=vocab, _spm_precompiled_charsmap=m.normalizer_spec.precompiled_charsmap)
    ids = [t(x)["input_ids"] for x in inputs]
    return {"size": len(t), "ids": ids, "decoded": [t.decode(i, skip_special_tokens=True) for i in ids],
            "special": {s: t.convert_tokens_to_ids(s) for s in ["<s>", "<pad>", "</s>", "<unk>", "<madeupword0>", "<madeupword6>"]}}


def m2m100(m, inputs):
    from transformers import M2M100Tokenizer
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    rng = random.Random(3)
    pieces = [p.piece for p in m.pieces[3:]]
    rng.shuffle(pieces)
    pieces = pieces[:-25] + ["🙂", "▁mystery", "ﷺ"]  # some are missing, others are in no model
    vocab = {p: i for i, p in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + pieces)}
    with open("sp.m2m100.vocab.json", "w", encoding="utf-8") as f:
        json.dump(vocab, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")
    codes = FAIRSEQ_LANGUAGE_CODES["m2m100"]
    t = M2M100Tokenizer("sp.m2m100.vocab.json", "sp.unigram.model", src_lang="fr",
                        additional_special_tokens=["__%s__" % c for c in codes])
    ids = [t(x, add_special_tokens=False)["input_ids"] for x in inputs]
    sequences = [[rng.randrange(len(vocab) + len(codes)) for _ in range(rng.randint(1, 12))] for _ in range(40)]
    return {"ids": ids, "decoded": [t.decode(i, skip_special_tokens=True) for i in ids],
            "sequences": sequences, "sequenceTexts": [t.decode(s, skip_special_tokens=True) for s in sequences],
            "french": t("walk", add_special_tokens=True)["input_ids"], "languages": {c: t.get_lang_id(c) for c in codes}}


if __name__ == "__main__":
    main()
