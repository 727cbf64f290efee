"""Goldens of decoders of 2025 and 2026, and of CodeGen, as small as they can be: stored as bfloat16, and with two layers or little more."""

import torch
from transformers import (
    AfmoeConfig, AfmoeForCausalLM, CodeGenConfig, CodeGenForCausalLM, GraniteMoeSWAConfig, GraniteMoeSWAForCausalLM, GraniteSWAConfig, GraniteSWAForCausalLM,
    HyperCLOVAXConfig, HyperCLOVAXForCausalLM, Jais2Config, Jais2ForCausalLM, Lfm3Config, Lfm3ForCausalLM, ModernBertDecoderConfig, ModernBertDecoderForCausalLM,
    NanoChatConfig, NanoChatForCausalLM, VaultGemmaConfig, VaultGemmaForCausalLM,
)

import decoders
from modern import LAST, rope

SMALL = dict(
    vocab_size=20, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
    max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
OTHER = SMALL | dict(vocab_size=18, intermediate_size=10)
LONG = ("lfm3", "nanochat", "vaultgemma", "granite_swa", "hyperclovax", "codegen", "modernbert_decoder")
FIRST = (*LONG, "jais2", "afmoe")
SLIDING, FULL, CONV = "sliding_attention", "full_attention", "conv"


def make(name, kind, config, seed, **rest):
    """The first configuration of a kind has a padded batch and, unless a GGUF file has it, a long text."""
    rest = {"long": 100 if name in LONG else 0, "sides": ("left",) if name in FIRST else (), "length": 12 if name in FIRST else 8} | rest
    decoders.make(name, kind, config, seed, config.vocab_size, dtype=torch.bfloat16, **rest)


def two(full, sliding):
    return {"rope_parameters": {FULL: full, SLIDING: sliding}}


def plain(theta, **rest):
    return {"rope_type": "default", "rope_theta": theta, **rest}


def lfm3():
    half = {"rope_type": "proportional", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}
    make("lfm3", Lfm3ForCausalLM, Lfm3Config(
        **SMALL | {"num_hidden_layers": 3, "head_dim": 4}, **two(half, plain(50.0)), layer_types=[CONV, SLIDING, FULL], sliding_window=6), 1301,
        flip=["model.embedding_norm.weight"])
    make("lfm3-plain", Lfm3ForCausalLM, Lfm3Config(
        **OTHER | {"head_dim": 4}, **two(plain(100.0), plain(50.0)), layer_types=[FULL, CONV], conv_bias=True, conv_L_cache=3, use_sandwich_norm=False,
        use_attention_gate=False, tie_word_embeddings=False), 1302)


def nanochat():
    make("nanochat", NanoChatForCausalLM, NanoChatConfig(**SMALL, **rope()), 1311)
    make("nanochat-biased", NanoChatForCausalLM, NanoChatConfig(
        **OTHER, **rope(), attention_bias=True, tie_word_embeddings=True, final_logit_softcapping=None, rms_norm_eps=0.02), 1312)


def vaultgemma():
    make("vaultgemma", VaultGemmaForCausalLM, VaultGemmaConfig(
        **SMALL, **rope(), head_dim=4, sliding_window=6, query_pre_attn_scalar=8), 2321, flip=LAST, embed=0.5)
    make("vaultgemma-types", VaultGemmaForCausalLM, VaultGemmaConfig(
        **OTHER, **rope(), head_dim=4, sliding_window=5, query_pre_attn_scalar=6, layer_types=[FULL, SLIDING], attn_logit_softcapping=3.0,
        final_logit_softcapping=None, attention_bias=True), 2322, flip=LAST, embed=0.5)


GRANITE = dict(embedding_multiplier=2.0, attention_multiplier=0.4, residual_multiplier=0.7, logits_scaling=0.5)


def granite_swa():
    make("granite_swa", GraniteSWAForCausalLM, GraniteSWAConfig(
        **SMALL | {"num_hidden_layers": 3}, **rope("linear", factor=2.0), **GRANITE, sliding_window=6, layer_types=[FULL, SLIDING, FULL],
        layer_rope_theta=[1000.0, 50.0, 0]), 1331, flip=LAST)
    make("granitemoe_swa", GraniteMoeSWAForCausalLM, GraniteMoeSWAConfig(
        **OTHER, **rope(), **GRANITE, num_local_experts=3, num_experts_per_tok=2, shared_intermediate_size=6, sliding_window=5, attention_bias=True), 1332)


def hyperclovax():
    make("hyperclovax", HyperCLOVAXForCausalLM, HyperCLOVAXConfig(**SMALL, **rope(), **GRANITE | {"logits_scaling": 2.0}, head_dim=6), 1341)
    make("hyperclovax-plain", HyperCLOVAXForCausalLM, HyperCLOVAXConfig(
        **OTHER, **rope(), use_post_norm=False, logits_scaling=2.0, attention_bias=True, mlp_bias=True, tie_word_embeddings=True), 1342, flip=LAST)


def jais2():
    make("jais2", Jais2ForCausalLM, Jais2Config(**SMALL, **rope()), 1351)
    make("jais2-unbiased", Jais2ForCausalLM, Jais2Config(
        **OTHER, **rope(), attention_bias=False, mlp_bias=False, layer_norm_eps=0.02, tie_word_embeddings=True), 2352, flip=LAST)


def afmoe():
    make("afmoe", AfmoeForCausalLM, AfmoeConfig(
        **SMALL, **rope(), head_dim=4, num_experts=3, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=6, route_scale=1.7,
        sliding_window=6, layer_types=[SLIDING, FULL], mup_enabled=True), 1361, embed=0.3)
    make("afmoe-every", AfmoeForCausalLM, AfmoeConfig(
        **OTHER | {"num_hidden_layers": 1}, **rope(), head_dim=4, num_dense_layers=0, num_experts=3, num_experts_per_tok=1, num_shared_experts=2, moe_intermediate_size=4,
        sliding_window=5, global_attn_every_n_layers=2, tie_word_embeddings=True), 2362, flip=LAST)


def codegen():
    common = dict(vocab_size=20, n_positions=128, n_embd=8, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, rotary_dim=2)
    make("codegen", CodeGenForCausalLM, CodeGenConfig(**common, n_inner=12), 1371)
    make("codegen-part", CodeGenForCausalLM, CodeGenConfig(
        **common | dict(vocab_size=18, n_embd=16, n_layer=1), n_inner=12, activation_function="gelu", layer_norm_epsilon=0.02), 1372)


def modernbert_decoder():
    small = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
    other = {k: v for k, v in OTHER.items() if k != "num_key_value_heads"}
    make("modernbert_decoder", ModernBertDecoderForCausalLM, ModernBertDecoderConfig(
        **small, **two(plain(1000.0), plain(50.0)), local_attention=12), 1381)
    make("modernbert_decoder-biased", ModernBertDecoderForCausalLM, ModernBertDecoderConfig(
        **other, **two(plain(100.0), plain(50.0)), local_attention=10, layer_types=[SLIDING, FULL], norm_bias=True, attention_bias=True, decoder_bias=False,
        classifier_bias=True, classifier_activation="relu", norm_eps=0.02, tie_word_embeddings=False), 1382, tune=lambda model: model.decoder.weight.data.mul_(2.5))


GROUPS = {f.__name__: f for f in (lfm3, nanochat, vaultgemma, granite_swa, hyperclovax, jais2, afmoe, codegen, modernbert_decoder)}
