#!/usr/bin/env python3
"""Writes the golden files of the parts of tokenizer.json beside this script.

python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf tiktoken==0.14.0
/tmp/venv/bin/python pkg/tokenizer/hf/testdata/hf_goldens.py

Beside the byte-level tokenizers of goldens.py, which it reads, it trains a BPE of
characters with byte fallback, as Llama 2 has it, and a Unigram, as XGLM has it, and
has them encode and decode mixed texts with other parts in turn. tiktoken judges the
byte-level ids once more, broken UTF-8 included.
"""
import base64
import json
import os
import random
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import sentencepiece
import tiktoken
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

from goldens import HERE, LLAMA3, TEXTS, VERSION, corpus, write

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
WORDS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}]%s(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?" + WORDS % ("*", "+"), r"[^\r\n\p{L}\p{N}]?" + WORDS % ("+", "*"),
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])

CASES = ["camelCase HTTPServer's iPhone'S ABC中DEFgh ǅabc aǅB \u0301ABC \u0301abC don'T/\n//\n x/y", "I'LLgo we'LLs 'Tis ZoëŒuvre ʰXʰy ªBº"]
PARTS = [TEXTS[i] for i in [1, 2, 8, 9, 11, 13, 19, 20, 21, 28, 30, 31, 33, 35, 43, 44]] + [
    "<s>x</s> <unk><pad> y</p> z</p>\n", "  ▁▁ a▁b ▁", "ＡＢＣ ﬁne ①② ｶﾞ ½ Å ſ İI ΑΣ Ǆ", "a" * 60, "the" * 30, " " * 50 + "x" + " " * 9, "word" + "\u0301" * 40 + "s",
    "q\u0307\u0323" + "\u0323\u0307" * 20 + "e\u0302\u0301 \u1100\u1161\u11a8 \uac00\u11a8" + "\u0340" * 31 + "z", "<0x41> <0x0A>", "x,y.z!?(a)[b] --c", "éé" * 12]


def llama2():
    """Characters with byte fallback; the bytes are put into what the trainer made."""
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    plain = [line for line in corpus() if all(c < "\u0250" and c not in "5=!" for c in line)]
    tok.train_from_iterator(plain, trainers.BpeTrainer(vocab_size=700, show_progress=False))
    state = json.loads(tok.to_str())
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    pieces += sorted(state["model"]["vocab"], key=state["model"]["vocab"].get)
    state["model"]["vocab"] = {p: i for i, p in enumerate(pieces)}
    state["pre_tokenizer"] = None
    state["added_tokens"] = [added(i, pieces[i]) for i in range(3)] + [added(len(pieces), "<pad>"), added(len(pieces) + 1, "</p>", special=False)]
    state["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    state["post_processor"] = template(["<s>"], [], {"<s>": [1]})
    return state


def unigram():
    """SentencePiece's model: that of tokenizers differs from one training to the next.
    Its precompiled_charsmap is a small one; that of NFKC has 240 KB."""
    rules = {" ": "\t\n\r\u00a0\u2028\u3000", "fi": "\ufb01", "A": "\uff21", "B": "\uff22", "1": "\u2460", "x": "\u00d7", "": "\u200b\ufeff"}
    table = "".join("%X\t%s\n" % (ord(c), " ".join("%X" % ord(b) for b in by)) for by, chars in rules.items() for c in chars)
    table += "65 301\tE9\n41 30A\tC5\n30AB 3099\t30AC\n"
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/rules.tsv", "w", encoding="utf-8") as f:
            f.write(table)
        with open(d + "/text", "w", encoding="utf-8") as f:
            f.writelines(corpus())
        sentencepiece.SentencePieceTrainer.train(
            input=d + "/text", model_prefix=d + "/m", vocab_size=600, normalization_rule_tsv=d + "/rules.tsv", character_coverage=0.998,
            bos_id=0, pad_id=1, eos_id=2, unk_id=3, num_threads=1, minloglevel=2)
        m = sentencepiece_model_pb2.ModelProto()
        with open(d + "/m.model", "rb") as f:
            m.ParseFromString(f.read())
    return m


def xglm():
    m = unigram()
    tok = Tokenizer(models.Unigram([(p.piece, round(p.score, 6)) for p in m.pieces], 3))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    state = json.loads(tok.to_str())
    state["added_tokens"] = [added(i, m.pieces[i].piece) for i in range(4)] + [added(600, "<madeupword0>", special=False)]
    charsmap = base64.b64encode(m.normalizer_spec.precompiled_charsmap).decode()
    state["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": charsmap}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}
    state["decoder"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    state["post_processor"] = template(["</s>"], [], {"</s>": [2]})
    return state


def added(number, content, special=True, **options):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special, **options}


