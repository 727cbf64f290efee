"""Goldens of decoders with mixtures of experts."""

import json

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    ExaoneMoeConfig, ExaoneMoeForCausalLM, MiniMaxM2Config, MiniMaxM2ForCausalLM, SolarOpenConfig, SolarOpenForCausalLM,
    Dots1Config, Dots1ForCausalLM, Ernie4_5_MoeConfig, Ernie4_5_MoeForCausalLM, Glm4MoeConfig, Glm4MoeForCausalLM, HunYuanMoEV1Config, HunYuanMoEV1ForCausalLM,
    GptOssConfig, GptOssForCausalLM,
    GraniteMoeConfig, GraniteMoeForCausalLM, GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM, GraniteMoeSharedConfig,
    GraniteMoeSharedForCausalLM, MixtralConfig, MixtralForCausalLM, OlmoeConfig, OlmoeForCausalLM, Qwen2MoeConfig,
    Qwen2MoeForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM,
)

from common import HERE
from decoders import legacy, make
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


def routed(experts, **rest):
    return {"n_routed_experts": experts["num_experts"], "num_experts_per_tok": experts["num_experts_per_tok"], **rest}


def glm4_moe():
    """The second file has a layer that drafts tokens."""
    make("glm4_moe", Glm4MoeForCausalLM, Glm4MoeConfig(
        **SMALL | {"num_hidden_layers": 3}, **rope(partial_rotary_factor=0.5), **routed(FEW), head_dim=16, moe_intermediate_size=20, n_shared_experts=1,
        attention_bias=True, routed_scaling_factor=1.5), 2161, 64, long=100, tune=corrected,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0))  # the class rotates half
    make("glm4_moe-normed", Glm4MoeForCausalLM, Glm4MoeConfig(
        **OTHER, **rope(partial_rotary_factor=0.5), **routed(MANY), head_dim=8, moe_intermediate_size=17, n_shared_experts=2, use_qk_norm=True,
        norm_topk_prob=False, first_k_dense_replace=0, rms_norm_eps=0.02, tie_word_embeddings=True), 2362, 70, flip=LAST, long=0, tune=corrected, finish=fused)
    draft(HERE / "glm4_moe-normed")


def draft(path):
    """Adds tensors of a layer that drafts tokens."""
    file = path / "model.safetensors"
    tensors = load_file(file)
    depth = json.loads((path / "config.json").read_text())["num_hidden_layers"]
    for name in ("eh_proj", "enorm", "self_attn.q_proj"):
        tensors[f"model.layers.{depth}.{name}.weight"] = torch.ones(2, 3)
    save_file(tensors, file, {"format": "pt"})


def dots1():
    make("dots1", Dots1ForCausalLM, Dots1Config(
        **SMALL | {"num_hidden_layers": 3}, **rope(), **routed(FEW), head_dim=16, moe_intermediate_size=20, n_shared_experts=2, first_k_dense_replace=1,
        norm_topk_prob=True, routed_scaling_factor=2.5), 2171, 64, long=100, tune=corrected)
    make("dots1-window", Dots1ForCausalLM, Dots1Config(
        **OTHER | FAR, **rope(), **routed(MANY), head_dim=12, moe_intermediate_size=16, n_shared_experts=1, attention_bias=True, sliding_window=7,
        max_window_layers=1, tie_word_embeddings=True), 2172, 70, flip=LAST, long=400, tune=corrected, finish=lambda path: legacy(path, range(60), layer_types=None))


def solar_open():
    uniform = {"intermediate_size": None}
    make("solar_open", SolarOpenForCausalLM, SolarOpenConfig(
        **SMALL | uniform, **rope(), **routed(FEW), head_dim=16, moe_intermediate_size=20, n_shared_experts=1, routed_scaling_factor=1.5), 2201, 64, long=100,
        tune=corrected)
    make("solar_open-biased", SolarOpenForCausalLM, SolarOpenConfig(
        **OTHER | uniform, **rope(), **routed(MANY), head_dim=12, moe_intermediate_size=17, n_shared_experts=2, attention_bias=True, tie_word_embeddings=True),
        2202, 70, flip=LAST, long=0, tune=corrected)


