"""Goldens of decoders with short convolutions."""

import torch
from transformers import Lfm2Config, Lfm2ForCausalLM, Lfm2MoeConfig, Lfm2MoeForCausalLM

from decoders import legacy, make
from experts import FEW, MANY, fused
from modern import FAR, OTHER, SMALL, rope

LAST = ["model.embedding_norm.weight"]


def lfm2():
    make("lfm2", Lfm2ForCausalLM, Lfm2Config(
        **SMALL | FAR | {"num_hidden_layers": 4, "intermediate_size": 50}, **rope(), block_multiple_of=8, block_ffn_dim_multiplier=1.3,
        layer_types=["conv", "conv", "full_attention", "conv"]), 971, 64, flip=LAST, long=400,
        finish=lambda path: legacy(
            path, range(60), layer_types=None, full_attn_idxs=[2], intermediate_size=None, block_ff_dim=50, rope_parameters=None, rope_theta=1000.0,
            tie_word_embeddings=None, tie_embedding=True))
    # With biases, this class' convolutions see the padding before a text.
    make("lfm2-biased", Lfm2ForCausalLM, Lfm2Config(
        **OTHER | {"num_hidden_layers": 3}, **rope("linear", factor=2.0), block_auto_adjust_ff_dim=False, conv_L_cache=5, conv_bias=True,
        tie_word_embeddings=False, layer_types=["full_attention", "conv", "full_attention"]), 972, 70, long=100,
        sides=("right",))


def lfm2_moe():
    make("lfm2_moe", Lfm2MoeForCausalLM, Lfm2MoeConfig(
        **SMALL | {"num_hidden_layers": 3}, **rope(), **FEW, moe_intermediate_size=20, num_dense_layers=1,
        layer_types=["conv", "full_attention", "conv"]), 983, 64, flip=LAST, long=100, tune=corrected)
    make("lfm2_moe-scaled", Lfm2MoeForCausalLM, Lfm2MoeConfig(
        **OTHER, **rope(), **MANY, moe_intermediate_size=17, num_dense_layers=0, use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.5,
        conv_L_cache=2, layer_types=["conv", "full_attention"]), 982, 70, flip=LAST, long=0, finish=fused)


def corrected(model):
    """Numbers of experts that change which are chosen."""
    torch.manual_seed(1)
    for name, b in model.named_buffers():
        if name.endswith("expert_bias"):
            b.copy_(0.3 * torch.randn(b.shape))


GROUPS = {f.__name__: f for f in (lfm2, lfm2_moe)}