def template(before, after, ids):
    def single(names):
        return [{"SpecialToken": {"id": n, "type_id": 0}} for n in names]
    return {"type": "TemplateProcessing", "single": single(before) + [{"Sequence": {"id": "A", "type_id": 0}}] + single(after), "pair": [
        {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {n: {"id": n, "ids": i, "tokens": [n]} for n, i in ids.items()}}


def steps(kind, *list_):
    return {"type": "Sequence", {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders", "post_processor": "processors"}[kind]: list(list_)}


def cut(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def replace(find, by, kind="String"):
    return {"type": "Replace", "pattern": {kind: find}, "content": by}


LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
REGEX = {**LEVEL, "use_regex": True}
META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def variants():
    """What is changed in which base."""
    pre = [("gpt2", p) for p in [
        {**REGEX, "add_prefix_space": True}, LEVEL, steps("pre_tokenizer", {"type": "Digits", "individual_digits": True}, REGEX),
        steps("pre_tokenizer", {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"}, {**LEVEL, "add_prefix_space": True}),
        steps("pre_tokenizer", {"type": "Whitespace"}, LEVEL), steps("pre_tokenizer", {"type": "WhitespaceSplit"}, LEVEL),
        steps("pre_tokenizer", {"type": "Punctuation", "behavior": "Isolated"}, REGEX, {"type": "Digits", "individual_digits": True}),
        steps("pre_tokenizer", cut(r"\p{N}{1,3}"), cut(r"[一-龥぀-ゟ゠-ヿ]+"), cut(r"[!-/:-~]?[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s"), LEVEL),
        steps("pre_tokenizer", cut(r"\d|\D+?\S", "MergedWithPrevious"), cut("a", "MergedWithNext", kind="String"), LEVEL),
        steps("pre_tokenizer", cut(r"[^\s\d]{2,4}|(?:e|é)+x?", "Contiguous"), cut(" ", "Removed", kind="String"), LEVEL),
        steps("pre_tokenizer", cut(GPT2, "Removed", True), LEVEL), steps("pre_tokenizer", cut(LLAMA3, "MergedWithPrevious"), LEVEL),
        steps("pre_tokenizer", cut(r"[-_.]|[\]\[]", "MergedWithNext", True), LEVEL), steps("pre_tokenizer", {"type": "CharDelimiterSplit", "delimiter": "e"}, REGEX),
        {**LEVEL, "type": "ByteLevel"}]]
    out = [(base, {"pre_tokenizer": p}) for base, p in pre]
    out += [("gpt2", {"normalizer": n}) for n in [
        {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, steps("normalizer", {"type": "Lowercase"}, {"type": "NFC"}), replace(r"\S{5}|[q\d]", "+", "Regex")]]
    out += [("gpt2", {"normalizer": {"type": "ByteLevel"}, "pre_tokenizer": cut("Ġ", "MergedWithNext", kind="String")})]
    llama = [{}, {"normalizer": None, "pre_tokenizer": {**META, "prepend_scheme": "first", "split": False}},
             {"normalizer": None, "pre_tokenizer": META, "decoder": META}, {"normalizer": None, "pre_tokenizer": {**META, "prepend_scheme": "never"}, "decoder": {**META, "prepend_scheme": "never"}},
             {"normalizer": None, "pre_tokenizer": {**META, "prepend_scheme": "first"}, "decoder": steps("decoder", {"type": "ByteFallback"}, {"type": "Fuse"}, replace("▁", "  "), replace(" a", "á "), {"type": "Strip", "content": " ", "start": 2, "stop": 3})},
             {"normalizer": replace(" ", "▁"), "pre_tokenizer": cut(" ", "MergedWithPrevious", kind="String"), "decoder": steps("decoder", replace("▁+", "_", "Regex"), {"type": "ByteFallback"}, {"type": "Fuse"})},
             {"normalizer": steps("normalizer", replace(" ", "▁"), {"type": "Prepend", "prepend": "▁▁"}), "decoder": steps("decoder", {"type": "Strip", "content": "e", "start": 1, "stop": 2}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": "▁", "start": 3, "stop": 1})},
             {"normalizer": steps("normalizer", {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": False}, replace(" ", "▁"))},
             {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}}, {"model": {"byte_fallback": False}}, {"model": {"byte_fallback": False, "fuse_unk": False}}, {"model": {"byte_fallback": False, "unk_token": None}}, {"model": {"ignore_merges": True}, "normalizer": None, "pre_tokenizer": META}]
    out += [("llama2", v) for v in llama]
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True}
    out += [("xglm", v) for v in [
        {}, {"normalizer": None}, {"post_processor": roberta, "pre_tokenizer": None, "decoder": {"type": "Fuse"}}, {"post_processor": {**roberta, "type": "BertProcessing"}, "pre_tokenizer": {**META, "split": False}},
        {"post_processor": steps("post_processor", roberta, template(["<pad>", "<s>"], ["</s>", "<pad>"], {"<s>": [0], "</s>": [2, 2], "<pad>": [1]})), "pre_tokenizer": steps("pre_tokenizer", {"type": "WhitespaceSplit"}, META)}]]
    return out


def build(state, changes):
    state = json.loads(json.dumps(state))
    for part, value in changes.items():
        state[part] = {**state[part], **value} if part == "model" else value
    return Tokenizer.from_str(json.dumps(state))


def case(tok, text):
    """None where the reference panics."""
    try:
        return encoded(tok, text)
    except BaseException as err:
        assert type(err).__name__ == "PanicException", err
        return None


def encoded(tok, text):
    tok.encode_special_tokens = True
    plain = tok.encode(text, add_special_tokens=False).ids
    tok.encode_special_tokens = False
    ids = tok.encode(text, add_special_tokens=False).ids
    out = {"plain": plain}
    if ids != plain:
        out["special"] = ids
    decoded = tok.decode(plain, skip_special_tokens=True)
    if decoded != text:
        out["decoded"] = decoded
    return out


def parts(bases):
    out = []
    for base, changes in variants():
        tok = build(bases[base], changes)
        affixed, bare = tok.encode("the").ids, tok.encode("the", add_special_tokens=False).ids
        at = next(i for i in range(len(affixed)) if affixed[i:i + len(bare)] == bare)
        out.append({"base": base, "changes": changes, "before": affixed[:at], "after": affixed[at + len(bare):], "cases": [case(tok, t) for t in PARTS]})
    return {"texts": PARTS, "variants": out}


def random_texts():
    rng = random.Random(99)
    alphabet = list(" \n\r\t'sStTrReEvVlLmMdD019aéÉ,./-_ſ\u0301\u00a0\u2028\u0085\u3000世ก👩\u200d\u0661½Ⅷ\u1100\u1161Å\u212bǅʰ") + [" the", "'ll", "'RE", "Ab", "aB"]
    return ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 30))) for _ in range(150)]


def patterns():
    """Where each pattern cuts: offsets of the ends, in characters."""
    texts = TEXTS + CASES + random_texts()
    out = {"texts": texts}
    for name, pattern in [("gpt2", GPT2), ("llama3", LLAMA3), ("qwen2", QWEN2), ("o200k", O200K)]:
        split = pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
        out[name] = [[end for _, (_, end) in split.pre_tokenize_str(t)] for t in texts]
    return out


def broken():
    """Pieces as bytes, whose ids tiktoken knows whether they are UTF-8 or not."""
    with open(os.path.join(HERE, "gpt2.vocab.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    alphabet = {c: b for b, c in byte_alphabet().items()}
    ranks = {bytes(alphabet[c] for c in piece): number for piece, number in vocab.items()}
    enc = tiktoken.Encoding("small", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    rng = random.Random(5)
    pieces = [b"\xff", b"\xff\xfe", b"\xe4\xb8", b"a\x80b", "世界".encode()[1:], b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\x80", "thereé".encode() + b"\xc3"]
    pieces += [bytes(rng.choice(b"the andro\xc3\xa9\xe4\xb8\x96\xff ") for _ in range(n)) for n in [5, 20, 47, 48, 49, 200]]
    pieces += [b"the" * 1400, bytes(rng.choice(b"etha") for _ in range(4200))]
    valid = [{"text": t, "ids": enc.encode_ordinary(t)} for t in TEXTS]
    return {"texts": valid, "pieces": [{"piece": base64.b64encode(p).decode(), "ids": enc._encode_single_piece(p)} for p in pieces]}


def byte_alphabet():
    out, n = {}, 0
    for b in range(256):
        if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255:
            out[b] = chr(b)
        else:
            out[b] = chr(256 + n)
            n += 1
    return out


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("\u2028", "\\u2028").replace('{"plain"', '\n{"plain"').replace('{"base"', '\n{"base"') + "\n"


def main():
    assert tokenizers.__version__ == VERSION, tokenizers.__version__
    assert sentencepiece.__version__ == "0.2.3", sentencepiece.__version__
    assert tiktoken.__version__ == "0.14.0", tiktoken.__version__
    bases = {"llama2": llama2(), "xglm": xglm()}
    for name, state in bases.items():
        write(name + ".tokenizer.json", dump(state))
    with open(os.path.join(HERE, "gpt2.tokenizer.json"), encoding="utf-8") as f:
        bases["gpt2"] = json.load(f)
    write("parts.golden.json", dump(parts(bases)))
    write("patterns.golden.json", dump(patterns()))
    write("tiktoken.golden.json", dump(broken()))


if __name__ == "__main__":
    main()
