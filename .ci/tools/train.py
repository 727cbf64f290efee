"""Trains the starter model tools on the chats of pkg/starter/corpus.

    glossa corpus tools --seed 1 --bytes 150000000 > tools.txt
    python .ci/tools/train.py --text tools.txt --template pkg/starter/corpus/tools.jinja --out DIR

The model in the repository had 2,000 steps at the full rate on an earlier text, without the
strange names, and then 2,200 steps at a falling rate on 90 MB of this one (--start).

torch 2.15.0, transformers 5.23.0, tokenizers 0.23.1. Writes a directory as transformers saves
one of Qwen3: config.json, generation_config.json, model.safetensors (float16), tokenizer.json,
tokenizer_config.json, chat_template.jinja.

A call copies names and values from the request, so a text is cut into the same tokens wherever
it stands: words, digits and signs never merge with what surrounds them, and the signs of a call
are tokens of their own. Before the chats, the model learns to copy: rows of random tokens, twice.
The loss counts what the model has to write; the rest of a chat counts a little.
"""

import argparse
import json
import os
import random
import time

import tokenizers
import torch
import transformers

MARKS = ["<|end|>", "<|user|>", "<|answer|>", "<|result|>"]
CALL = [r"\{\"name\": \"", r"\", \"arguments\": \{\"", r"\", \"arguments\": \{", r"\":\"", r"\",\"", r"\"\}\}", r"\": \"", r"\", \"", r"\": ", r"\":", r", \"", r",\"", r"\}\}", r"\{\"", r"\"\}"]
SIGNATURE = [r": ", r", ", r"\?: ", r"\) ", r"\)\n", r"\|"]
CUT = "|".join(CALL + SIGNATURE + [r"\p{L}+", r"\p{N}", r"[^\p{L}\p{N}]"])
PIECES = 1536
CONTEXT = 1024
BACKGROUND = 0.1  # weight of the tokens that the model does not write


