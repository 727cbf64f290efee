"""Goldens of decoders with mixtures of experts."""

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    GraniteMoeConfig, GraniteMoeForCausalLM, GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM, GraniteMoeSharedConfig,
    GraniteMoeSharedForCausalLM, MixtralConfig, MixtralForCausalLM, OlmoeConfig, OlmoeForCausalLM, Qwen2MoeConfig,
    Qwen2MoeForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM,
)

from decoders import make
from modern import FAR, LAST, OTHER, SMALL, rope

FEW = {"num_experts": 6, "num_experts_per_tok": 2}
MANY = {"num_experts": 9, "num_experts_per_tok": 4}


def local(experts):
    return {"num_local_experts": experts["num_experts"], "num_experts_per_tok": experts["num_experts_per_tok"]}


def mixtral():
    make("mixtral", MixtralForCausalLM, MixtralConfig(**SMALL | FAR, **rope(), **local(FEW), sliding_window=7), 901, 64, long=400)
    make("mixtral-nine", MixtralForCausalLM, MixtralConfig(**OTHER, **rope(), **local(MANY), sliding_window=None, head_dim=16), 902, 70, long=0, finish=fused)


def qwen2_moe():
    make("qwen2_moe", Qwen2MoeForCausalLM, Qwen2MoeConfig(
        **SMALL, **rope(), **FEW, moe_intermediate_size=20, shared_expert_intermediate_size=28, norm_topk_prob=False), 911, 64, long=100)
    make("qwen2_moe-sparse", Qwen2MoeForCausalLM, Qwen2MoeConfig(
        **OTHER | {"num_hidden_layers": 5}, **rope(), **MANY, moe_intermediate_size=17, shared_expert_intermediate_size=33, norm_topk_prob=True,
        decoder_sparse_step=2, mlp_only_layers=[3], tie_word_embeddings=True), 912, 70, flip=LAST, long=0)


def qwen3_moe():
    make("qwen3_moe", Qwen3MoeForCausalLM, Qwen3MoeConfig(
        **SMALL, **rope(), **FEW, head_dim=16, moe_intermediate_size=20, norm_topk_prob=True), 921, 64, long=100)
    make("qwen3_moe-sparse", Qwen3MoeForCausalLM, Qwen3MoeConfig(
        **OTHER | {"num_hidden_layers": 3}, **rope(), **MANY, head_dim=12, moe_intermediate_size=16, norm_topk_prob=False, mlp_only_layers=[1]),
        922, 70, long=0, finish=fused)


def olmoe():
    make("olmoe", OlmoeForCausalLM, OlmoeConfig(**SMALL, **rope(), **FEW), 931, 64, long=100)
    make("olmoe-normed", OlmoeForCausalLM, OlmoeConfig(**OTHER, **rope(), **MANY, norm_topk_prob=True, tie_word_embeddings=True), 932, 70, flip=LAST, long=0, finish=fused)


def granitemoe():
    factors = {"embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.6, "logits_scaling": 0.5}
    make("granitemoe", GraniteMoeForCausalLM, GraniteMoeConfig(**SMALL, **rope(), **local(FEW), **factors), 941, 64, long=100)
    make("granitemoe-shared", GraniteMoeSharedForCausalLM, GraniteMoeSharedConfig(
        **OTHER, **rope(), **local(MANY), **factors, shared_intermediate_size=21), 942, 70, long=0)
    make("granite4-experts", GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(
        **SMALL, **rope(), **local(FEW), **factors, shared_intermediate_size=24, layer_types=["attention"] * 2, position_embedding_type="rope", mamba_n_heads=4),
        943, 64, long=100)


def fused(path):
    """The file as newer classes name its tensors: a tensor of all experts."""
    file = path / "model.safetensors"
    old, new, parts = load_file(file), {}, {}
    for name, w in old.items():
        name = name.replace(".block_sparse_moe.", ".mlp.")
        for ours, theirs in (("w1", "gate_proj"), ("w3", "up_proj"), ("w2", "down_proj")):
            name = name.replace(f".{ours}.weight", f".{theirs}.weight")
        stem, experts, rest = name.partition(".experts.")
        if not experts:
            new[name] = w
            continue
        number, kind, _ = rest.split(".")
        parts.setdefault(stem, {})[int(number), kind] = w
    for stem, part in parts.items():
        numbers = range(len(part) // 3)
        new[f"{stem}.experts.gate_up_proj"] = torch.stack([torch.cat([part[i, "gate_proj"], part[i, "up_proj"]]) for i in numbers])
        new[f"{stem}.experts.down_proj"] = torch.stack([part[i, "down_proj"] for i in numbers])
    save_file(new, file, {"format": "pt"})


GROUPS = {f.__name__: f for f in (mixtral, qwen2_moe, qwen3_moe, olmoe, granitemoe)}
