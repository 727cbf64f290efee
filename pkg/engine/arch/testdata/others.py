"""Goldens of more decoders of today: Command R, Phi, StarCoder, GLM, EXAONE and others."""

import json

from transformers import (
    ArceeConfig, ArceeForCausalLM, Cohere2Config, Cohere2ForCausalLM, CohereConfig, CohereForCausalLM, Ernie4_5Config,
    Ernie4_5ForCausalLM, Exaone4Config, Exaone4ForCausalLM, Glm4Config, Glm4ForCausalLM, GlmConfig, GlmForCausalLM,
    GPTBigCodeConfig, GPTBigCodeForCausalLM, GraniteConfig, GraniteForCausalLM, HeliumConfig, HeliumForCausalLM, InternLM3Config, LlamaForCausalLM, NemotronConfig,
    NemotronForCausalLM, OPTConfig, OPTForCausalLM, PhiConfig, PhiForCausalLM, SeedOssConfig, SeedOssForCausalLM, Starcoder2Config,
    Starcoder2ForCausalLM,
)

from common import HERE
from decoders import legacy, make
from modern import LAST, rope

SMALL = dict(
    vocab_size=48, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
OTHER = SMALL | dict(vocab_size=50, hidden_size=24, num_attention_heads=3, num_key_value_heads=1, intermediate_size=40)


def cohere():
    make("cohere", CohereForCausalLM, CohereConfig(**SMALL, **rope(), logit_scale=0.5), 1001, 48, flip=LAST, long=100,
         finish=lambda path: legacy(path, range(40), rope_parameters=None, rope_theta=1000.0))
    make("cohere-qk", CohereForCausalLM, CohereConfig(
        **OTHER | dict(num_key_value_heads=3), **rope(), logit_scale=0.8, use_qk_norm=True, layer_norm_eps=0.02), 1002, 50, flip=LAST, long=0)
    make("cohere-biased", CohereForCausalLM, CohereConfig(
        **OTHER, **rope(), logit_scale=1.5, attention_bias=True, tie_word_embeddings=False), 1003, 50, long=0)


def cohere2():
    small = SMALL | dict(num_hidden_layers=5)
    make("cohere2", Cohere2ForCausalLM, Cohere2Config(**small, **rope(), logit_scale=0.5, sliding_window=6), 1011, 48, flip=LAST, long=100,
         finish=lambda path: legacy(path, range(40), layer_types=None, sliding_window_pattern=4))
    make("cohere2-types", Cohere2ForCausalLM, Cohere2Config(
        **OTHER, **rope(), logit_scale=0.6, sliding_window=5, layer_types=["sliding_attention", "full_attention"], attention_bias=True),
        1012, 50, flip=LAST, long=0)


def phi():
    small = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
    make("phi", PhiForCausalLM, PhiConfig(**small, **rope(partial_rotary_factor=0.5)), 1021, 48, long=100,
         finish=lambda path: legacy(path, range(40), rope_parameters=None, rope_theta=1000.0, partial_rotary_factor=0.5))
    make("phi-gqa", PhiForCausalLM, PhiConfig(
        **OTHER | dict(hidden_size=36), **rope(partial_rotary_factor=0.4), hidden_act="gelu", layer_norm_eps=0.02), 1022, 50, long=0)


def gpt_bigcode():
    common = dict(n_layer=2, n_positions=128, bos_token_id=1, eos_token_id=2)
    flip = ["transformer.ln_f.weight"]
    make("gpt_bigcode", GPTBigCodeForCausalLM, GPTBigCodeConfig(vocab_size=48, n_embd=32, n_head=4, **common), 1031, 48, flip=flip, long=100)
    make("gpt_bigcode-heads", GPTBigCodeForCausalLM, GPTBigCodeConfig(
        vocab_size=50, n_embd=24, n_head=3, n_inner=40, multi_query=False, activation_function="gelu", tie_word_embeddings=False, **common),
        1032, 50, long=0)


def starcoder2():
    make("starcoder2", Starcoder2ForCausalLM, Starcoder2Config(**SMALL, **rope()), 1041, 48, flip=LAST, long=100)
    make("starcoder2-unbiased", Starcoder2ForCausalLM, Starcoder2Config(
        **OTHER, **rope(), use_bias=False, sliding_window=7, tie_word_embeddings=False, norm_epsilon=0.02), 1042, 50, long=0)


def glm():
    make("glm", GlmForCausalLM, GlmConfig(**SMALL, **rope(partial_rotary_factor=0.5), head_dim=16), 1051, 48, long=100,
         finish=lambda path: legacy(path, range(40), rope_parameters=None, rope_theta=1000.0, partial_rotary_factor=0.5))
    make("glm-edge", GlmForCausalLM, GlmConfig(
        **OTHER, **rope(partial_rotary_factor=1.0), head_dim=8, attention_bias=False, tie_word_embeddings=True), 1052, 50, flip=LAST, long=0)


def glm4():
    make("glm4", Glm4ForCausalLM, Glm4Config(**SMALL, **rope(partial_rotary_factor=0.5), head_dim=16), 1061, 48, long=100)
    make("glm4-unbiased", Glm4ForCausalLM, Glm4Config(
        **OTHER, **rope(partial_rotary_factor=1.0), head_dim=8, attention_bias=False, rms_norm_eps=0.02), 1062, 50, long=0)


def exaone4():
    make("exaone4", Exaone4ForCausalLM, Exaone4Config(
        **SMALL | dict(num_hidden_layers=5), **rope(), sliding_window=6, sliding_window_pattern=4), 1071, 48, long=100,
        finish=lambda path: legacy(path, range(40), layer_types=None))
    llama3 = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
    make("exaone4-full", Exaone4ForCausalLM, Exaone4Config(
        **OTHER, **llama3, sliding_window=None, layer_types=["full_attention"] * 2, tie_word_embeddings=True), 1072, 50, flip=LAST, long=0)


def arcee():
    make("arcee", ArceeForCausalLM, ArceeConfig(**SMALL, **rope()), 1081, 48, long=100)
    make("arcee-biased", ArceeForCausalLM, ArceeConfig(
        **OTHER, **rope("yarn", factor=4.0, original_max_position_embeddings=32), attention_bias=True, mlp_bias=True,
        tie_word_embeddings=True), 1082, 50, flip=LAST, long=0)


def nemotron():
    make("nemotron", NemotronForCausalLM, NemotronConfig(**SMALL, **rope(partial_rotary_factor=0.5)), 1093, 48, embed=0.4, long=100)
    make("nemotron-biased", NemotronForCausalLM, NemotronConfig(
        **OTHER, **rope(partial_rotary_factor=1.0), head_dim=12, attention_bias=True, mlp_bias=True, tie_word_embeddings=True), 1092, 50,
        flip=LAST, long=0)


def ernie4_5():
    make("ernie4_5", Ernie4_5ForCausalLM, Ernie4_5Config(**SMALL, **rope(), head_dim=16), 1101, 48, flip=LAST, long=100)
    make("ernie4_5-biased", Ernie4_5ForCausalLM, Ernie4_5Config(
        **OTHER, **rope(), head_dim=8, use_bias=True, tie_word_embeddings=False), 1102, 50, long=0)


def helium():
    make("helium", HeliumForCausalLM, HeliumConfig(**SMALL, **rope(), head_dim=8), 1111, 48, long=100)
    make("helium-biased", HeliumForCausalLM, HeliumConfig(
        **OTHER, **rope(), head_dim=8, attention_bias=True, mlp_bias=True, tie_word_embeddings=True), 1112, 50, flip=LAST, long=0)


def seed_oss():
    make("seed_oss", SeedOssForCausalLM, SeedOssConfig(**SMALL, **rope(), head_dim=16), 1121, 48, long=100)
    make("seed_oss-biased", SeedOssForCausalLM, SeedOssConfig(
        **OTHER, **rope(), head_dim=8, attention_bias=False, attention_out_bias=True, mlp_bias=True, tie_word_embeddings=True), 1122, 50,
        flip=LAST, long=0)


def internlm3():
    make("internlm3", LlamaForCausalLM, InternLM3Config(**SMALL, **rope(), head_dim=16), 1131, 48, long=100)
    make("internlm3-biased", LlamaForCausalLM, InternLM3Config(
        **OTHER, **rope("dynamic", factor=6.0), head_dim=8, qkv_bias=True, bias=True), 1132, 50, long=0)


def opt_350m():
    common = dict(vocab_size=48, hidden_size=32, ffn_dim=40, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=128)
    make("opt-350m", OPTForCausalLM, OPTConfig(**common, word_embed_proj_dim=20, do_layer_norm_before=False), 1141, 48, pad=1, long=100)
    make("opt-projected", OPTForCausalLM, OPTConfig(
        **common, word_embed_proj_dim=40, enable_bias=False, tie_word_embeddings=False), 1142, 48, pad=1, long=0)


def minicpm():
    """Granite's class computes MiniCPM, whose own code is not in transformers, with its factors renamed."""
    def renamed(path):
        config = json.loads((path / "config.json").read_text())
        depth, width = config["num_hidden_layers"], config["hidden_size"]
        config |= {"model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"], "scale_emb": config.pop("embedding_multiplier"),
                   "scale_depth": config.pop("residual_multiplier") * depth**0.5, "dim_model_base": round(width / config.pop("logits_scaling"))}
        assert config.pop("attention_multiplier") == (width / config["num_attention_heads"])**-0.5
        (path / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")

    def one(name, seed, sizes, rows, **options):
        scale = (sizes["hidden_size"] / sizes["num_attention_heads"])**-0.5
        config = GraniteConfig(**sizes, attention_multiplier=scale, **options.pop("config"))
        make(name, GraniteForCausalLM, config, seed, rows, **options)
        renamed(HERE / name)

    one("minicpm", 1151, SMALL, 48, flip=LAST, long=100, config=rope() | dict(
        embedding_multiplier=3.0, residual_multiplier=0.7, logits_scaling=2.0, tie_word_embeddings=True))
    one("minicpm-untied", 1152, OTHER | {"num_hidden_layers": 3}, 50, long=0, config=rope("linear", factor=2.0) | dict(
        embedding_multiplier=6.0, residual_multiplier=0.4, logits_scaling=0.75))


GROUPS = {f.__name__: f for f in (
    cohere, cohere2, phi, gpt_bigcode, starcoder2, glm, glm4, exaone4, arcee, nemotron, ernie4_5, helium, seed_oss, internlm3, opt_350m,
    minicpm)}
