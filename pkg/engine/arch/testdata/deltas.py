"""Goldens of decoders with gated delta rules."""

import json

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig, Qwen3_5TextConfig, Qwen3NextConfig, Qwen3NextForCausalLM,
)

from convolutions import slow
from decoders import make
from experts import FEW, MANY
from modern import FAR, LAST, OTHER, SMALL, rope

DELTAS = {"linear_num_value_heads": 6, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 12, "head_dim": 16, "rms_norm_eps": 0.01}


def qwen3_5():
    sections = {"mrope_section": [1, 1, 0], "mrope_interleaved": True}
    make("qwen3_5", Qwen3_5ForCausalLM, Qwen3_5TextConfig(
        **SMALL | FAR | {"num_hidden_layers": 4}, **DELTAS, **rope(partial_rotary_factor=0.25, **sections), tie_word_embeddings=True), 1831, 64, flip=LAST, long=100, tune=slow,
        finish=drafted)
    make("qwen3_5-pictures", Qwen3_5ForCausalLM, Qwen3_5TextConfig(
        **OTHER | {"num_hidden_layers": 3}, **DELTAS | {"linear_num_value_heads": 4, "linear_num_key_heads": 4}, **rope(partial_rotary_factor=0.5),
        attention_bias=True, linear_conv_kernel_dim=3, layer_types=["full_attention", "linear_attention", "linear_attention"]),
        1032, 70, long=100, tune=slow, finish=pictured)


def qwen3_5_moe():
    make("qwen3_5_moe", Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig(
        **without(SMALL), **DELTAS, **FEW, **rope(partial_rotary_factor=0.25), moe_intermediate_size=20, shared_expert_intermediate_size=28,
        layer_types=["linear_attention", "full_attention"]), 1041, 64, long=100, tune=slow)
    make("qwen3_5_moe-many", Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig(
        **without(OTHER), **DELTAS, **MANY, **rope(partial_rotary_factor=0.5), moe_intermediate_size=16, shared_expert_intermediate_size=12,
        layer_types=["full_attention", "linear_attention"], tie_word_embeddings=True), 1042, 70, flip=LAST, long=0, tune=slow)


def qwen3_next():
    make("qwen3_next", Qwen3NextForCausalLM, Qwen3NextConfig(
        **SMALL, **DELTAS, **FEW, **rope(partial_rotary_factor=0.25), moe_intermediate_size=20, shared_expert_intermediate_size=28,
        layer_types=["linear_attention", "full_attention"]), 1061, 64, long=100, tune=slow)
    make("qwen3_next-sparse", Qwen3NextForCausalLM, Qwen3NextConfig(
        **OTHER, **DELTAS | {"linear_num_value_heads": 4}, **MANY, **rope(partial_rotary_factor=0.5), moe_intermediate_size=16,
        shared_expert_intermediate_size=12, norm_topk_prob=False, mlp_only_layers=[1], layer_types=["full_attention", "linear_attention"],
        tie_word_embeddings=True), 1052, 70, flip=LAST, long=0, tune=slow)


def without(sizes):
    return {k: v for k, v in sizes.items() if k != "intermediate_size"}


def drafted(path):
    """The published files also have layers that draft tokens."""
    tensors = load_file(path / "model.safetensors")
    tensors["mtp.fc.weight"] = torch.zeros(2, 3)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})


def pictured(path):
    """As the published files have it: the configuration in a member, and an encoder of pictures."""
    config = json.loads((path / "config.json").read_text())
    whole = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": config, "vision_config": {"model_type": "qwen3_5_vision"}}
    whole |= {k: config.pop(k) for k in ("eos_token_id", "tie_word_embeddings")}
    (path / "config.json").write_text(json.dumps(whole, indent=2) + "\n")
    tensors = {k.replace("model.", "model.language_model."): v for k, v in load_file(path / "model.safetensors").items()}
    tensors["model.visual.pos_embed.weight"] = torch.zeros(2, 3)
    tensors["mtp.fc.weight"] = torch.zeros(2, 3)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})


GROUPS = {f.__name__: f for f in (qwen3_5, qwen3_5_moe, qwen3_next)}
