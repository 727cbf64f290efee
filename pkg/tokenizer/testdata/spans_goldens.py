"""Writes spans.golden.json: tiny tokenizers with the marks of chat templates, and the reference's
ids of chats. A chat is in spans: those at even places are the template's, the others a client's.

    python spans_goldens.py
"""
import json, pathlib
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

here = pathlib.Path(__file__).parent

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
CORPUS = ["user\n\nHello there, you are a helpful assistant. 12345 67\n", "system\nIt's the day.\n\nassistant\n\n", " [INST] What is 3456? [/INST] It is. ",
          "<|user|>\nTell me\n\n\nmore  \n", "don't tell   the    assistant é e\u0301 日本"] * 4


def level(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(normalizer, pre, decoder, alphabet, added, **model):
    t = Tokenizer(models.BPE(**model))
    if normalizer is not None:
        t.normalizer = normalizer
    if pre is not None:
        t.pre_tokenizer = pre
    t.decoder = decoder
    pieces = ["<unk>"] + [f"<0x{b:02X}>" for b in range(256)] if model else []
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=len(pieces) + 360, special_tokens=pieces, initial_alphabet=alphabet, show_progress=False))
    if model:  # bytes are pieces, not added tokens
        raw = json.loads(t.to_str())
        raw["added_tokens"] = [a for a in raw["added_tokens"] if a["content"] == "<unk>"]
        t = Tokenizer.from_str(json.dumps(raw))
    for token in added:
        t.add_special_tokens([token]) if token.special else t.add_tokens([token])
    return t


def special(text, **o):
    return AddedToken(text, special=True, **{"normalized": False, **o})


def ordinary(text, **o):
    return AddedToken(text, special=False, **{"normalized": False, **o})


bytes_ = pre_tokenizers.ByteLevel.alphabet()
llama = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
fallback = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
TOKENIZERS = {
    "chatml": train(normalizers.NFC(), level(QWEN2), decoders.ByteLevel(), bytes_,
                    [special("<|im_start|>"), special("<|im_end|>"), ordinary("<tool_call>"), ordinary("<think>"), ordinary("</think>")]),
    "llama3": train(None, level(LLAMA3), decoders.ByteLevel(), bytes_,
                    [special("<|begin_of_text|>"), special("<|start_header_id|>"), special("<|end_header_id|>"), special("<|eot_id|>"), ordinary("    ")]),
    "taking": train(None, level(LLAMA3), decoders.ByteLevel(), bytes_,  # white space around marks
                    [special("<|user|>", rstrip=True), special("<|end|>", rstrip=True), special("<|assistant|>", lstrip=True), special("<mask>", lstrip=True, single_word=True)]),
    "normalized": train(normalizers.NFC(), level(QWEN2), decoders.ByteLevel(), bytes_,
                        [special("<|im_start|>", normalized=True), special("<|im_end|>", normalized=True), ordinary("<think>", normalized=True)]),
    "mistral": train(llama, None, fallback, [], [special("<s>"), special("</s>"), special("[INST]"), special("[/INST]")],
                     unk_token="<unk>", fuse_unk=True, byte_fallback=True),
    "zephyr": train(llama, None, fallback, [], [special("<|user|>", normalized=True), special("</s>"), special("<|assistant|>", normalized=True)],
                    unk_token="<unk>", fuse_unk=True, byte_fallback=True),
    "metaspace": train(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), fallback, [], [special("<s>"), special("[INST]"), special("[/INST]")],
                       unk_token="<unk>", fuse_unk=True, byte_fallback=True),
}
TEXTS = ["Hello", "", "\n\nTell me", "12", "345 more\n", "  the day ", "\n", "e", "\u0301 x", "日本\n\n", "'s it", "don't  ", "    \n"]
TEMPLATES = {
    "chatml": ["<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n<think>\n", "\n</think>\n\n<tool_call>", "<|im_end|>\n"],
    "llama3": ["<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", "\n", "<|eot_id|>"],
    "taking": ["<|user|>\n", "<|end|>\n<|assistant|>", " <mask> ", " 1"],
    "normalized": ["<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n<think>", "1", "<|im_end|>\n"],
    "mistral": ["<s>[INST] ", " [/INST] ", "</s>[INST] ", " [/INST]"],
    "zephyr": ["<|user|>\n", "</s>\n<|assistant|>\n", "</s>\n<|user|>\n", "</s>"],
    "metaspace": ["<s>[INST]", "[/INST]", "[INST] ", "[/INST]"],
}
out = {}
for name, t in TOKENIZERS.items():
    cases = []
    for i in range(len(TEXTS)):
        spans = []
        for k, text in enumerate(TEMPLATES[name]):
            spans += [text, TEXTS[(i + 4 * k) % len(TEXTS)]]
        cases.append({"spans": spans, "ids": t.encode("".join(spans), add_special_tokens=False).ids})
    out[name] = {"tokenizer": json.loads(t.to_str()), "cases": cases}
(here / "spans.golden.json").write_text(json.dumps(out, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
