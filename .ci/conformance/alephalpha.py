"""Common parts of the tests of both versions of Aleph Alpha's client."""

import importlib.util
import json
import math
import os
import pathlib

import golden

PROMPTS = {"novels": "The old lighthouse stood", "abc": "X:1\nT:", "chords": "C G", "forms": "\n\nHilda is"}

# The logits of the golden checkpoint after "ab", all negative.
LOGITS_OF_AB = (-0.60464686, -0.25985014, -0.66253716)


def golden_run(root):
    """Writes the golden checkpoint as the run `golden` of a directory."""
    run = pathlib.Path(root) / "golden"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(golden.config()))
    (run / "checkpoint-7.json").write_text(json.dumps(golden.checkpoint()))


def embeddings(text):
    """Layer 0 of the golden checkpoint: token embeddings and their positions."""
    params = golden.checkpoint()["params"]
    wte, wpe = (params[name]["data"] for name in ("wte", "wpe"))
    width = golden.E
    return [[wte[golden.VOCAB.index(c) * width + i] + wpe[at * width + i] for i in range(width)]
            for at, c in enumerate(text)]


def pool(rows):
    """All poolings of the tokens' vectors."""
    columns = list(zip(*rows))
    return {
        "mean": [sum(c) / len(c) for c in columns], "max": [max(c) for c in columns],
        "last_token": list(rows[-1]), "abs_max": [max(c, key=abs) for c in columns],
    }


def logprob_of(logits, token):
    return logits[token] - math.log(sum(map(math.exp, logits)))


def first_client():
    """The module of version 1.0.0, which is installed separately because it conflicts with the current one."""
    path = pathlib.Path(os.environ["ALEPHALPHA1"]) / "aleph_alpha_client" / "aleph_alpha_client.py"
    spec = importlib.util.spec_from_file_location("aleph_alpha_client_1", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
