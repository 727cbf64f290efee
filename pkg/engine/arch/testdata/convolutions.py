"""Goldens of decoders with short convolutions, and with states."""

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BambaConfig, BambaForCausalLM, FalconH1Config, FalconH1ForCausalLM, FalconMambaConfig, FalconMambaForCausalLM, GraniteMoeHybridConfig,
    GraniteMoeHybridForCausalLM, JambaConfig, JambaForCausalLM, Lfm2Config, Lfm2ForCausalLM, Lfm2MoeConfig, Lfm2MoeForCausalLM, Mamba2Config, Mamba2ForCausalLM,
    MambaConfig, MambaForCausalLM, NemotronHConfig, NemotronHForCausalLM,
)

from decoders import legacy, make
from experts import FEW, MANY, corrected, fused, local, routed
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


def granite4_states():
    factors = {"embedding_multiplier": 3.0, "attention_multiplier": 0.4, "residual_multiplier": 0.7, "logits_scaling": 0.5}
    make("granite4-states", GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(
        **SMALL | FAR | {"num_hidden_layers": 4}, **factors, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=40, tie_word_embeddings=True,
        position_embedding_type="nope", mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1,
        layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"]), 991, 64, flip=["model.norm.weight"], long=400, tune=slow)
    make("granite4-groups", GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(
        **OTHER | {"hidden_size": 24, "num_hidden_layers": 3}, **rope(), **local(FEW), **factors, shared_intermediate_size=20, position_embedding_type="rope",
        mamba_n_heads=6, mamba_d_head=8, mamba_d_state=12, mamba_n_groups=2, mamba_d_conv=3, mamba_proj_bias=True, mamba_conv_bias=False,
        layer_types=["full_attention", "linear_attention", "linear_attention"]), 992, 70, long=100, tune=slow, sides=("right",))


def slow(model):
    """Decays that forget some states soon and others late."""
    torch.manual_seed(2)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("A_log"):
                p.copy_(torch.randn(p.shape) - 1.5)


def falcon_h1():
    factors = dict(
        embedding_multiplier=2.0, lm_head_multiplier=0.6, key_multiplier=0.7, attention_in_multiplier=1.4, attention_out_multiplier=0.8,
        ssm_in_multiplier=1.25, ssm_out_multiplier=0.9, ssm_multipliers=[0.6, 1.3, 0.8, 1.5, 0.7], mlp_multipliers=[1.7, 0.75])
    flip = ["model.final_layernorm.weight"]
    states = {"mamba_d_ssm": 48, "mamba_n_heads": 4, "mamba_d_state": 8}
    make("falcon_h1", FalconH1ForCausalLM, FalconH1Config(
        **SMALL | FAR, **rope(), **states, **factors, head_dim=16, tie_word_embeddings=True), 1001, 64, flip=flip, long=400, tune=slow)
    states |= {"mamba_n_heads": 6, "mamba_n_groups": 2, "mamba_d_conv": 3, "mamba_rms_norm": True}
    make("falcon_h1-gated", FalconH1ForCausalLM, FalconH1Config(
        **OTHER, **rope(), **states, **factors, mamba_norm_before_gate=False), 1002, 70, long=100, tune=slow)
    make("falcon_h1-biased", FalconH1ForCausalLM, FalconH1Config(
        **OTHER, **rope(), **states | {"mamba_d_ssm": None}, **factors, mamba_norm_before_gate=True, mamba_proj_bias=True, projectors_bias=True,
        attention_bias=True, mlp_bias=True), 1003, 70, long=0, tune=slow, sides=("right",))


def bamba():
    make("bamba", BambaForCausalLM, BambaConfig(
        **SMALL | FAR | {"num_hidden_layers": 3}, **rope(partial_rotary_factor=0.5), attn_layer_indices=[1], mamba_n_heads=4, mamba_d_state=8,
        tie_word_embeddings=True), 1013, 64, flip=["model.final_layernorm.weight"], long=400, tune=slow,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0))
    make("bamba-biased", BambaForCausalLM, BambaConfig(
        **OTHER | {"num_key_value_heads": None}, **rope(partial_rotary_factor=0.5), attn_layer_indices=[0], mamba_n_heads=6, mamba_d_state=12, mamba_n_groups=2,
        mamba_d_conv=3, mamba_proj_bias=True, mamba_conv_bias=False, attention_bias=True, mlp_bias=True), 1012, 70, long=0, tune=slow, sides=("right",))


def mamba2():
    common = dict(num_hidden_layers=3, bos_token_id=0, eos_token_id=2, pad_token_id=1)
    make("mamba2", Mamba2ForCausalLM, Mamba2Config(
        **common, vocab_size=64, hidden_size=32, num_heads=4, head_dim=16, state_size=8, n_groups=1, tie_word_embeddings=True), 1021, 64,
        flip=["backbone.norm_f.weight"], long=400, tune=slow)
    make("mamba2-groups", Mamba2ForCausalLM, Mamba2Config(
        **common, vocab_size=70, hidden_size=24, num_heads=6, head_dim=12, state_size=12, n_groups=2, expand=3, conv_kernel=3, use_bias=True, use_conv_bias=False),
        1022, 70, long=100, tune=slow, sides=("right",))


def nemotron_h():
    """The second file has layers that draft tokens, the third a tensor of all experts. The legacy
    configuration is that of the published models, with Python's Infinity."""
    common = dict(
        vocab_size=48, hidden_size=16, intermediate_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=128,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, mamba_num_heads=4, mamba_head_dim=6, ssm_state_size=4, n_groups=2)
    layers = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}

    def config(pattern, **rest):
        return NemotronHConfig(**common | rest, layers_block_type=[layers[c] for c in pattern])

    def published(path):
        legacy(path, range(40), layers_block_type=None, layer_types=None, hybrid_override_pattern="M-M*", num_hidden_layers=4,
               time_step_limit=[0.0, float("inf")])

    make("nemotron_h", NemotronHForCausalLM, config("M-M*", max_position_embeddings=512), 1031, 48, torch.bfloat16, long=400, tune=slow, finish=published)
    make("nemotron_h-experts", NemotronHForCausalLM, config(
        "ME*E", **routed(FEW), moe_intermediate_size=8, moe_shared_expert_intermediate_size=12, routed_scaling_factor=2.5), 1032, 48, torch.bfloat16, long=100,
        tune=lambda model: (slow(model), corrected(model)), finish=drafts)
    make("nemotron_h-biased", NemotronHForCausalLM, config(
        "-*EM", **routed(FEW), moe_intermediate_size=10, moe_shared_expert_intermediate_size=7, n_group=3, topk_group=2, norm_topk_prob=False, use_bias=True,
        mlp_bias=True, use_conv_bias=False, conv_kernel=3, num_key_value_heads=1, layer_norm_epsilon=0.02), 1033, 48, torch.bfloat16, long=0,
        tune=lambda model: (slow(model), corrected(model)), finish=together, sides=("right",))


