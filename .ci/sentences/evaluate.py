"""Embeds texts with the starter model sentences as sentence-transformers does.

    python .ci/sentences/evaluate.py --model pkg/starter/runs/sentences --out pkg/starter/testdata/sentences.json

sentence-transformers 6.2.0, torch 2.15.0, float32. Writes a list of texts with their vectors.
"""

import argparse
import json

import torch
from sentence_transformers import SentenceTransformer

TEXTS = [
    "The cat sleeps on the sofa.",
    "A kitten is napping on the couch.",
    "When does the train to Paris leave?",
    "THE TRAIN TO PARIS LEAVES AT NINE.",
    "Café crème, s'il vous plaît – à 3,50 €!",
    "antidisestablishmentarianism and 人工知能",
    "x",
    "",
    "How many\tof the\nvillagers\r\nhave   seen the wolf?",
    "🦊 an emoji",
    "one two three four five six seven eight nine ten " * 6,
    "naïve coöperation: Ångström, Łódź, ß and ﬁ",
]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--out", required=True)
    a = p.parse_args()
    model = SentenceTransformer(a.model, device="cpu", model_kwargs={"dtype": torch.float32})
    vectors = model.encode(TEXTS, normalize_embeddings=False).tolist()
    with open(a.out, "w", encoding="utf-8") as f:
        rows = [json.dumps({"text": text, "vector": [float(f"{x:.7g}") for x in v]}, ensure_ascii=False) for text, v in zip(TEXTS, vectors)]
        f.write("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
