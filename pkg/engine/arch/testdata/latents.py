"""Goldens of decoders with latent attention."""

from transformers import DeepseekV2Config, DeepseekV2ForCausalLM, DeepseekV3Config, DeepseekV3ForCausalLM, Glm4MoeLiteConfig, Glm4MoeLiteForCausalLM, MiniCPM3Config, MiniCPM3ForCausalLM, YoutuConfig, YoutuForCausalLM

from common import HERE
from decoders import legacy, make
from experts import corrected, draft, fused
from modern import LAST, OTHER, SMALL, rope

NARROW = {"num_key_value_heads": 4, "q_lora_rank": 14, "kv_lora_rank": 20, "qk_nope_head_dim": 10, "qk_rope_head_dim": 8, "v_head_dim": 6}
WIDE = {"num_key_value_heads": 3, "q_lora_rank": 9, "kv_lora_rank": 11, "qk_nope_head_dim": 5, "qk_rope_head_dim": 4, "v_head_dim": 13}


def minicpm3():
    factors = {"short_factor": [1.0, 1.1, 1.3, 1.4], "long_factor": [1.5, 2.5, 6.0, 7.0]}
    make("minicpm3", MiniCPM3ForCausalLM, MiniCPM3Config(
        **SMALL | NARROW | {"v_head_dim": 8}, **rope("longrope", original_max_position_embeddings=32, **factors), scale_emb=3, scale_depth=1.4, dim_model_base=48), 2301, 64,
        flip=LAST, long=100, finish=lambda path: legacy(
            path, range(60), rope_parameters=None, rope_theta=1000.0, original_max_position_embeddings=None,
            rope_scaling={"type": "longrope", "original_max_position_embeddings": 32, **factors}))
    make("minicpm3-biased", MiniCPM3ForCausalLM, MiniCPM3Config(
        **OTHER | WIDE | {"num_hidden_layers": 3}, **rope(), scale_emb=1.5, scale_depth=2.0, dim_model_base=20, attention_bias=True, mlp_bias=True,
        rms_norm_eps=0.02, tie_word_embeddings=False), 2302, 70, long=0)


def yarn(mscale, all_dim):
    return {"factor": 8.0, "original_max_position_embeddings": 32, "beta_fast": 8.0, "beta_slow": 1.0, "mscale": mscale, "mscale_all_dim": all_dim}


def deepseek_v2():
    """The second is V2-Lite's form: one product for queries, experts without groups."""
    scaling = yarn(0.7, 1.3)
    make("deepseek_v2", DeepseekV2ForCausalLM, DeepseekV2Config(
        **SMALL | NARROW | {"max_position_embeddings": 256}, **rope("yarn", **scaling), n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=20,
        n_shared_experts=1, topk_method="group_limited_greedy", n_group=4, topk_group=2, routed_scaling_factor=1.5), 2311, 64, long=100,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0, rope_scaling={"type": "yarn", **scaling}))
    make("deepseek_v2-lite", DeepseekV2ForCausalLM, DeepseekV2Config(
        **OTHER | WIDE | {"num_hidden_layers": 3, "q_lora_rank": None, "kv_lora_rank": 10, "qk_nope_head_dim": 6}, **rope(), n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=17,
        n_shared_experts=2, first_k_dense_replace=1, rms_norm_eps=0.02, tie_word_embeddings=True), 2312, 70, flip=LAST, long=0, finish=fused)


def deepseek_v3():
    """The second file has a layer that drafts tokens."""
    scaling = yarn(1.0, 1.0)
    make("deepseek_v3", DeepseekV3ForCausalLM, DeepseekV3Config(
        **SMALL | NARROW | {"num_hidden_layers": 3, "max_position_embeddings": 256}, **rope("yarn", **scaling), n_routed_experts=8, num_experts_per_tok=3,
        moe_intermediate_size=20, n_group=4, topk_group=2, first_k_dense_replace=1, num_nextn_predict_layers=0), 2321, 64, long=100, tune=corrected,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0, rope_scaling={"type": "yarn", **scaling}))
    make("deepseek_v3-biased", DeepseekV3ForCausalLM, DeepseekV3Config(
        **OTHER | WIDE, **rope(), n_routed_experts=9, num_experts_per_tok=4, moe_intermediate_size=17, n_shared_experts=2, n_group=1, topk_group=1,
        first_k_dense_replace=0, norm_topk_prob=False, routed_scaling_factor=0.8, rope_interleave=False, attention_bias=True, rms_norm_eps=0.02,
        tie_word_embeddings=True), 2322, 70, flip=LAST, long=0, tune=corrected, finish=fused)
    draft(HERE / "deepseek_v3-biased")


def glm4_moe_lite():
    make("glm4_moe_lite", Glm4MoeLiteForCausalLM, Glm4MoeLiteConfig(
        **SMALL | NARROW | {"hidden_size": 28, "num_attention_heads": 3, "num_key_value_heads": 3, "v_head_dim": 18}, **rope(), n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=20), 2331, 64, long=100, tune=corrected,
        finish=lambda path: legacy(path, range(60), rope_parameters=None, rope_theta=1000.0, mlp_layer_types=None, first_k_dense_replace=1))
    make("glm4_moe_lite-types", Glm4MoeLiteForCausalLM, Glm4MoeLiteConfig(
        **OTHER | WIDE | {"num_hidden_layers": 3}, **rope(), n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=17, n_shared_experts=2,
        mlp_layer_types=["sparse", "dense", "sparse"], n_group=2, topk_group=1, norm_topk_prob=False, attention_bias=True, rms_norm_eps=0.02,
        tie_word_embeddings=True), 2332, 70, flip=LAST, long=0, tune=corrected, finish=fused)


def youtu():
    unpadded = {"pad_token_id": None}  # whose embedding the class would clear
    make("youtu", YoutuForCausalLM, YoutuConfig(**SMALL | NARROW | unpadded, **rope(), tie_word_embeddings=True), 2341, 64, flip=LAST, long=100, finish=lambda path: legacy(
        path, range(60), rope_parameters=None, rope_theta=1000.0))
    make("youtu-biased", YoutuForCausalLM, YoutuConfig(
        **OTHER | WIDE | unpadded | {"q_lora_rank": 7}, **rope(), rope_interleave=False, attention_bias=True, rms_norm_eps=0.02, tie_word_embeddings=False), 2342, 70, long=0)


GROUPS = {f.__name__: f for f in (minicpm3, deepseek_v2, deepseek_v3, glm4_moe_lite, youtu)}
