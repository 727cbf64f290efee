"""A model that ranks documents, and the scores that sentence-transformers computes of it."""

import json
import pathlib

MODELS = pathlib.Path(__file__).resolve().parents[2] / "pkg/engine/testdata/rerankers"
MODEL = "xlm-roberta"
GOLDEN = [g for g in json.loads((MODELS / MODEL / "golden.json").read_text()) if g["query"] == "seven red hens" and g["document"]]
QUERY = GOLDEN[0]["query"]
DOCUMENTS = [g["document"] for g in GOLDEN]
# What a client must get: positions and scores, the largest score first.
RANKED = sorted(((i, g["score"]) for i, g in enumerate(GOLDEN)), key=lambda r: -r[1])
