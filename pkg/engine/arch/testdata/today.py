"""Goldens of dense decoders of 2025: Ministral 3, HunYuan, Apertus."""

import torch
from transformers import (
    ApertusConfig, ApertusForCausalLM, HunYuanDenseV1Config, HunYuanDenseV1ForCausalLM, Ministral3Config, Ministral3ForCausalLM,
)

from decoders import legacy, make
from modern import FAR, LAST, rope
from others import OTHER, SMALL


def ministral3():
    """Queries grow within the first tokens; the factor of sines and cosines is below 1, and above."""
    yarn = {"factor": 16.0, "original_max_position_embeddings": 8, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0}
    make("ministral3", Ministral3ForCausalLM, Ministral3Config(
        **SMALL, **rope("yarn", **yarn, mscale_all_dim=2.0, llama_4_scaling_beta=0.4), head_dim=16), 1161, 48, long=100)
    make("ministral3-window", Ministral3ForCausalLM, Ministral3Config(
        **OTHER | FAR, **rope("yarn", **yarn | {"original_max_position_embeddings": 5}, mscale_all_dim=0.5, llama_4_scaling_beta=0.2), head_dim=8,
        sliding_window=7, tie_word_embeddings=True), 1162, 50, flip=LAST, long=400)


def hunyuan_v1_dense():
    alpha = {"alpha": 50.0, "factor": 1.0}
    make("hunyuan_v1_dense", HunYuanDenseV1ForCausalLM, HunYuanDenseV1Config(
        **SMALL, **rope("dynamic", **alpha), head_dim=16), 1171, 48, long=100,
        finish=lambda path: legacy(path, range(40), rope_parameters=None, rope_theta=1000.0, rope_scaling={"type": "dynamic", **alpha}))
    make("hunyuan_v1_dense-biased", HunYuanDenseV1ForCausalLM, HunYuanDenseV1Config(
        **OTHER, **rope(), head_dim=8, attention_bias=True, rms_norm_eps=0.02, tie_word_embeddings=True), 1172, 50, flip=LAST, long=0)


def apertus():
    llama3 = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
    make("apertus", ApertusForCausalLM, ApertusConfig(**SMALL, **llama3), 1181, 48, embed=0.4, long=100, tune=bent)
    make("apertus-biased", ApertusForCausalLM, ApertusConfig(
        **OTHER, **rope(), attention_bias=True, tie_word_embeddings=True), 1182, 50, flip=LAST, embed=0.4, long=0)


def bent(model):
    """Numbers of xIELU that are not the class's."""
    with torch.no_grad():
        for i, layer in enumerate(model.model.layers):
            layer.mlp.act_fn.beta.fill_(0.3 + 0.4 * i)
            layer.mlp.act_fn.eps.fill_(-0.2 - 0.1 * i)


GROUPS = {f.__name__: f for f in (ministral3, hunyuan_v1_dense, apertus)}