def minimax_m2():
    make("minimax_m2", MiniMaxM2ForCausalLM, MiniMaxM2Config(
        **SMALL, **rope(partial_rotary_factor=0.5), **local(FEW), head_dim=16), 2211, 64, long=100, tune=corrected,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0, rotary_dim=8))
    make("minimax_m2-fused", MiniMaxM2ForCausalLM, MiniMaxM2Config(
        **OTHER, **rope(), **local(MANY), head_dim=12, rms_norm_eps=0.02, tie_word_embeddings=True), 2212, 70, flip=LAST, long=0, tune=corrected, finish=fused)


def exaone_moe():
    make("exaone_moe", ExaoneMoeForCausalLM, ExaoneMoeConfig(
        **SMALL | FAR | {"num_hidden_layers": 4}, **rope(), **FEW, head_dim=16, moe_intermediate_size=20, sliding_window=7), 2221, 64, long=400, tune=corrected,
        finish=lambda path: legacy(path, range(60), layer_types=None, mlp_layer_types=None, rope_parameters=None, rope_theta=1000.0))
    make("exaone_moe-types", ExaoneMoeForCausalLM, ExaoneMoeConfig(
        **OTHER | {"num_hidden_layers": 3}, **rope(), **MANY, head_dim=12, moe_intermediate_size=17, num_shared_experts=2, sliding_window=5,
        norm_topk_prob=False, routed_scaling_factor=1.0, mlp_layer_types=["sparse", "dense", "sparse"], tie_word_embeddings=True,
        layer_types=["full_attention", "sliding_attention", "full_attention"]), 2622, 70, flip=LAST, long=0, tune=corrected, finish=fused)


def hunyuan_v1_moe():
    alpha = {"alpha": 50.0, "factor": 1.0}
    make("hunyuan_v1_moe", HunYuanMoEV1ForCausalLM, HunYuanMoEV1Config(
        **SMALL, **rope("dynamic", **alpha), num_experts=6, moe_topk=2, head_dim=16), 2181, 64, long=100,
        finish=lambda path: legacy(
            path, range(60), rope_parameters=None, rope_theta=1000.0, rope_scaling={"type": "dynamic", **alpha}, moe_topk=[2, 2], num_shared_expert=[1, 1],
            moe_intermediate_size=[48, 48], attention_head_dim=16, use_cla=False, use_qk_norm=True))
    make("hunyuan_v1_moe-lists", HunYuanMoEV1ForCausalLM, HunYuanMoEV1Config(
        **OTHER, **rope(), num_experts=9, moe_topk=[4, 3], head_dim=8, attention_bias=True, rms_norm_eps=0.02, tie_word_embeddings=True), 2182, 70,
        flip=LAST, long=0, finish=fused)


def ernie4_5_moe():
    make("ernie4_5_moe", Ernie4_5_MoeForCausalLM, Ernie4_5_MoeConfig(
        **SMALL | {"num_hidden_layers": 3}, **rope(), moe_num_experts=6, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=20), 2191, 64,
        flip=LAST, long=100, tune=corrected, finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0))
    make("ernie4_5_moe-biased", Ernie4_5_MoeForCausalLM, Ernie4_5_MoeConfig(
        **OTHER | {"num_hidden_layers": 5}, **rope(), moe_num_experts=9, moe_k=4, moe_num_shared_experts=1, moe_intermediate_size=17, moe_layer_interval=2,
        moe_layer_start_index=1, moe_layer_end_index=3, use_bias=True, rms_norm_eps=0.02, tie_word_embeddings=False), 2192, 70, long=0, tune=corrected)


def corrected(model):
    """Numbers of experts that change which are chosen: about as large as their probabilities."""
    torch.manual_seed(1)
    scale = 0.2 if model.config.model_type == "ernie4_5_moe" else 0.3
    for name, b in [*model.named_buffers(), *model.named_parameters()]:
        if name.endswith(("expert_bias", "e_score_correction_bias")):
            with torch.no_grad():
                b.copy_(scale * torch.randn(b.shape))


GROUPS = {f.__name__: f for f in (mixtral, qwen2_moe, qwen3_moe, olmoe, granitemoe, gpt_oss, glm4_moe, dots1, solar_open, minimax_m2, exaone_moe, hunyuan_v1_moe, ernie4_5_moe)}
