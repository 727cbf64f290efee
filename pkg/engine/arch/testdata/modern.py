"""Goldens of the decoders of today: Llama's relatives, each with its own differences."""

import torch
from transformers import (
    BloomConfig, BloomForCausalLM, FalconConfig, FalconForCausalLM, Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM,
    Gemma3nForCausalLM, Gemma3nTextConfig, Gemma3TextConfig, Gemma4ForCausalLM, Gemma4TextConfig, GemmaConfig, GemmaForCausalLM, GPTNeoConfig, GPTNeoForCausalLM, GraniteConfig, GraniteForCausalLM,
    GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM, MistralConfig, MistralForCausalLM, Olmo2Config, Olmo2ForCausalLM,
    Olmo3Config, Olmo3ForCausalLM, OlmoConfig, OlmoForCausalLM, OPTConfig, OPTForCausalLM, Phi3Config, Phi3ForCausalLM,
    Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, SmolLM3Config, SmolLM3ForCausalLM, StableLmConfig,
    StableLmForCausalLM,
)

from decoders import legacy, make

SMALL = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
OTHER = SMALL | dict(vocab_size=70, hidden_size=24, num_attention_heads=3, num_key_value_heads=1, intermediate_size=40)
LAST = ["model.norm.weight"]
FAR = {"max_position_embeddings": 512}  # for texts that are longer than what layers with a window keep


def rope(kind="default", theta=1000.0, **rest):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **rest}}


def qwen2():
    make("qwen2", Qwen2ForCausalLM, Qwen2Config(**SMALL, **rope()), 801, 64, long=100)
    make("qwen2-window", Qwen2ForCausalLM, Qwen2Config(
        **OTHER | {"num_hidden_layers": 3}, **rope("yarn", factor=4.0, original_max_position_embeddings=32), tie_word_embeddings=True,
        use_sliding_window=True, sliding_window=6, max_window_layers=1), 802, 70, flip=LAST, long=100,
        finish=lambda path: legacy(path, range(60), layer_types=None))