def drafts(path):
    """Adds a tensor of layers that draft tokens."""
    tensors = load_file(path / "model.safetensors")
    save_file(tensors | {"mtp.layers.0.eh_proj.weight": torch.ones(2, 3)}, path / "model.safetensors", {"format": "pt"})


def together(path):
    """The file as newer classes name its tensors: a tensor of all experts."""
    old = load_file(path / "model.safetensors")
    new = {name.replace("backbone.", "model."): w for name, w in old.items() if ".experts." not in name}
    for layer in {name.split(".")[2] for name in old if ".experts." in name}:
        for kind in ("up_proj", "down_proj"):
            parts = [old[f"backbone.layers.{layer}.mixer.experts.{i}.{kind}.weight"] for i in range(6)]
            new[f"model.layers.{layer}.mixer.experts.{kind}"] = torch.stack(parts)
    save_file(new, path / "model.safetensors", {"format": "pt"})


STEPS = dict(num_hidden_layers=2, hidden_size=16, state_size=8, bos_token_id=0, eos_token_id=2, pad_token_id=1)


def mamba():
    flip = ["backbone.norm_f.weight"]
    make("mamba", MambaForCausalLM, MambaConfig(**STEPS, vocab_size=48), 1041, 48, torch.bfloat16, flip=flip, long=400, tune=slow)
    # With a bias of the first product, this class' convolution sees the padding before a text.
    make("mamba-biased", MambaForCausalLM, MambaConfig(
        **STEPS | {"hidden_size": 12, "state_size": 5}, vocab_size=50, expand=3, conv_kernel=3, time_step_rank=7, use_bias=True, use_conv_bias=False,
        layer_norm_epsilon=0.02, tie_word_embeddings=False), 1042, 50, torch.bfloat16, long=0, tune=slow, sides=("right",))


def falcon_mamba():
    make("falcon_mamba", FalconMambaForCausalLM, FalconMambaConfig(
        **STEPS, vocab_size=48, expand=16, intermediate_size=24, time_step_rank=5, mixer_rms_eps=0.05, tie_word_embeddings=False), 1051, 48, torch.bfloat16,
        long=100, tune=slow)


def jamba():
    small = OTHER | {"hidden_size": 12, "intermediate_size": 12}
    make("jamba", JambaForCausalLM, JambaConfig(
        **small | {"vocab_size": 48, "num_hidden_layers": 3, "num_key_value_heads": 3}, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2,
        expert_layer_offset=0, num_experts=3, num_experts_per_tok=2, mamba_d_state=8), 1061, 48, torch.bfloat16, long=100, tune=slow)
    make("jamba-dense", JambaForCausalLM, JambaConfig(
        **small | {"vocab_size": 50}, attn_layer_period=2, attn_layer_offset=0, num_experts=1, num_experts_per_tok=2, mamba_d_state=5,
        mamba_d_conv=3, mamba_dt_rank=3, mamba_expand=3, mamba_proj_bias=True, mamba_conv_bias=False, rms_norm_eps=0.02, tie_word_embeddings=True),
        1062, 50, torch.bfloat16, flip=["model.final_layernorm.weight"], long=0, tune=slow, sides=("right",))


GROUPS = {f.__name__: f for f in (lfm2, lfm2_moe, granite4_states, falcon_h1, bamba, mamba2, nemotron_h, mamba, falcon_mamba, jamba)}
