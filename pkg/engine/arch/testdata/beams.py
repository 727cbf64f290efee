"""What generate finds with beams and rules: beams.json of BART, T5 and Pegasus."""

import copy

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM

import bart
import seq2seq
import translators
from common import HERE, listed

# A rule, and what generate has besides it. A case counts only if the result without the rule, which
# is that with the other value, is another.
BEAMS = {"num_beams": 4, "max_length": 14}
GREEDY = {"num_beams": 1, "max_length": 14}
LATE = BEAMS | {"early_stopping": True}
NONE = object()
RULES = [
    ("num_beams", 4, 1, {"max_length": 14}),
    ("num_beams", 6, 3, {"max_length": 14}),
    ("length_penalty", 2.0, 1.0, BEAMS),
    ("length_penalty", -1.0, 1.0, BEAMS),
    ("early_stopping", True, False, BEAMS | {"length_penalty": 2.0}),
    ("early_stopping", "never", False, BEAMS | {"length_penalty": 2.0}),
    ("early_stopping", "never", True, BEAMS),
    ("min_length", 7, NONE, LATE),
    ("min_length", 7, 6, LATE),
    ("min_new_tokens", 7, NONE, LATE | {"min_length": 3}),
    ("max_new_tokens", 6, NONE, BEAMS),
    ("max_length", 6, 7, {"num_beams": 4}),
    ("forced_eos_token_id", 0, NONE, {"num_beams": 4, "max_length": 5}),
    ("no_repeat_ngram_size", 3, NONE, BEAMS | {"min_length": 12}),
    ("no_repeat_ngram_size", 2, 3, BEAMS | {"min_length": 12}),
    ("no_repeat_ngram_size", 1, 2, BEAMS | {"min_length": 8}),
    ("encoder_no_repeat_ngram_size", 2, NONE, BEAMS),
    ("encoder_no_repeat_ngram_size", 1, NONE, BEAMS),
    ("repetition_penalty", 1.3, NONE, BEAMS | {"min_length": 12}),
    ("repetition_penalty", 0.8, NONE, BEAMS),
    ("renormalize_logits", True, NONE, BEAMS | {"min_length": 10, "no_repeat_ngram_size": 1}),
    ("renormalize_logits", True, NONE, BEAMS | {"min_length": 10, "repetition_penalty": 1.5}),
    ("bad_words_ids", 1, NONE, BEAMS),
    ("bad_words_ids", 2, NONE, BEAMS),
    ("min_length", 8, NONE, GREEDY),
    ("no_repeat_ngram_size", 2, NONE, GREEDY | {"min_length": 14}),
    ("repetition_penalty", 1.3, NONE, GREEDY | {"min_length": 14}),
    ("repetition_penalty", 0.8, NONE, GREEDY),
    ("forced_eos_token_id", 0, NONE, {"num_beams": 1, "max_length": 6}),
]


def generate(k, model, source, settings):
    got = model.generate(torch.tensor(source)[None], do_sample=False, **settings)[0, 1:].tolist()
    while got and got[-1] == k.pad:  # behind the end of the best are those of longer ones
        got.pop()
    return got


def words(k, found, count):
    """Tokens that a result has, as bad_words_ids: the end alone is not among the bad ones."""
    text = [t for t in found if t != k.eos]
    return None if len(text) < count + 2 else [text[1:1 + count], [k.eos], [k.first, text[2]]]


def case(k, model, witnesses, source, rule):
    """The case of a source, or None if the rule does not matter or rounding does."""
    name, value, other, rest = rule
    without = dict(rest) if other is NONE else rest | {name: other}
    before = generate(k, model, source, without)
    if name == "forced_eos_token_id":
        value = k.eos
    if name == "bad_words_ids" and not (value := words(k, before, value)):
        return None
    settings = rest | {name: value}
    found = generate(k, model, source, settings)
    text = found[:-1] if found[-1:] == [k.eos] else found
    if not found or found == before or k.pad in text or k.eos in text or any(generate(k, w, source, settings) != found for w in witnesses):
        return None
    return {"settings": settings, "source": source, "tokens": found}


def make(k, name, seed, count):
    model = AutoModelForSeq2SeqLM.from_pretrained(HERE / name, attn_implementation="eager").eval()
    begin = model.generation_config.forced_bos_token_id
    model.generation_config = type(model.generation_config)(
        bos_token_id=0, eos_token_id=k.eos, pad_token_id=k.pad, decoder_start_token_id=k.start, forced_bos_token_id=begin)
    witnesses = [translators.disturbed(model, 1), copy.deepcopy(model).double()]
    rng = np.random.Generator(np.random.PCG64(seed))
    found, missing = [], []
    for rule in RULES:
        cases = []
        for _ in range(150):
            source = translators.text(k, rng, model.config.vocab_size, int(rng.integers(2, 12)))
            if got := case(k, model, witnesses, source, rule):
                cases.append(got)
            if len(cases) == count:
                break
        found += cases
        if not cases:
            missing.append(rule[:2])
    print(name, len(found), "cases; none with", missing)
    (HERE / name / "beams.json").write_text(listed({"cases": found}))


def beams():
    make(bart.BART, "bart", 1601, 3)
    make(seq2seq.T5, "t5", 1602, 3)
    make(bart.Pegasus, "pegasus", 1603, 3)


GROUPS = {"beams": beams}
