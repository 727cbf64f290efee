"""The synthetic golden checkpoint, small enough to compute by hand."""

import math

VOCAB = ["\n", "a", "b"]
E, HIDDEN, CONTEXT = 4, 16, 4

# The logits after [1], and the tokens that greedy decoding adds to it.
LOGITS_OF_A = (0.78016621, -0.14802673, 0.70530152)
GREEDY_OF_A = "\na\n"

TENSORS = [
    ("wte", [3, E]), ("wpe", [CONTEXT, E]), ("lmHead", [3, E]), ("lnF.weight", [E]), ("lnF.bias", [E]),
    ("layer.0.ln1.weight", [E]), ("layer.0.ln1.bias", [E]),
    ("layer.0.attn.wq", [E, E]), ("layer.0.attn.wk", [E, E]),
    ("layer.0.attn.wv", [E, E]), ("layer.0.attn.wo", [E, E]),
    ("layer.0.ln2.weight", [E]), ("layer.0.ln2.bias", [E]),
    ("layer.0.mlp.fc1", [HIDDEN, E]), ("layer.0.mlp.fc2", [E, HIDDEN]),
]


def checkpoint(step=7):
    """The legacy JSON checkpoint: element i of tensor t is ((7i + 3t) mod 11 - 5) / 10."""
    params = {}
    for t, (name, shape) in enumerate(TENSORS):
        values = [((7 * i + 3 * t) % 11 - 5) / 10 for i in range(math.prod(shape))]
        if name.endswith(".weight"):
            values = [1 + v / 10 for v in values]
        params[name] = {"shape": shape, "data": values}
    return {
        "modelConfig": config()["modelConfig"], "params": params,
        "optimizerState": {"step": 0, "buffers": {}},
        "tokenizerArtifacts": {"type": "char", "vocabSize": 3, "vocab": VOCAB},
        "rngState": 42, "configHash": "00000000", "step": step,
    }


def config():
    """The config.json of its run."""
    return {
        "modelConfig": {"vocabSize": 3, "blockSize": CONTEXT, "nLayer": 1, "nEmbd": E, "nHead": 2, "dropout": 0},
        "trainConfig": {"iters": 7, "batchSize": 1, "lr": 0.001, "seed": 42},
        "configHash": "00000000", "runId": "golden-run", "domain": "letters",
    }


def upload(name, step=7):
    """The body of POST /api/upload."""
    return {"name": name, "config": config(), "checkpoint": checkpoint(step), "step": step,
            "metrics": '{"step":7,"loss":1.5,"valLoss":1.25}\n'}


def logprobs():
    """The log-probabilities after [1]."""
    total = math.log(sum(map(math.exp, LOGITS_OF_A)))
    return [logit - total for logit in LOGITS_OF_A]