def chats(path):
    """Gives the chats of the training text."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return [c + MARKS[0] for c in text.split(MARKS[0] + "\n") if c]


def pieces(texts):
    """Trains byte-level pieces within the words."""
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(CUT), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    t.decoder = tokenizers.decoders.ByteLevel()
    t.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(
        vocab_size=PIECES, special_tokens=MARKS, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    ))
    return t


def weights(ids, answer):
    """Weighs the tokens of a chat as targets. The last answer counts, those before it do not:
    calls in the history are written with spaces and new ones without."""
    last = max(i for i, x in enumerate(ids) if x == answer)
    return [BACKGROUND] * (last + 1) + [1.0] * (len(ids) - last - 1)


def encode(texts, t):
    answer = t.token_to_id("<|answer|>")
    out = []
    for from_ in range(0, len(texts), 50_000):
        for e in t.encode_batch(texts[from_ : from_ + 50_000]):
            if len(e.ids) <= CONTEXT:
                out.append((e.ids, weights(e.ids, answer)))
    return out


def batches(examples, tokens, rng):
    """Shuffles, groups chats of like length and yields padded batches of about so many tokens."""
    while True:
        rng.shuffle(examples)
        for from_ in range(0, len(examples), 8_000):
            part = sorted(examples[from_ : from_ + 8_000], key=lambda e: len(e[0]))
            group, out = [], []
            for e in part:
                if group and len(e[0]) * (len(group) + 1) > tokens:
                    out.append(group)
                    group = []
                group.append(e)
            out.append(group)
            rng.shuffle(out)
            yield from map(padded, out)


def padded(group):
    n = max(len(ids) for ids, _ in group)
    ids = torch.tensor([ids + [0] * (n - len(ids)) for ids, _ in group])
    return ids, torch.tensor([w + [0.0] * (n - len(w)) for _, w in group])


def repeated(vocab, tokens, step):
    """Gives rows of random tokens that are repeated, of growing length."""
    n = min(16 + step // 4, 100)
    half = torch.randint(len(MARKS), vocab, (tokens // (2 * n), n))
    return torch.cat([half, half], 1), torch.cat([torch.zeros(half.shape), torch.ones(half.shape)], 1)


def new_model(vocab, a):
    torch.manual_seed(1)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        vocab_size=vocab, hidden_size=a.width, intermediate_size=a.inner, num_hidden_layers=a.layers,
        num_attention_heads=a.width // 32, num_key_value_heads=a.width // 32, head_dim=32, max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=0, pad_token_id=None, use_cache=False,
    ))


def optimisers(model, a):
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.dim() != 2 or "embed" in n]
    return [
        torch.optim.Muon(matrices, lr=a.muon, momentum=0.95, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=a.adam, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def step_loss(model, ids, weight):
    hidden = model.model(input_ids=ids[:, :-1]).last_hidden_state
    w = weight[:, 1:].flatten()
    keep = w > 0
    logits = model.lm_head(hidden.flatten(0, 1)[keep])
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten()[keep], reduction="none")
    return (loss * w[keep]).sum() / w.sum()


@torch.no_grad()
def held_out(model, examples):
    """Gives the share of chats whose counted tokens are all the likeliest."""
    model.eval()
    right = 0
    for from_ in range(0, len(examples), 40):
        ids, weight = padded(examples[from_ : from_ + 40])
        best = model(input_ids=ids[:, :-1]).logits.argmax(-1)
        ok = (best == ids[:, 1:]) | (weight[:, 1:] < 1)
        right += ok.all(-1).sum().item()
    model.train()
    return right / len(examples)


def save(model, t, template, out):
    half = transformers.Qwen3ForCausalLM(model.config)
    half.load_state_dict(model.state_dict())
    half.generation_config = transformers.GenerationConfig(eos_token_id=0, do_sample=False)
    half.to(torch.float16).save_pretrained(out)
    t.save(os.path.join(out, "tokenizer.json"))
    with open(os.path.join(out, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "model_max_length": CONTEXT, "clean_up_tokenization_spaces": False}, f, indent=2)
        f.write("\n")
    with open(template, encoding="utf-8") as f, open(os.path.join(out, "chat_template.jinja"), "w", encoding="utf-8") as g:
        g.write(f.read())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--text", required=True)
    p.add_argument("--template", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--copies", type=int, default=200, help="steps of repeated rows before")
    p.add_argument("--tokens", type=int, default=4096, help="of a batch")
    p.add_argument("--chats", type=int, default=0, help="use so many chats, 0 for all")
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--inner", type=int, default=384)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--muon", type=float, default=4e-3)
    p.add_argument("--adam", type=float, default=4e-3)
    p.add_argument("--start", help="go on with the model in a directory, at a falling rate")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    os.makedirs(a.out, exist_ok=True)
    texts = chats(a.text)
    if a.chats:
        texts = texts[: a.chats]
    t = tokenizers.Tokenizer.from_file(os.path.join(a.start, "tokenizer.json")) if a.start else pieces(texts[:60_000])
    examples = encode(texts, t)
    check, examples = examples[:400], examples[400:]
    vocab = t.get_vocab_size()
    model = transformers.Qwen3ForCausalLM.from_pretrained(a.start, dtype=torch.float32) if a.start else new_model(vocab, a)
    mean = sum(len(i) for i, _ in examples) / len(examples)
    print(f"{len(examples)} chats of {mean:.0f} tokens, {vocab} pieces, {sum(x.numel() for x in model.parameters())} parameters", flush=True)
    opts = optimisers(model, a)
    peaks = [g["lr"] for o in opts for g in o.param_groups]
    rng, begin, seen = random.Random(1), time.time(), 0
    source = batches(examples, a.tokens, rng)
    average = None
    for step in range(-a.copies, a.steps):
        ids, weight = next(source) if step >= 0 else repeated(vocab, a.tokens, step + a.copies)
        warm = min(1.0, (step + a.copies + 1) / 100)
        cool = min(1.0, (a.steps - step) / ((1.0 if a.start else 0.4) * a.steps))
        for g, peak in zip((g for o in opts for g in o.param_groups), peaks):
            g["lr"] = peak * warm * cool
        loss = step_loss(model, ids, weight)
        for o in opts:
            o.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for o in opts:
            o.step()
        seen += ids.numel()
        average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
        if step % 100 == 0 or step == -1:
            more = f", held out {held_out(model, check):.3f}" if step >= 0 and step % 500 == 0 else ""
            print(f"{time.time() - begin:.0f} s, step {step}, {seen} tokens, loss {average:.4f}{more}", flush=True)
        if step > 0 and step % 500 == 0:
            save(model, t, a.template, a.out)
    save(model, t, a.template, a.out)
    print(f"held out {held_out(model, check):.3f}", flush=True)


if __name__ == "__main__":
    main()
