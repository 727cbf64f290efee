"""Writes blocks.json: blocks of 32 values and what ggml's own quantisation makes of them.

Needs gguf==0.19.0 and numpy==2.4.6; run it in this directory. Its output is reproducible.
"""

import json

import gguf
import numpy as np

random = np.random.default_rng(7)
special = [
    np.zeros(32),
    np.full(32, -0.25),
    np.arange(32) - 16,  # two extremes: the first one counts
    16 - np.arange(32),
    np.tile([127, -127, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5], 4),  # ties of Q8_0
    np.tile([-8, 8, 0.5, -0.5, 1.5, -1.5, 7.5, -7.5], 4),  # ties of Q4_0
    np.where(np.arange(32) == 5, -1, 1e-3),
    random.standard_normal(32) * 1e-6,  # a scale that half precision holds as subnormal
    random.standard_normal(32) * 1e-12,  # a scale that it does not hold
    random.standard_normal(32) * 1e5,
]
values = np.concatenate([special, random.standard_normal((22, 32))]).astype(np.float32)


def quantized(kind):
    return [row.tobytes().hex() for row in gguf.quants.quantize(values, kind)]


kinds = gguf.GGMLQuantizationType
with open("blocks.json", "w", encoding="ascii") as file:
    json.dump(
        {
            "values": [row.astype("<f4").tobytes().hex() for row in values],
            "q8_0": quantized(kinds.Q8_0),
            "q4_0": quantized(kinds.Q4_0),
            "bf16": quantized(kinds.BF16),
        },
        file,
        indent=0,
    )
    file.write("\n")
