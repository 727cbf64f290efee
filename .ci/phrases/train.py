"""Trains the starter model phrases on the pairs of this directory.

    go run ./.ci/phrases -pairs 700000 > pairs.tsv
    python .ci/phrases/train.py --pairs pairs.tsv --out DIR --minutes 26

torch 2.15.0, transformers 5.23.0, sentencepiece 0.2.3, safetensors; one thread. Writes a
directory as transformers saves one of M2M100: config.json, generation_config.json,
model.safetensors (float16), vocab.json, sentencepiece.bpe.model, tokenizer_config.json.
The 26 minutes were 9,250 steps. What a training gives by the clock differs a little from run to run; --steps makes it repeatable.
The directory is written every --save seconds, so that a training that is stopped leaves a model.
"""

import argparse
import json
import math
import os
import random
import time

import sentencepiece
import torch
from transformers import GenerationConfig, M2M100Config, M2M100ForConditionalGeneration
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

PIECES = 1200
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]  # ids 0 to 3, as fairseq has them
MADEUP = 8

# What is replaced before a text is cut into pieces: spaces and apostrophes that keyboards
# and typesetters write, and letters whose accent is a character of its own.
SPACES = "\u00a0\u202f\u2009\u2007\t\n\r"
APOSTROPHES = "\u2019\u2018\u02bc\u00b4"
ACCENTS = {"\u0300": "àèùÀÈÙ", "\u0301": "éÉ", "\u0302": "âêîôûÂÊÎÔÛ", "\u0308": "ëïüËÏÜ", "\u0327": "çÇ"}


def rules(path):
    """Writes the normaliser's rules: code points in hexadecimal, a tab, what they become."""
    import unicodedata

    lines = [f"{ord(c):X}\t20" for c in SPACES] + [f"{ord(c):X}\t27" for c in APOSTROPHES]
    for accent, letters in ACCENTS.items():
        lines += [f"{ord(unicodedata.normalize('NFD', x)[0]):X} {ord(accent):X}\t{ord(x):X}" for x in letters]
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def read(path):
    """Gives the training pairs and the held-out ones: (direction, English, French)."""
    sets = {"train": [], "held-out": []}
    with open(path, encoding="utf-8") as f:
        for line in f:
            name, way, en, fr = line.rstrip("\n").split("\t")
            sets[name].append((way, en, fr))
    return sets["train"], sets["held-out"]


def pieces(train, out):
    """Trains the pieces on both languages and writes them with their ids."""
    texts, rule = os.path.join(out, "texts.tmp"), os.path.join(out, "rules.tmp")
    with open(texts, "w", encoding="utf-8") as f:
        for _, en, fr in train[:150_000]:
            f.write(en + "\n" + fr + "\n")
    rules(rule)
    prefix = os.path.join(out, "sentencepiece.bpe")
    sentencepiece.SentencePieceTrainer.train(
        input=texts, model_prefix=prefix, vocab_size=PIECES, model_type="bpe", character_coverage=1.0,
        normalization_rule_tsv=rule, split_digits=True, num_threads=1, minloglevel=2, shuffle_input_sentence=False,
        input_sentence_size=0, bos_id=0, eos_id=1, unk_id=2, pad_id=-1, required_chars="".join(ALPHABET),
    )
    os.remove(texts), os.remove(rule), os.remove(prefix + ".vocab")
    sp = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    words = [sp.id_to_piece(i) for i in range(3, sp.get_piece_size())]
    with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump({w: i for i, w in enumerate(SPECIAL + words)}, f, indent=1, ensure_ascii=False)
        f.write("\n")
    with open(os.path.join(out, "tokenizer_config.json"), "w") as f:
        json.dump({
            "tokenizer_class": "M2M100Tokenizer", "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>",
            "unk_token": "<unk>", "pad_token": "<pad>", "src_lang": "en", "tgt_lang": "fr",
            "language_codes": "m2m100", "num_madeup_words": MADEUP, "model_max_length": 256,
        }, f, indent=2)
        f.write("\n")
    return sp, len(SPECIAL + words)


# Characters that are pieces although the pairs do not hold all of them.
ALPHABET = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "àâäçéèêëîïôöùûüœæÀÂÇÉÈÊËÎÏÔÙÛÜŒ.,;:!?'\"()-%€$&/+"
)


def encode(pairs, sp, base):
    """Makes examples (source, target) in ids, with the language before and </s> after."""
    codes = FAIRSEQ_LANGUAGE_CODES["m2m100"]
    en, fr = base + codes.index("en"), base + codes.index("fr")
    ids = lambda s: [i + 1 for i in sp.encode(s)]  # a piece's id in the file is 3 or more
    out = []
    for way, a, b in pairs:
        x, y = [en] + ids(a) + [2], [fr] + ids(b) + [2]
        if way != "fr-en":
            out.append((x, y))
        if way != "en-fr":
            out.append((y, x))
    return out