def qwen3():
    make("qwen3", Qwen3ForCausalLM, Qwen3Config(**SMALL, **rope(), head_dim=16, tie_word_embeddings=True), 811, 64, flip=LAST, long=100)
    make("qwen3-yarn", Qwen3ForCausalLM, Qwen3Config(
        **OTHER, head_dim=12, attention_bias=True, **rope(
            "yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=8.0, beta_slow=2.0, truncate=False)), 812, 70, long=120)


def mistral():
    make("mistral", MistralForCausalLM, MistralConfig(**SMALL | FAR, **rope(), sliding_window=7), 821, 64, long=400)
    make("mistral-nemo", MistralForCausalLM, MistralConfig(
        **OTHER, **rope("dynamic", factor=2.0), sliding_window=None, head_dim=16), 822, 70, long=0)


def phi3():
    make("phi3", Phi3ForCausalLM, Phi3Config(**SMALL | FAR, **rope(partial_rotary_factor=1.0), sliding_window=9), 831, 64, long=400)
    factors = {"short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.5, 6.0]}
    make("phi3-longrope", Phi3ForCausalLM, Phi3Config(
        **OTHER, tie_word_embeddings=True, original_max_position_embeddings=32,
        **rope("longrope", partial_rotary_factor=0.75, **factors)), 832, 70, flip=LAST, long=100,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0, partial_rotary_factor=0.75,
                                   rope_scaling={"type": "longrope", **factors}))


def gemma():
    make("gemma", GemmaForCausalLM, GemmaConfig(**SMALL, **rope(), head_dim=16), 841, 64, flip=LAST, embed=0.3, long=100)
    make("gemma-mqa", GemmaForCausalLM, GemmaConfig(
        **OTHER, **rope(), head_dim=8, attention_bias=True), 842, 70, flip=LAST, embed=0.3, long=0)


def gemma2():
    make("gemma2", Gemma2ForCausalLM, Gemma2Config(
        **SMALL | FAR | {"num_hidden_layers": 3}, **rope(), head_dim=16, sliding_window=6, query_pre_attn_scalar=16), 851, 64, flip=LAST, embed=0.3, long=400,
        finish=lambda path: legacy(path, range(60), layer_types=None))
    make("gemma2-open", Gemma2ForCausalLM, Gemma2Config(
        **OTHER, **rope(), head_dim=8, sliding_window=5, query_pre_attn_scalar=12, attn_logit_softcapping=3.0,
        final_logit_softcapping=None), 852, 70, flip=LAST, embed=0.3, long=0)


def gemma3():
    full = {"rope_type": "linear", "rope_theta": 5000.0, "factor": 8.0}
    make("gemma3", Gemma3ForCausalLM, Gemma3TextConfig(
        **SMALL | FAR | {"num_hidden_layers": 8, "intermediate_size": 32}, head_dim=16, sliding_window=6, query_pre_attn_scalar=16,
        rope_parameters={"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}), 863, 64,
        flip=LAST, embed=0.2, long=400, finish=lambda path: legacy(
            path, range(60), rope_parameters=None, layer_types=None, rope_theta=5000.0, rope_local_base_freq=100.0,
            rope_scaling={"rope_type": "linear", "factor": 8.0}, sliding_window_pattern=6))
    make("gemma3-pattern", Gemma3ForCausalLM, Gemma3TextConfig(
        **OTHER | {"num_hidden_layers": 3}, head_dim=8, sliding_window=5, query_pre_attn_scalar=12, final_logit_softcapping=20.0,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1000.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}), 862, 70, flip=LAST, embed=0.3, long=0)


def scalars(model):
    """Every layer's number, which transformers keeps as a buffer."""
    for i, layer in enumerate(model.model.layers):
        layer.layer_scalar.fill_(1.3 - 0.15 * i)


def gemma4():
    sliding, full = "sliding_attention", "full_attention"
    make("gemma4", Gemma4ForCausalLM, Gemma4TextConfig(
        **SMALL | FAR | {"num_hidden_layers": 6, "intermediate_size": 20}, head_dim=8, global_head_dim=16, sliding_window=6, num_kv_shared_layers=3,
        layer_types=[sliding, sliding, full, sliding, sliding, full], use_double_wide_mlp=True, hidden_size_per_layer_input=12,
        vocab_size_per_layer_input=64, final_logit_softcapping=12.0,
        rope_parameters={full: {"rope_type": "proportional", "rope_theta": 1000.0, "partial_rotary_factor": 0.25},
                         sliding: {"rope_type": "default", "rope_theta": 50.0}}), 864, 64, flip=LAST, embed=0.3, long=400, tune=scalars,
         finish=lambda path: legacy(path, range(60), per_layer_config=None, global_head_dim=16))
    make("gemma4-keys", Gemma4ForCausalLM, Gemma4TextConfig(
        **OTHER | {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}, head_dim=12, global_head_dim=16, num_global_key_value_heads=1,
        attention_k_eq_v=True, attention_bias=True, hidden_size_per_layer_input=0, sliding_window=5, tie_word_embeddings=False, rms_norm_eps=0.02,
        use_bidirectional_attention="vision", layer_types=[sliding, full, full],
        rope_parameters={full: {"rope_type": "proportional", "rope_theta": 500.0, "partial_rotary_factor": 0.5, "factor": 2.0},
                         sliding: {"rope_type": "default", "rope_theta": 50.0}}), 865, 70, embed=0.3, long=100, tune=scalars,
         finish=lambda path: legacy(path, range(60), per_layer_config=None, global_head_dim=16, num_global_key_value_heads=1))
    make("gemma4-experts", Gemma4ForCausalLM, Gemma4TextConfig(
        **SMALL | {"num_hidden_layers": 3}, head_dim=8, global_head_dim=16, num_global_key_value_heads=1, attention_k_eq_v=True, hidden_size_per_layer_input=0,
        sliding_window=5, final_logit_softcapping=20.0, layer_types=[sliding, sliding, full], enable_moe_block=True, num_experts=6, top_k_experts=2,
        moe_intermediate_size=20, rope_parameters={full: {"rope_type": "proportional", "rope_theta": 1000.0, "partial_rotary_factor": 0.25},
                                                   sliding: {"rope_type": "default", "rope_theta": 50.0}}), 866, 64, flip=LAST, embed=0.3, long=100, tune=scalars)


def routers(model):
    """Routers that tell tokens apart, whose logits transformers divides by the width."""
    for layer in model.model.layers:
        layer.altup.modality_router.weight.data.mul_(model.config.hidden_size / 2)
        layer.altup.prediction_coefs.weight.data.mul_(0.3)


def gemma3n():
    sliding, full = "sliding_attention", "full_attention"
    ropes = {"rope_parameters": {full: {"rope_type": "default", "rope_theta": 1000.0}, sliding: {"rope_type": "default", "rope_theta": 50.0}}}
    make("gemma3n", Gemma3nForCausalLM, Gemma3nTextConfig(
        **SMALL | FAR | {"num_hidden_layers": 6, "intermediate_size": [20, 20, 20, 24, 24, 24]}, head_dim=8, sliding_window=6, num_kv_shared_layers=2,
        layer_types=[sliding, sliding, full, sliding, sliding, full], hidden_size_per_layer_input=12, vocab_size_per_layer_input=61,
        final_logit_softcapping=12.0, altup_num_inputs=4, laurel_rank=6, activation_sparsity_pattern=[0.8, 0.6, 0.0, 0.0, 0.0, 0.0], **ropes), 872, 64,
        flip=LAST, embed=0.3, long=400, tune=routers, finish=lambda path: legacy(
            path, range(60), rope_parameters=None, rope_theta=1000.0, rope_local_base_freq=50.0, rope_scaling=None))
    make("gemma3n-two", Gemma3nForCausalLM, Gemma3nTextConfig(
        **OTHER | {"num_hidden_layers": 2}, head_dim=8, sliding_window=5, num_kv_shared_layers=0, layer_types=[full, sliding], attention_bias=True,
        hidden_size_per_layer_input=10, vocab_size_per_layer_input=70, tie_word_embeddings=False, rms_norm_eps=0.02, altup_num_inputs=2, laurel_rank=5,
        **ropes), 868, 70, embed=0.3, long=100, tune=routers)


def smollm3():
    make("smollm3", SmolLM3ForCausalLM, SmolLM3Config(**SMALL | {"num_hidden_layers": 5}, **rope()), 871, 64, flip=LAST, long=100,
         finish=lambda path: legacy(path, range(60), layer_types=None, no_rope_layers=None))
    make("smollm3-window", SmolLM3ForCausalLM, SmolLM3Config(
        **OTHER | FAR | {"num_hidden_layers": 3}, **rope(), no_rope_layers=[0, 1, 0], use_sliding_window=True, sliding_window=6,
        attention_bias=True, mlp_bias=True, tie_word_embeddings=False), 872, 70, long=400)


def olmo():
    make("olmo", OlmoForCausalLM, OlmoConfig(**SMALL, **rope()), 881, 64, long=100)
    make("olmo-tied", OlmoForCausalLM, OlmoConfig(**OTHER, **rope(), attention_bias=True, tie_word_embeddings=True), 882, 70, long=0)


def olmo2():
    make("olmo2", Olmo2ForCausalLM, Olmo2Config(**SMALL, **rope()), 891, 64, long=100)
    make("olmo2-tied", Olmo2ForCausalLM, Olmo2Config(
        **OTHER, **rope(), tie_word_embeddings=True, rms_norm_eps=0.02), 892, 70, flip=LAST, long=0)


def olmo3():
    yarn = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 32}
    plain = {"rope_type": "default", "rope_theta": 1000.0}
    make("olmo3", Olmo3ForCausalLM, Olmo3Config(
        **SMALL | {"num_hidden_layers": 5}, sliding_window=6,
        rope_parameters={"full_attention": yarn, "sliding_attention": plain}), 901, 64, long=100)
    make("olmo3-types", Olmo3ForCausalLM, Olmo3Config(
        **OTHER | FAR, sliding_window=5, layer_types=["full_attention", "sliding_attention"],
        rope_parameters={"full_attention": plain, "sliding_attention": plain}), 902, 70, long=400)


def granite():
    make("granite", GraniteForCausalLM, GraniteConfig(
        **SMALL, **rope(), embedding_multiplier=3.0, attention_multiplier=0.4, residual_multiplier=0.7, logits_scaling=0.5), 911, 64, long=100)
    make("granite-tied", GraniteForCausalLM, GraniteConfig(
        **OTHER, **rope(), embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.3, logits_scaling=2.0,
        tie_word_embeddings=True, attention_bias=True, mlp_bias=True), 912, 70, flip=LAST, long=0)


def granite4():
    common = dict(
        num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=40, layer_types=["attention", "attention"],
        embedding_multiplier=3.0, attention_multiplier=0.4, residual_multiplier=0.7, mamba_n_heads=4, mamba_d_head=16)
    make("granite4", GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(
        **SMALL, **rope(), **common, logits_scaling=0.5, position_embedding_type="rope"), 921, 64, long=100)
    make("granite4-nope", GraniteMoeHybridForCausalLM, GraniteMoeHybridConfig(
        **OTHER, **common | {"mamba_n_heads": 3, "mamba_d_head": 16}, logits_scaling=0.5, position_embedding_type="nope", tie_word_embeddings=True),
        922, 70, flip=LAST, long=0)


def stablelm():
    make("stablelm", StableLmForCausalLM, StableLmConfig(
        **SMALL, **rope(partial_rotary_factor=0.5), use_qkv_bias=True), 931, 64, long=100)
    make("stablelm-parallel", StableLmForCausalLM, StableLmConfig(
        **OTHER, **rope(partial_rotary_factor=0.25), qk_layernorm=True, use_parallel_residual=True), 932, 70, long=0)


def falcon():
    common = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, bos_token_id=1, eos_token_id=2,
                  max_position_embeddings=128, ffn_hidden_size=48)
    flip = ["transformer.ln_f.weight"]
    make("falcon", FalconForCausalLM, FalconConfig(**common, **rope()), 941, 64, flip=flip, long=100)
    make("falcon-40b", FalconForCausalLM, FalconConfig(
        **common, **rope(), new_decoder_architecture=True, num_kv_heads=2), 942, 64, flip=flip, long=0)
    make("falcon-11b", FalconForCausalLM, FalconConfig(
        **common, **rope(), new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1, tie_word_embeddings=False), 943, 64, long=0)
    # The eager attention of this class adds the slopes twice. Products of slopes and positions
    # are bfloat16, which is exact for these heads.
    make("falcon-rw", FalconForCausalLM, FalconConfig(
        **common, alibi=True, multi_query=False, parallel_attn=False, bias=True), 944, 64, flip=flip, long=60, attention="sdpa")


def opt():
    common = dict(vocab_size=64, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
                  max_position_embeddings=128, word_embed_proj_dim=32)
    make("opt", OPTForCausalLM, OPTConfig(**common), 951, 64, flip=["model.decoder.final_layer_norm.weight"], pad=1, long=100)
    make("opt-post", OPTForCausalLM, OPTConfig(
        **common, do_layer_norm_before=False, activation_function="gelu", tie_word_embeddings=False), 952, 64, pad=1, long=0)


def gpt_neo():
    flip = ["transformer.ln_f.weight"]
    common = dict(vocab_size=64, max_position_embeddings=128, hidden_size=32, bos_token_id=1, eos_token_id=2)
    make("gpt_neo", GPTNeoForCausalLM, GPTNeoConfig(
        **common | {"max_position_embeddings": 320}, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=6), 961, 64,
        flip=flip, long=300)
    make("gpt_neo-local", GPTNeoForCausalLM, GPTNeoConfig(
        **common, num_layers=3, num_heads=2, attention_types=[[["local"], 2], [["global"], 1]], window_size=5, intermediate_size=40,
        tie_word_embeddings=False), 963, 64, embed=0.4, long=0)


def bloom():
    flip = ["transformer.ln_f.weight"]
    make("bloom", BloomForCausalLM, BloomConfig(
        vocab_size=64, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, seq_length=128), 971, 64, flip=flip, long=100)
    make("bloom-six", BloomForCausalLM, BloomConfig(
        vocab_size=64, hidden_size=36, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2, layer_norm_epsilon=0.02,
        tie_word_embeddings=False), 972, 64, long=0)


GROUPS = {f.__name__: f for f in (
    qwen2, qwen3, mistral, phi3, gemma, gemma2, gemma3, gemma4, gemma3n, smollm3, olmo, olmo2, olmo3, granite, granite4, stablelm, falcon, opt,
    gpt_neo, bloom)}
