#!/usr/bin/env python3
"""Writes the golden files of byte-level BPE beside this script.

python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.3
/tmp/venv/bin/python pkg/tokenizer/hf/testdata/goldens.py

It trains two small tokenizers on text it makes itself: one as GPT-2 and GPT-NeoX
have it, one as Llama 3, and has them cut and encode mixed texts.
"""
import json
import os
import random
import re
import shutil
import tempfile

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VERSION = "0.23.3"
HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "\n", "\r", "\r\n", "a", " a", "a ", "  a  ", "The quick brown fox jumps over the lazy dog.",
    "def f(x):\n    if x > 0:\n\treturn x*2  # twice\n\n\n    return None\n",
    "func main() {\r\n\tfmt.Println(\"hi\")\r\n}\r\n", "for(i=0;i<10;++i){a[i]|=1<<i;}//end\n\n",
    "I'm you're he's we've I'll they'd don't", "I'M YOU'RE HE'S WE'VE I'LL THEY'D DON'T", "'Re 'rE 'Ll 'lL 'vE 'S's'sS",
    "'\u017f x'\u017fy '\u212a 'ſt ''s '''ll '", " 's 't 'sabc 'xyz don''t it's's",
    "1 12 123 1234 12345 1234567890 3.14159 0x1F 1,000,000", "\u0661\u0662\u0663\u0664\u0665 \u00bd\u00be\u00b2 \u2167\u2168 \u0967\u0968 \u4e00\u4e8c \u3007\u3021",
    "世界你好，世界。日本語のテキスト、カタカナ", "한국어 텍스트입니다. 조합\u1112\u1161\u11ab", "สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง",
    "مرحبا بالعالم، هذا نص عربي. السَّلَامُ", "עִבְרִית שָׁלוֹם", "नमस्ते दुनिया क्षत्रिय", "Привет, мир! Ёлка",
    "e\u0301 cafe\u0301 cafe\u0301s a\u0308\u0323 \u0301x", "\u00e9 \u00c5 \u212b \u2126 \ufb01 \u1e9b\u0323 \uac00 \u1100\u1161",
    "👨‍👩‍👧‍👦 👩🏽‍🚀🏳️‍🌈 🇫🇷🇩🇪 ☺️ 1️⃣", "😀😀😀😀 a😀b 😀 ", "𝒜𝓑 𐍈𐌰 𝟘𝟙𝟚𝟛𝟜 \U00020000\U0002a6d6",
    "a          b", "a\t\tb \t c", " \n \n ", "x \n\n\n  y", "x\n \n\t\n  \n", "   \n", "\n   ", "\n\n\n\n", "a\rb\r\rc \r d", "\r\n\r\n  \r\n x",
    "a\u00a0b \u00a0 c\u00a0\u00a0d", "a\u2028b\u2029c \u2028 d", "\u0085a\u0085\u0085", "\u3000全角\u3000\u3000x", "a\u200bb\u200c\u200dc\ufeffd",
    "...!!!???\n\n\nx", "!a !!a !!!a (a) [b]{c}", " !\n ?\r\n\r\n ;", "\t! x\t! \u00a0? \n! \u3000.", "\u00f6x o\u0308x", "--- ___ === \u2014\u2026\u201cq\u201d", "$100 50% a@b.c http://x.y/z?q=1&r=2#f",
    "<|endoftext|>", "a<|endoftext|>b", "a <|endoftext|> b", "<|endoftext|><|endoftext|>", "<|endoftext", "|endoftext|>", "<|endoftext|>x<|end|>",
    "<|begin|>hi<|end|>\n<|begin|> x <|endof|>", "a  <|lr|>  b", "<|lr|>\n\n<|lr|>  ", "  <|end|>  ", "sword word words word, xword word_ éword word",
    "a    b     c      d        e", "\n    x\n        y\n            z", "caf\u00e9\u00e9 cafe\u0301\u0301 \u00e9tok e\u0301tok",
    "a" * 100, "ab" * 77, " " * 100, " " * 40 + "x", "\n" * 60, "x" + "\t" * 50 + "\n" + " " * 30 + "y", "7" * 100, "世" * 40, "!" * 70, "\u0301" * 9,
    "\x00\x01\x1f\x7f\u0080\u009f", "naïve façade Zoë œuvre Straße ĲSSEL ŉ ǅ ʰ ª º ⁿ", "the theme then there thereafter these", "information informational informatics",
]