def batches(examples, tokens, rng):
    """Shuffles, groups examples of like length and yields padded batches of about so many tokens."""
    rng.shuffle(examples)
    for from_ in range(0, len(examples), 20_000):
        part = sorted(examples[from_ : from_ + 20_000], key=lambda e: (len(e[0]), len(e[1])))
        group, out, longest = [], [], 0
        for e in part:
            longest = max(longest, len(e[0]) + len(e[1]))
            if group and longest * (len(group) + 1) > tokens:
                out.append(group)
                group, longest = [], len(e[0]) + len(e[1])
            group.append(e)
        out.append(group)
        rng.shuffle(out)
        yield from map(padded, out)


def padded(group):
    def pad(rows, value):
        n = max(map(len, rows))
        return torch.tensor([r + [value] * (n - len(r)) for r in rows])

    source = pad([x for x, _ in group], 1)
    return source, (source != 1).long(), pad([[2] + y[:-1] for _, y in group], 1), pad([y for _, y in group], -100)


def new_model(vocab):
    torch.manual_seed(1)
    config = M2M100Config(
        vocab_size=vocab, d_model=128, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=384, decoder_ffn_dim=384, max_position_embeddings=256,
        dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, encoder_layerdrop=0.0, decoder_layerdrop=0.0,
        activation_function="relu", scale_embedding=True, init_std=0.02, tie_word_embeddings=True,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
    )
    model = M2M100ForConditionalGeneration(config)
    for name, p in model.named_parameters():  # as fairseq does
        if p.dim() == 2 and "shared" not in name:
            torch.nn.init.xavier_uniform_(p)
        elif "shared" in name:
            torch.nn.init.normal_(p, std=128**-0.5)
    return model


def save(model, out):
    """Writes the model in float16; the training keeps its own float32 weights."""
    half = M2M100ForConditionalGeneration(model.config)
    half.load_state_dict(model.state_dict())
    half.generation_config = GenerationConfig(
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, num_beams=5, max_length=200,
        early_stopping=True,
    )
    half.to(torch.float16).save_pretrained(out)


def rate(step, share, peak, warmup):
    """Inverse square root (Vaswani et al. 2017), and a straight way to zero in the last quarter."""
    r = peak * min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))
    return r * min(1.0, (1.0 - share) / 0.25)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--steps", type=int, default=0, help="end after so many steps instead, which can be repeated")
    p.add_argument("--save", type=float, default=240, help="seconds")
    p.add_argument("--tokens", type=int, default=3000, help="of a batch, both languages")
    p.add_argument("--peak", type=float, default=2.5e-3)
    p.add_argument("--warmup", type=int, default=600)
    a = p.parse_args()
    torch.set_num_threads(1)
    os.makedirs(a.out, exist_ok=True)
    train, held = read(a.pairs)
    sp, base = pieces(train, a.out)
    examples = encode(train, sp, base)
    check = encode(held[:400], sp, base)
    vocab = base + len(FAIRSEQ_LANGUAGE_CODES["m2m100"]) + MADEUP
    model = new_model(vocab)
    print(f"{len(examples)} examples, {len(held)} pairs held out, {base} pieces, {sum(x.numel() for x in model.parameters())} parameters", flush=True)
    optimiser = torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9, foreach=True)
    rng, begin, saved, step, seen = random.Random(1), time.time(), time.time(), 0, 0
    model.train()
    share = 0.0
    while share < 1:
        for source, mask, before, after in batches(examples, a.tokens, rng):
            share = step / a.steps if a.steps else (time.time() - begin) / (60 * a.minutes)
            if share >= 1:
                break
            for g in optimiser.param_groups:
                g["lr"] = rate(step, share, a.peak, a.warmup)
            logits = model(input_ids=source, attention_mask=mask, decoder_input_ids=before, use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), after.flatten(), label_smoothing=0.02)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            step, seen = step + 1, seen + source.shape[0]
            if step % 100 == 0:
                print(f"{time.time() - begin:.0f} s, step {step}, {seen} examples, loss {loss.item():.4f}", flush=True)
            if time.time() - saved > a.save:
                save(model, a.out)
                print("held out:", held_out(model, check), flush=True)
                saved = time.time()
    save(model, a.out)
    print("held out:", held_out(model, check), flush=True)


@torch.no_grad()
def held_out(model, examples):
    """Gives the loss, and the share of examples whose every token is the likeliest."""
    model.eval()
    right, total, loss = 0, 0, 0.0
    for from_ in range(0, len(examples), 50):
        source, mask, before, after = padded(examples[from_ : from_ + 50])
        logits = model(input_ids=source, attention_mask=mask, decoder_input_ids=before, use_cache=False).logits
        right += ((logits.argmax(-1) == after) | (after == -100)).all(-1).sum().item()
        loss += torch.nn.functional.cross_entropy(logits.flatten(0, 1), after.flatten()).item() * len(source)
        total += len(source)
    model.train()
    return f"loss {loss / total:.4f}, every token right {right / total:.3f}"


if __name__ == "__main__":
    main()
