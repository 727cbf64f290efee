#!/usr/bin/env python3
"""Writes seed001.vocab.json and seed001.merges.txt beside this script.

python3 pkg/tokenizer/hf/testdata/seed001.py DIR

DIR holds the vocab.json and merges.txt of GPT-2 (r50k). Only what the texts below
need is kept, with its true ids and in its true order: the 256 bytes, and every token
and merge that spells a part of one of their pieces. Whatever is made while a piece
is merged spells a part of it, so that the whole vocabulary gives the same ids.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PIECES = "The Ġquick Ġbrown Ġfox Ġjumps Ġover Ġthe Ġlazy Ġdog Ġunicorn".split()


def main():
    with open(os.path.join(sys.argv[1], "vocab.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    with open(os.path.join(sys.argv[1], "merges.txt"), encoding="utf-8") as f:
        merges = [line.rstrip("\n") for line in f if not line.startswith("#version")]
    parts = {p[i:j] for p in PIECES for i in range(len(p)) for j in range(i + 1, len(p) + 1)}
    kept = {p: i for p, i in sorted(vocab.items(), key=lambda e: e[1]) if len(p) == 1 or p in parts}
    with open(os.path.join(HERE, "seed001.vocab.json"), "w", encoding="utf-8", newline="\n") as f:
        f.write(json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n")
    with open(os.path.join(HERE, "seed001.merges.txt"), "w", encoding="utf-8", newline="\n") as f:
        f.write("#version: 0.2\n" + "".join(m + "\n" for m in merges if m.replace(" ", "") in parts))


main()
