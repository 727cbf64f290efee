"""Goldens of decoders with mixtures of experts."""

import json

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    GptOssConfig, GptOssForCausalLM,
    GraniteMoeConfig, GraniteMoeForCausalLM, GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM, GraniteMoeSharedConfig,
    GraniteMoeSharedForCausalLM, MixtralConfig, MixtralForCausalLM, OlmoeConfig, OlmoeForCausalLM, Qwen2MoeConfig,
    Qwen2MoeForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM,
)

from common import HERE
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


def gpt_oss():
    """The second configuration's file has the experts in MXFP4."""
    yarn = rope("yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=32.0, beta_slow=1.0, truncate=False)
    make("gpt_oss", GptOssForCausalLM, GptOssConfig(
        **SMALL | FAR | {"max_position_embeddings": 256}, **yarn, **local(FEW), head_dim=16, sliding_window=7), 951, 64, long=200)
    make("gpt_oss-mxfp4", GptOssForCausalLM, GptOssConfig(
        **OTHER | {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}, **rope(), **local(MANY), head_dim=8,
        sliding_window=5, swiglu_limit=1.5, tie_word_embeddings=True), 952, 70, flip=LAST, long=0, tune=four_bits)
    save_mxfp4(HERE / "gpt_oss-mxfp4")


VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


MATRICES = ("experts.gate_up_proj", "experts.down_proj")


def four_bits(model):
    """Rounds the experts' matrices to what MXFP4 can say."""
    with torch.no_grad():
        for p in (p for name, p in model.named_parameters() if name.endswith(MATRICES)):
            rows = p.transpose(1, 2).contiguous()
            groups = rows.reshape(*rows.shape[:2], -1, 32)
            scale = 2.0 ** torch.floor(torch.log2(groups.abs().amax(-1, keepdim=True) / 4))
            levels = torch.tensor(VALUES)
            nearest = levels[((groups / scale).abs()[..., None] - levels).abs().argmin(-1)]
            p.copy_((nearest * groups.sign() * scale).reshape(rows.shape).transpose(1, 2))


def save_mxfp4(path):
    """Writes the file as OpenAI's have it: blocks of two values a byte, and scales."""
    file = path / "model.safetensors"
    tensors = load_file(file)
    for name in [name for name in tensors if name.endswith(MATRICES)]:
        p = tensors.pop(name)
        groups = p.transpose(1, 2).reshape(p.shape[0], p.shape[2], -1, 32)
        exponent = torch.floor(torch.log2(groups.abs().amax(-1, keepdim=True) / 4))
        codes = ((groups / 2.0**exponent).abs()[..., None] - torch.tensor(VALUES)).abs().argmin(-1) + 8 * (groups < 0)
        tensors[name + "_blocks"] = (codes[..., ::2] + 16 * codes[..., 1::2]).to(torch.uint8)
        tensors[name + "_scales"] = (exponent[..., 0] + 127).to(torch.uint8)
    save_file(tensors, file, {"format": "pt"})
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"quantization_config": {"quant_method": "mxfp4"}}, indent=1) + "\n")


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


GROUPS = {f.__name__: f for f in (mixtral, qwen2_moe, qwen3_moe, olmoe, granitemoe, gpt_oss)}
