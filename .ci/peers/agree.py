"""Compares what glossa and llama.cpp compute in float32, token for token.

glossa continues prompts greedily; llama.cpp is given the same tokens one by one, so that
its likeliest token is what its own greedy text would have there. Models: a trained
starter, saved as GPT-2, and random ones whose logits have a standard deviation of about 1.
"""

import argparse
import array
import json
import os
import statistics
import sys

from compare import peer, run

TIE = 1e-4  # two tokens whose logits differ by less in both engines are a tie
TESTDATA = "pkg/engine/arch/testdata"
LONG = ["gpt2", "gpt_neox", "llama-f32"]  # golden models with room for all steps
SHORT = [  # golden models with room for 60 steps, which llama.cpp reads as they are
    "qwen2", "qwen3", "gemma2", "gemma3", "smollm3", "olmo", "olmo2", "granite", "bloom", "stablelm-parallel", "falcon", "cohere", "cohere2", "phi",
    "gpt_bigcode", "starcoder2", "glm4", "exaone4-full", "arcee", "nemotron", "ernie4_5", "seed_oss", "internlm3", "minicpm-untied",
    "lfm2", "lfm2_moe", "granite4-states",
]


def rows(path, vocab):
    """Reads a file of logits, a list for each step."""
    values = array.array("f")
    with open(path, "rb") as f:
        values.frombytes(f.read())
    if sys.byteorder == "big":
        values.byteswap()
    return [values[i:i + vocab] for i in range(0, len(values), vocab)]


def likeliest(row):
    return max(range(len(row)), key=row.__getitem__)


def agree(a, name, path, steps):
    """Compares one model over some steps and returns how many tokens differ."""
    scratch = {key: os.path.join(a.scratch, key) for key in ["tokens.json", "ours.f32", "theirs.f32"]}
    made = run([a.greedy, path, str(steps), scratch["ours.f32"]])
    with open(scratch["tokens.json"], "w", encoding="utf-8") as f:
        f.write(made)
    peer(a, "--model", path, "--follow", scratch["tokens.json"], "--logits", scratch["theirs.f32"])
    vocab, texts = json.loads(made)["vocab"], json.loads(made)["texts"]
    ours, theirs = rows(scratch["ours.f32"], vocab), rows(scratch["theirs.f32"], vocab)
    for file in scratch.values():
        os.remove(file)
    if not len(ours) == len(theirs) == len(texts) * steps:
        sys.exit(f"{name}: {len(ours)} and {len(theirs)} rows of logits")
    wrong, ties, largest, gap = [], [], 0.0, float("inf")
    for i, (x, y) in enumerate(zip(ours, theirs)):
        largest = max(largest, max(abs(p - q) for p, q in zip(x, y)))
        text = texts[i // steps]
        mine, their = text["tokens"][text["prompt"] + i % steps], likeliest(y)
        first, second = sorted(x)[:-3:-1]
        gap = min(gap, first - second)
        if mine != their:
            margin = max(x[mine] - x[their], y[their] - y[mine])
            where = f"    text {i // steps}, token {i % steps}: {mine} or {their}, logits {margin:.2g} apart"
            (ties if margin <= TIE else wrong).append(where)
    spread = statistics.fmean(statistics.pstdev(row) for row in ours)
    print(
        f"  {name:<16} {len(ours) - len(wrong) - len(ties)} of {len(ours)} tokens the same, {len(ties)} ties;"
        f" logits differ by at most {largest:.1e} (their standard deviation: {spread:.1f}; first and second at least {gap:.1e} apart)"
    )
    print("\n".join(ties + wrong), end="\n" if ties + wrong else "", flush=True)
    return len(wrong)


def main():
    p = argparse.ArgumentParser()
    for name in ["glossa", "greedy", "libraries", "scratch", "repository"]:
        p.add_argument("--" + name, required=True)
    p.add_argument("--steps", type=int, default=160)
    a = p.parse_args()
    saved = os.path.join(a.scratch, "novels.gguf")
    run([a.glossa, "bench", os.path.join(a.repository, "pkg/starter/runs/novels"), "--quant", "f32", "--save", saved,
         "--prefill", "0", "--decode", "0"])
    models = {"novels (trained)": saved}
    for name in LONG + SHORT:
        models[name] = os.path.join(a.repository, TESTDATA, name + "-gguf", "model.gguf")
    print(f"greedy text in float32, 4 prompts of random tokens, at most {a.steps} tokens each:")
    wrong = sum(agree(a, name, path, min(a.steps, 60) if name in SHORT else a.steps) for name, path in models.items())
    os.remove(saved)
    if wrong:
        sys.exit(f"glossa and llama.cpp disagree about {wrong} tokens")


main()
