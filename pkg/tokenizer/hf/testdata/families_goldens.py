"""Writes families.golden.json: byte-level vocabularies trained with the pre-tokenizers of today's
families, and a checksum of the ids of mixed texts.

    python families_goldens.py
"""
import json, pathlib, zlib
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers, Regex

here = pathlib.Path(__file__).parent

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_WORDS = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                  "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
PAIRS = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}" + REST
CL100K = "'(?i:[sdmt]|ll|ve|re)|" + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN35 = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def sequence(*steps):
    return pre_tokenizers.Sequence(list(steps))


FAMILIES = {
    "tekken": sequence(split(TEKKEN), level(False)),
    "deepseek-v3": sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK_WORDS), level(False)),
    "deepseek-coder": sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"),
                               pre_tokenizers.Digits(individual_digits=True), level(False)),
    "deepseek-llm": sequence(split("[\r\n]"), split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓΑ-ΡΣ-ϵϷ-ҁℂℇℊ-ℓＡ-Ｚａ-ｚ]+"), split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(r"\s+$"),
                             split("[一-龥ࠀ-一가-퟿]+"), pre_tokenizers.Digits(individual_digits=True), level(False)),
    "bloom": sequence(split(BLOOM), level(False)),
    "falcon": sequence(pre_tokenizers.Punctuation("contiguous"), level(True), pre_tokenizers.Digits(individual_digits=False),
                       split("[0-9][0-9][0-9]")),
    "qwen35": sequence(split(QWEN35), level(False)),
    "pairs-of-digits": sequence(split(PAIRS), level(False)),
    "cl100k": sequence(split(CL100K), level(False)),
    "starcoder": sequence(pre_tokenizers.Digits(individual_digits=True), level(True)),
}

WORDS = ["the ", "Model", "don't", " I'LL", "123456", " 7", "٣٤", "½", "snake_case", "camelCase", "HTTPServer", "naïve", "e\u0301", "Ελλάδα", "привет",
         "世界", "日本語", "かな", "カナ", "한국어", "हिन्दी", "नमस्ते", "العربية", "۔", "،", "ไทย", "😀", "👩‍💻", "ǅ", "ʰ", "ſ", "  ", "\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000",
         "...", "!?", "(a|b)", "$x+=1;", "//", "/*", "*/", "`~^", "<|x|>", "\\n", "[]{}", "#1", "é", "Ⅷ", "²", "_", "-", "…", "。", "，", "、", "।", "\u200d", "\u0000", "\ufeff", "€9", "A", "b", "Z9z",
         "'s", "'S", "'\u017f", "'\u017f\u017f", "'T", "'t", "'Re", "'rE", "'vE", "'M", "'lL", "'d", "'D", "'\u00df", "l'L", "'\u0301s", "\u0301", "\u0948", "\u212a", "'\r\n", "\r", "2026", "f\u00fcr", "\u00d6\u00fc\u00fc\u00fe", "\u00c0\u00fd\u00f7\u00ff"]

UNUSED = "õ÷ÁýÀÿøúþüùöû"  # the spellings of the bytes that UTF-8 never uses, in DeepSeek's order


def texts(count):
    """The same as texts of families_test.go."""
    state, out = 1, []
    for _ in range(count):
        parts = []
        for _ in range(1 + state % 13):
            state = (state * 1103515245 + 12345) % (1 << 31)
            parts.append(WORDS[(state >> 8) % len(WORDS)])
        out.append("".join(parts))
    return out


def without_unused(t):
    """Moves the bytes that UTF-8 never uses from the vocabulary to the added tokens, as DeepSeek's first files have them."""
    f = json.loads(t.to_str())
    pieces = [p for p in sorted(f["model"]["vocab"], key=f["model"]["vocab"].get) if p not in UNUSED]
    f["model"]["vocab"] = {p: i for i, p in enumerate(pieces)}
    f["added_tokens"] = [{"id": len(pieces) + i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
                         for i, c in enumerate(UNUSED)]
    return Tokenizer.from_str(json.dumps(f))


out = {}
corpus = texts(2000)
for name, pre in FAMILIES.items():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if name == "deepseek-coder":
        t = without_unused(t)
    pieces = [p for p, _ in pre.pre_tokenize_str(corpus[7])]
    sums = []
    for at in range(0, len(corpus), 100):
        ids = [t.encode(text).ids for text in corpus[at:at + 100]]
        sums.append(zlib.crc32(json.dumps(ids, separators=(",", ":")).encode()))
    out[name] = {"tokenizer": json.loads(t.to_str()), "sums": sums, "text": corpus[7], "ids": t.encode(corpus[7]).ids, "pieces": pieces}
(here / "families.golden.json").write_text(json.dumps({"words": WORDS, "families": out}, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
