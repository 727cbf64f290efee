"""Measures the starter model phrases on held-out pairs and writes the files in pkg/starter/testdata/phrases.

    go run ./.ci/phrases -pairs 700000 > pairs.tsv
    python .ci/phrases/evaluate.py --pairs pairs.tsv --model pkg/starter/runs/phrases --out pkg/starter/testdata/phrases

torch 2.15.0, transformers 5.23.0, sentencepiece 0.2.3; one thread, float32 from the stored float16.
quality.json and quality.md hold the shares of exact translations, heldout.json a sample of the
held-out pairs, golden.json what transformers' tokenizer and generate give for a few sentences.
"""

import argparse
import json
import os
import random

import torch
import transformers
from transformers import M2M100ForConditionalGeneration, M2M100Tokenizer

from train import read

WAYS = (("en", "fr"), ("fr", "en"))
SAMPLE = 400  # pairs in heldout.json

# What clients may send that the phrases do not hold: other apostrophes and spaces, accents
# apart from their letters, haste, unknown characters and words.
ODD = {
    "en": ["I’m eating an apple.", "where is the station", "The café is (not) open — 日本!", "Bonjour means hello.", "  two   spaces  "],
    "fr": ["Où est l’école\u00a0?", "J'ai mange\u0301 du pa\u0302te\u0301.", "elle est alle\u0301e a\u0300 Paris", "Œuf, œuvre & cœur: 25 €", "Tu as 3\u202f000 chats ?"],
}


class Translator:
    """Translates by transformers' own tokenizer and generate."""

    def __init__(self, path, dtype=torch.float32):
        self.tokenizer = M2M100Tokenizer.from_pretrained(path)
        self.model = M2M100ForConditionalGeneration.from_pretrained(path, dtype=dtype).eval()
        self.base = self.tokenizer.encoder_size

    def ids(self, text, language):
        self.tokenizer.src_lang = language
        self.tokenizer.set_src_lang_special_tokens(language)
        return self.tokenizer(text).input_ids

    def output(self, rows, target, beams):
        """Gives the output ids of rows of one length or padded ones, without padding at the end."""
        longest = max(map(len, rows))
        ids = torch.tensor([r + [1] * (longest - len(r)) for r in rows])
        with torch.no_grad():
            out = self.model.generate(
                input_ids=ids, attention_mask=(ids != 1).long(), num_beams=beams, do_sample=False, max_length=200,
                early_stopping=True, forced_bos_token_id=self.tokenizer.get_lang_id(target),
            )
        return [strip(row) for row in out.tolist()]

    def text(self, ids):
        return self.tokenizer.decode([i for i in ids if 2 < i < self.base])

    def translate(self, texts, source, target, beams):
        """Translates texts in the order of their length, 100 at once."""
        rows = [self.ids(t, source) for t in texts]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        out = [""] * len(rows)
        for from_ in range(0, len(order), 100):
            part = order[from_ : from_ + 100]
            for i, ids in zip(part, self.output([rows[i] for i in part], target, beams)):
                out[i] = self.text(ids)
        return out


def strip(row):
    while row and row[-1] == 1:
        row.pop()
    return row


def exact(translator, pairs, source, target, beams, show=0):
    """Gives the share of pairs that are translated exactly, in per cent."""
    side = {"en": 0, "fr": 1}
    got = translator.translate([p[side[source]] for p in pairs], source, target, beams)
    wrong = [(p, g) for p, g in zip(pairs, got) if g != p[side[target]]]
    for p, g in wrong[:show]:
        print(f"  {source}: {p[side[source]]}\n    want {p[side[target]]}\n    got  {g}")
    return round(100 * (1 - len(wrong) / len(pairs)), 2)


def golden(path, pairs):
    """Records ids and outputs; only sentences that float32 and float64 translate alike."""
    single, double = Translator(path), Translator(path, torch.float64)
    out = []
    for source, target in WAYS:
        side, left = {"en": 0, "fr": 1}[source], 20
        for text in ODD[source] + [p[side] for p in pairs]:
            if left == 0:
                break
            ids = single.ids(text, source)
            beams = {b: single.output([ids], target, b)[0] for b in (1, 4, 5)}
            if any(double.output([ids], target, b)[0] != x for b, x in beams.items()):
                print("not the same in float64:", text)
                continue
            left -= 1
            out.append({
                "source_lang": source, "target_lang": target, "text": text, "ids": ids,
                "beams": {str(b): x for b, x in beams.items()}, "translation": single.text(beams[4]),
            })
    return out


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in value) + "\n]\n" if isinstance(value, list)
                else json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--count", type=int, default=1000, help="pairs to a direction")
    p.add_argument("--quick", action="store_true", help="measure only, and show what is wrong")
    a = p.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    held = read(a.pairs)[1]
    both = [(en, fr) for way, en, fr in held if way == "both"]
    random.Random(3).shuffle(both)
    translator = Translator(a.model)
    quality = {
        "parameters": sum(x.numel() for x in translator.model.parameters()),
        "bytes": os.path.getsize(os.path.join(a.model, "model.safetensors")),
        "pairs": len(both), "measured": a.count, "exact": {}, "variants": {}, "sample": {},
    }
    for source, target in WAYS:
        way = source + "-" + target
        for beams in (1, 4) if a.quick else (1, 4, 5):
            quality["exact"][f"{way} {beams}"] = exact(translator, both[: a.count], source, target, beams, 20 if beams == 4 else 0)
            print(way, beams, quality["exact"], flush=True)
        one_way = [(en, fr) for w, en, fr in held if w == way][: a.count // 2]
        quality["variants"][way] = exact(translator, one_way, source, target, 4, 10)
        if not a.quick:
            quality["sample"][way] = {str(b): exact(translator, both[:SAMPLE], source, target, b) for b in (1, 4)}
    print(quality, flush=True)
    if a.quick:
        return
    write(os.path.join(a.out, "quality.json"), quality)
    with open(os.path.join(a.out, "quality.md"), "w") as f:
        f.write("| direction | exact, greedy | exact, 4 beams | exact, 5 beams |\n|---|---|---|---|\n")
        for source, target in WAYS:
            figures = (quality["exact"][f"{source}-{target} {b}"] for b in (1, 4, 5))
            f.write(f"| `{source}-{target}` | " + " | ".join(f"{x:.1f} %" for x in figures) + " |\n")
    write(os.path.join(a.out, "heldout.json"), [list(p) for p in both[:SAMPLE]])
    write(os.path.join(a.out, "golden.json"), golden(a.model, both))


if __name__ == "__main__":
    main()
