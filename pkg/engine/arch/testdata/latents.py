"""Goldens of decoders with latent attention."""

from transformers import MiniCPM3Config, MiniCPM3ForCausalLM

from decoders import legacy, make
from modern import LAST, OTHER, SMALL, rope

NARROW = {"num_key_value_heads": 4, "q_lora_rank": 14, "kv_lora_rank": 20, "qk_nope_head_dim": 10, "qk_rope_head_dim": 8, "v_head_dim": 6}
WIDE = {"num_key_value_heads": 3, "q_lora_rank": 9, "kv_lora_rank": 11, "qk_nope_head_dim": 5, "qk_rope_head_dim": 4, "v_head_dim": 13}


def minicpm3():
    factors = {"short_factor": [1.0, 1.1, 1.3, 1.4], "long_factor": [1.5, 2.5, 6.0, 7.0]}
    make("minicpm3", MiniCPM3ForCausalLM, MiniCPM3Config(
        **SMALL | NARROW, **rope("longrope", original_max_position_embeddings=32, **factors), scale_emb=3, scale_depth=1.4, dim_model_base=48), 2301, 64,
        flip=LAST, long=100, finish=lambda path: legacy(
            path, range(60), rope_parameters=None, rope_theta=1000.0, original_max_position_embeddings=None,
            rope_scaling={"type": "longrope", "original_max_position_embeddings": 32, **factors}))
    make("minicpm3-biased", MiniCPM3ForCausalLM, MiniCPM3Config(
        **OTHER | WIDE | {"num_hidden_layers": 3}, **rope(), scale_emb=1.5, scale_depth=2.0, dim_model_base=20, attention_bias=True, mlp_bias=True,
        rms_norm_eps=0.02, tie_word_embeddings=False), 2302, 70, long=0)


GROUPS = {f.__name__: f for f in (minicpm3,)}