def corpus():
    """Words of made-up languages, code and numbers; all from one seed."""
    rng = random.Random(7)
    onsets, nuclei, codas = "b c d f g h l m n p r s t th sh w st tr".split(), "a e i o u ea ou é".split(), ["", "", "n", "r", "s", "t", "ll", "ng"]
    words = ["".join(rng.choice(onsets) + rng.choice(nuclei) + rng.choice(codas) for _ in range(rng.randint(1, 3))) for _ in range(400)]
    words += "the and of to in is that for it with information return def func if else there these don't I'm we've you're he's they'll".split()
    scripts = ["世界你好日本語", "Приветмир", "مرحبا", "สวัสดี", "한국어", "😀👩🚀"]
    lines = []
    for _ in range(3000):
        line = " ".join(rng.choice(words) for _ in range(rng.randint(2, 12)))
        kind = rng.random()
        if kind < 0.15:
            line = " " * 4 * rng.randint(1, 4) + line.replace(" ", "(", 1) + ")" + rng.choice([";", ":", " {", "\t"])
        elif kind < 0.25:
            line += " " + str(rng.randint(0, 10 ** rng.randint(1, 8))) + ("\n" * rng.randint(0, 3))
        elif kind < 0.35:
            line += " " + "".join(rng.choice(rng.choice(scripts)) for _ in range(rng.randint(1, 9)))
        elif kind < 0.45:
            line = line.capitalize() + rng.choice([".", "!", "?", "...", "'S", "\r\n"])
        elif kind < 0.5:
            line = rng.choice("ab !-=\n\t") * rng.randint(2, 40)
        lines.append(line + "\n")
    return lines


def train(tok, size):
    tok.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), special_tokens=[], show_progress=False))


def gpt2():
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tok, 1000)
    tok.add_special_tokens([AddedToken("<|endoftext|>", normalized=False), AddedToken("<|end|>", normalized=False)])
    tok.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    tok.add_tokens([AddedToken("\u00e9tok", normalized=True), AddedToken("o\u0308x", normalized=True), AddedToken("word", single_word=True, normalized=True)])
    return tok


def llama3():
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    train(tok, 1000)
    # A whole piece that no merge makes, so that ignore_merges shows.
    state = json.loads(tok.to_str())
    state["model"]["vocab"]["Ġthereafter"] = len(state["model"]["vocab"])
    tok = Tokenizer.from_str(json.dumps(state))
    tok.add_special_tokens([AddedToken(s, normalized=False) for s in ["<|begin|>", "<|end|>", "<|endof|>", "<|endoftext|>"]])
    tok.add_special_tokens([AddedToken("<|lr|>", normalized=False, lstrip=True, rstrip=True)])
    tok.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", tok.token_to_id("<|begin|>"))])
    return tok


def goldens(tok):
    cases = []
    for text in TEXTS:
        tok.encode_special_tokens = True  # special tokens are ordinary text
        plain = tok.encode(text, add_special_tokens=False).ids
        tok.encode_special_tokens = False
        ids = tok.encode(text, add_special_tokens=False).ids
        pieces = [text[a:b] for _, (a, b) in tok.pre_tokenizer.pre_tokenize_str(text)]
        case = {"text": text, "pieces": pieces, "plain": plain}
        if ids != plain:
            case["special"] = ids
        cases.append(case)
    return cases


def classes():
    """The ranges of letters, numbers and white space, as the reference knows them."""
    points = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]
    text = "".join(map(chr, points))
    out = {}
    for name, pattern in [("letter", r"\p{L}"), ("number", r"\p{N}"), ("space", r"\s")]:
        split = pre_tokenizers.Split(Regex("[^" + pattern + "]+"), "removed")
        out[name] = [[points[a], points[b - 1]] for _, (a, b) in split.pre_tokenize_str(text)]
    return out


def compact(value):
    """One case a line, so that changes can be read."""
    return re.sub(r'(\{"text")', r"\n\1", json.dumps(value, ensure_ascii=True, separators=(",", ":"))) + "\n"


def write(name, text):
    with open(os.path.join(HERE, name), "w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def main():
    assert tokenizers.__version__ == VERSION, f"tokenizers {tokenizers.__version__}, not {VERSION}"
    for name, tok in [("gpt2", gpt2()), ("llama3", llama3())]:
        write(name + ".tokenizer.json", tok.to_str() + "\n")
        write(name + ".golden.json", compact(goldens(tok)))
        if name == "gpt2":
            with tempfile.TemporaryDirectory() as d:
                tok.model.save(d)
                for file in "vocab.json", "merges.txt":
                    shutil.copyfile(os.path.join(d, file), os.path.join(HERE, "gpt2." + file))
    write("classes.json", json.dumps(classes(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
