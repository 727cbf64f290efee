"""Writes sizes.json: the configurations of published models, and the names and shapes of
the tensors that transformers makes for them. It computes no weights."""

import json
import pathlib
import re

import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSeq2SeqLM


def sized(kind, layers, width, heads, ffn, vocab, context, keys=None, tied=False, **rest):
    config = {
        "model_type": kind, "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads,
        "intermediate_size": ffn, "vocab_size": vocab, "max_position_embeddings": context, "tie_word_embeddings": tied,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16",
    }
    return config | ({"num_key_value_heads": keys} if keys else {}) | rest


def llama3(factor):
    return {"rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}


GEMMA = {"head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256}
GEMMA3 = GEMMA | {"rope_theta": 1e6, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 6}
GEMMA3N = {"head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "vocab_size_per_layer_input": 262144, "sliding_window": 512, "rope_theta": 1e6, "rope_local_base_freq": 10000.0}
GRANITE = {"embedding_multiplier": 12.0, "attention_multiplier": 0.015625, "residual_multiplier": 0.22, "logits_scaling": 8.0}
LFM2 = 2, 5, 8, 10, 12, 14


def mixed(layers, attention):
    return ["full_attention" if i in attention else "conv" for i in range(layers)]


def hybrid(layers, width, heads, ffn, keys, attention, **rest):
    return sized("granitemoehybrid", layers, width, heads, ffn, 100352, 131072, keys, True, **{
        "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": ffn, "mamba_n_heads": width // 32, "mamba_d_head": 64, "mamba_d_state": 128,
        "position_embedding_type": "nope", "layer_types": ["attention" if i in attention else "mamba" for i in range(layers)]} | rest | GRANITE)


def falcon_h1(layers, width, heads, ffn, vocab, context, states, **rest):
    return sized("falcon_h1", layers, width, heads, ffn, vocab, context, 2, rope_theta=1e11, mamba_n_heads=states, mamba_norm_before_gate=False, **rest)


def nemotron_h(width, heads, ffn, context, keys, pattern, **rest):
    return sized("nemotron_h", len(pattern), width, heads, ffn, 131072, context, keys, head_dim=128, hybrid_override_pattern=pattern, **rest)


def qwen35(layers, width, heads, ffn, keys, values, tied=False, kind="qwen3_5_text", vocab=248320):
    config = sized(kind, layers, width, heads, ffn, vocab, 262144, keys, tied, linear_num_value_heads=values,
                   rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25})
    return {k: v for k, v in config.items() if v is not None}


SUPPORTED = {
    "SmolLM2-135M": sized("llama", 30, 576, 9, 1536, 49152, 8192, 3, True, rope_theta=1e5),
    "SmolLM2-360M": sized("llama", 32, 960, 15, 2560, 49152, 8192, 5, True, rope_theta=1e5),
    "SmolLM2-1.7B": sized("llama", 24, 2048, 32, 8192, 49152, 8192, 32, True, rope_theta=1.3e5),
    "SmolLM3-3B": sized("smollm3", 36, 2048, 16, 11008, 128256, 65536, 4, True, rope_theta=5e6),
    "Qwen3-0.6B": sized("qwen3", 28, 1024, 16, 3072, 151936, 40960, 8, True, head_dim=128, rope_theta=1e6),
    "Qwen3-1.7B": sized("qwen3", 28, 2048, 16, 6144, 151936, 40960, 8, True, head_dim=128, rope_theta=1e6),
    "Qwen3-4B": sized("qwen3", 36, 2560, 32, 9728, 151936, 40960, 8, True, head_dim=128, rope_theta=1e6),
    "Qwen2.5-0.5B": sized("qwen2", 24, 896, 14, 4864, 151936, 32768, 2, True, rope_theta=1e6),
    "DeepSeek-R1-Distill-Qwen-1.5B": sized("qwen2", 28, 1536, 12, 8960, 151936, 131072, 2, rope_theta=10000.0),
    "Gemma-2-2B": sized("gemma2", 26, 2304, 8, 9216, 256000, 8192, 4, True, sliding_window=4096, **GEMMA),
    "Gemma-3-270M": sized("gemma3_text", 18, 640, 4, 2048, 262144, 32768, 1, True, sliding_window=512, **GEMMA3),
    "Gemma-3-1B": sized("gemma3_text", 26, 1152, 4, 6912, 262144, 32768, 1, True, sliding_window=512, **GEMMA3),
    "Gemma-3-4B, text": sized("gemma3_text", 34, 2560, 8, 10240, 262208, 131072, 4, True, sliding_window=1024,
                              rope_scaling={"rope_type": "linear", "factor": 8.0}, **GEMMA3),
    "Gemma-3n-E2B": sized("gemma3n_text", 30, 2048, 8, 8192, 262400, 32768, 2, True, **GEMMA3N, num_kv_shared_layers=10, activation_sparsity_pattern=[0.95] * 10 + [0.0] * 20),
    "Gemma-3n-E4B": sized("gemma3n_text", 35, 2048, 8, 16384, 262400, 32768, 2, True, **GEMMA3N, num_kv_shared_layers=15, activation_sparsity_pattern=[0.95] * 10 + [0.0] * 25),
    "TinyLlama-1.1B": sized("llama", 22, 2048, 32, 5632, 32000, 2048, 4),
    "Llama-3.2-1B": sized("llama", 16, 2048, 32, 8192, 128256, 131072, 8, True, head_dim=64, **llama3(32.0)),
    "Llama-3.2-3B": sized("llama", 28, 3072, 24, 8192, 128256, 131072, 8, True, head_dim=128, **llama3(32.0)),
    "Llama-3.1-8B": sized("llama", 32, 4096, 32, 14336, 128256, 131072, 8, **llama3(8.0)),
    "Mistral-7B-v0.3": sized("mistral", 32, 4096, 32, 14336, 32768, 32768, 8, rope_theta=1e6, sliding_window=None),
    "Mistral-Nemo-12B": sized("mistral", 40, 5120, 32, 14336, 131072, 131072, 8, head_dim=128, rope_theta=1e6, sliding_window=None),
    "Ministral-3-3B": sized("ministral3", 26, 3072, 32, 9216, 131072, 262144, 8, True, head_dim=128, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0,
        "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}),
    "Hunyuan-0.5B": sized("hunyuan_v1_dense", 24, 1024, 16, 3584, 120818, 262144, 8, True, head_dim=128, rope_theta=10000.0, rope_scaling={
        "type": "dynamic", "alpha": 1000.0, "factor": 1.0}),
    "Apertus-8B": sized("apertus", 32, 4096, 32, 21504, 131072, 65536, 8, **llama3(8.0) | {"rope_theta": 12e6}),
    "Phi-2": sized("phi", 32, 2560, 32, 10240, 51200, 2048, partial_rotary_factor=0.4),
    "Phi-3-mini-4k": sized("phi3", 32, 3072, 32, 8192, 32064, 4096, 32, sliding_window=2047),
    "Phi-4-mini": sized("phi3", 32, 3072, 24, 8192, 200064, 131072, 8, True, sliding_window=262144, partial_rotary_factor=0.75,
                        original_max_position_embeddings=4096, rope_scaling={
                            "type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.0 + j for j in range(48)]}),
    "Phi-4": sized("phi3", 40, 5120, 40, 17920, 100352, 16384, 10, rope_theta=250000.0, sliding_window=None),
    "OLMo-2-1B": sized("olmo2", 16, 2048, 16, 8192, 100352, 4096, 16, rope_theta=5e5),
    "Granite-3.3-2B": sized("granite", 40, 2048, 32, 8192, 49159, 131072, 8, True, rope_theta=1e7, **GRANITE),
    "Granite-4.0-350M": sized("granitemoehybrid", 28, 1024, 16, 2048, 100352, 32768, 4, True, num_local_experts=0, num_experts_per_tok=0,
                              shared_intermediate_size=2048, layer_types=["attention"] * 28, position_embedding_type="rope", **GRANITE),
    "Mixtral-8x7B": sized("mixtral", 32, 4096, 32, 14336, 32000, 32768, 8, rope_theta=1e6, num_local_experts=8, num_experts_per_tok=2),
    "Qwen3-30B-A3B": sized("qwen3_moe", 48, 2048, 32, 6144, 151936, 40960, 4, head_dim=128, rope_theta=1e6, num_experts=128,
                           num_experts_per_tok=8, moe_intermediate_size=768, norm_topk_prob=True),
    "Qwen1.5-MoE-A2.7B": sized("qwen2_moe", 24, 2048, 16, 5632, 151936, 8192, 16, rope_theta=1e6, num_experts=60, num_experts_per_tok=4,
                               moe_intermediate_size=1408, shared_expert_intermediate_size=5632),
    "OLMoE-1B-7B": sized("olmoe", 16, 2048, 16, 1024, 50304, 4096, 16, num_experts=64, num_experts_per_tok=8),
    "StableLM-2-1.6B": sized("stablelm", 24, 2048, 32, 5632, 100352, 4096, 32, use_qkv_bias=True, partial_rotary_factor=0.25),
    "EXAONE-4.0-1.2B": sized("exaone4", 30, 2048, 32, 4096, 102400, 65536, 8, True, head_dim=64, sliding_window=None,
                             layer_types=["full_attention"] * 30, rope_theta=1e6),
    "ERNIE-4.5-0.3B": sized("ernie4_5", 18, 1024, 16, 3072, 103424, 131072, 2, True, head_dim=128, rope_theta=500000.0),
    "Command-R7B": sized("cohere2", 32, 4096, 32, 14336, 256000, 132096, 8, True, sliding_window=4096, sliding_window_pattern=4,
                         logit_scale=0.25, rope_theta=50000.0),
    "Command-R-35B": sized("cohere", 40, 8192, 64, 22528, 256000, 131072, 64, True, logit_scale=0.0625, rope_theta=8e6),
    "MiniCPM3-4B": sized("minicpm3", 62, 2560, 40, 6400, 73448, 32768, 40, True, scale_emb=12, scale_depth=1.4, dim_model_base=256, q_lora_rank=768,
                         kv_lora_rank=256, qk_nope_head_dim=64, qk_rope_head_dim=32, rope_scaling={
                             "type": "longrope", "original_max_position_embeddings": 32768, "short_factor": [1.0] * 16, "long_factor": [1.0 + j for j in range(16)]}),
    "DeepSeek-V2-Lite": sized("deepseek_v2", 27, 2048, 16, 10944, 102400, 163840, 16, rope_theta=10000.0, q_lora_rank=None, kv_lora_rank=512,
                              qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6,
                              moe_intermediate_size=1408, first_k_dense_replace=1, topk_method="greedy", n_group=1, topk_group=1, norm_topk_prob=False,
                              routed_scaling_factor=1.0, rope_scaling={
                                  "type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707,
                                  "mscale_all_dim": 0.707}),
    "GLM-4.7-Flash": sized("glm4_moe_lite", 47, 2048, 20, 10240, 154880, 202752, 20, rope_theta=1e6, q_lora_rank=768, kv_lora_rank=512, qk_nope_head_dim=192,
                           qk_rope_head_dim=64, v_head_dim=256, n_routed_experts=64, n_shared_experts=1, num_experts_per_tok=4, moe_intermediate_size=1536,
                           first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8),
    "Youtu-LLM-2B": sized("youtu", 32, 2048, 16, 6144, 128256, 131072, 16, True, rope_theta=1.6e6, q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128,
                          qk_rope_head_dim=64, v_head_dim=128),
    "MiniCPM-2B": sized("minicpm", 40, 2304, 36, 5760, 122753, 4096, 36, True, scale_emb=12, scale_depth=1.4, dim_model_base=256),
    "MiniCPM4-0.5B": sized("minicpm", 24, 1024, 16, 4096, 73448, 32768, 2, True, scale_emb=12, scale_depth=1.4, dim_model_base=256),
    "Helium-1-preview-2B": sized("helium", 24, 2560, 20, 7040, 48000, 4096, 20, head_dim=128, rope_theta=100000.0),
    "InternLM3-8B": sized("internlm3", 48, 4096, 32, 10240, 128512, 32768, 2, head_dim=128, rope_theta=5e7),
    "Nemotron-Mini-4B": sized("nemotron", 32, 3072, 24, 9216, 256000, 4096, 8, head_dim=128, partial_rotary_factor=0.5),
    "Nemotron-Nano-9B-v2": nemotron_h(4480, 40, 15680, 131072, 8, "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-", mamba_num_heads=128, mamba_head_dim=80),
    "Nemotron-Nano-12B-v2": nemotron_h(5120, 40, 20480, 131072, 8, 6 * "M-M-M-M*-" + "M-M-M-M-", mamba_num_heads=128, mamba_head_dim=80),
    "Nemotron-3-Nano-30B-A3B": nemotron_h(2688, 32, 1856, 262144, 2, 5 * "MEMEM*E" + "MEMEMEM*E" + "MEMEMEME", mamba_num_heads=64, mamba_head_dim=64,
                                          n_routed_experts=128, num_experts_per_tok=6, moe_intermediate_size=1856,
                                          moe_shared_expert_intermediate_size=3712, routed_scaling_factor=2.5),
    "GLM-4-9B-0414": sized("glm4", 40, 4096, 32, 13696, 151552, 32768, 2, head_dim=128, partial_rotary_factor=0.5),
    "StarCoder2-3B": sized("starcoder2", 30, 3072, 24, 12288, 49152, 16384, 2, True, sliding_window=4096, rope_theta=999999.4420358813),
    "TinyStarCoder-164M": {"model_type": "gpt_bigcode", "n_embd": 768, "n_layer": 20, "n_head": 12, "n_inner": 3072, "n_positions": 8192,
                           "vocab_size": 49152, "multi_query": True},
    "Falcon-7B": {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024,
                  "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False},
    "GPT-2": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257},
    "GPT-Neo-125M": {"model_type": "gpt_neo", "hidden_size": 768, "num_layers": 12, "num_heads": 12, "vocab_size": 50257, "window_size": 256,
                     "max_position_embeddings": 2048, "attention_types": [[["global", "local"], 6]]},
    "GPT-J-6B": {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048, "rotary_dim": 64, "vocab_size": 50400,
                 "tie_word_embeddings": False},
    "Pythia-410M": sized("gpt_neox", 24, 1024, 16, 4096, 50304, 2048, rotary_pct=0.25, rotary_emb_base=10000),
    "OPT-125M": {"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "ffn_dim": 3072, "vocab_size": 50272,
                 "word_embed_proj_dim": 768, "do_layer_norm_before": True},
    "OPT-350M": {"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272,
                 "word_embed_proj_dim": 512, "do_layer_norm_before": False},
    "BLOOM-560M": {"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880, "seq_length": 2048},
    "LFM2-350M": sized("lfm2", 16, 1024, 16, 6656, 65536, 128000, 8, True, layer_types=mixed(16, LFM2)),
    "LFM2-700M": sized("lfm2", 16, 1536, 24, 10240, 65536, 128000, 8, True, layer_types=mixed(16, LFM2)),
    "LFM2-1.2B": sized("lfm2", 16, 2048, 32, 12288, 65536, 128000, 8, True, layer_types=mixed(16, LFM2)),
    "Granite-4.0-H-350M": hybrid(32, 768, 12, 2048, 4, (10, 13, 17, 27)),
    "Granite-4.0-H-1B": hybrid(40, 1536, 12, 4096, 4, (5, 15, 25, 35)),
    "Granite-4.0-H-Micro": hybrid(40, 2048, 32, 8192, 8, (5, 15, 25, 35)),
    "Granite-4.0-H-Tiny": hybrid(40, 1536, 12, 512, 4, (5, 15, 25, 35), num_local_experts=64, num_experts_per_tok=6, shared_intermediate_size=1024),
    "Falcon-H1-0.5B": falcon_h1(36, 1024, 8, 2048, 32784, 16384, 24, head_dim=64, mamba_d_ssm=1536, mamba_d_head=64, mamba_d_state=128, mamba_rms_norm=False),
    "Falcon-H1-1.5B": falcon_h1(24, 2048, 8, 4608, 65537, 131072, 48, head_dim=128, mamba_d_ssm=3072, mamba_d_head=64, mamba_d_state=256, mamba_rms_norm=True),
    "Falcon-H1-7B": falcon_h1(44, 3072, 12, 12288, 130048, 262144, 24, head_dim=128, mamba_d_ssm=3072, mamba_d_head=128, mamba_d_state=256, mamba_rms_norm=True),
    "Mamba-130M": {"model_type": "mamba", "num_hidden_layers": 24, "hidden_size": 768, "vocab_size": 50280, "torch_dtype": "bfloat16"},
    "Jamba-Reasoning-3B": sized("jamba", 28, 2560, 20, 8192, 65536, 262144, 1, True, attn_layer_period=14, attn_layer_offset=7, num_experts=1, mamba_dt_rank=160),
    "Jamba-1.5-Mini": sized("jamba", 32, 4096, 32, 14336, 65536, 262144, 8, num_experts=16, num_experts_per_tok=2, mamba_dt_rank=256),
    "LFM2-8B-A1B": sized("lfm2_moe", 24, 2048, 32, 7168, 65536, 128000, 8, True, num_experts=32, num_experts_per_tok=4, moe_intermediate_size=1792,
                         num_dense_layers=2, layer_types=mixed(24, (2, 6, 10, 14, 18, 21))),
    "GLM-4.5-Air": sized("glm4_moe", 46, 4096, 96, 10944, 151552, 131072, 8, head_dim=128, partial_rotary_factor=0.5, rope_theta=1e6, attention_bias=True,
                         n_routed_experts=128, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=1408, first_k_dense_replace=1),
    "dots.llm1": sized("dots1", 62, 4096, 32, 10944, 152064, 32768, 32, rope_theta=1e7, n_routed_experts=128, n_shared_experts=2, num_experts_per_tok=6,
                       moe_intermediate_size=1408, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5),
    "Solar-Open-100B": sized("solar_open", 48, 4096, 64, 10240, 196608, 131072, 8, head_dim=128, rope_theta=1e6, n_routed_experts=128, n_shared_experts=1,
                             num_experts_per_tok=8, moe_intermediate_size=1280),
    "MiniMax-M2": sized("minimax_m2", 62, 3072, 48, 1536, 200064, 196608, 8, head_dim=128, rope_theta=5e6, rotary_dim=64, num_local_experts=256,
                        num_experts_per_tok=8),
    "K-EXAONE-236B-A23B": sized("exaone_moe", 48, 6144, 64, 18432, 153600, 262144, 8, head_dim=128, rope_theta=1e6, sliding_window=128, num_experts=128,
                                num_experts_per_tok=8, num_shared_experts=1, moe_intermediate_size=2048, routed_scaling_factor=2.5),
    "Hunyuan-A13B": sized("hunyuan_v1_moe", 32, 4096, 32, 3072, 128167, 32768, 8, True, head_dim=128, num_experts=64, moe_topk=8, rope_theta=10000.0, rope_scaling={
        "type": "dynamic", "alpha": 1000.0, "factor": 1.0}),
    "ERNIE-4.5-21B-A3B": sized("ernie4_5_moe", 28, 2560, 20, 12288, 103424, 131072, 4, True, rope_theta=500000.0, moe_num_experts=64, moe_k=6,
                               moe_num_shared_experts=2, moe_intermediate_size=1536),
    "Qwen3.5-0.8B, text": qwen35(24, 1024, 8, 3584, 2, 16, True),
    "Qwen3.5-4B, text": qwen35(32, 2560, 16, 9216, 4, 32, True),
    "Qwen3.5-9B, text": qwen35(32, 4096, 16, 12288, 4, 32),
    "Qwen3.5-35B-A3B, text": qwen35(40, 2048, 16, None, 2, 32, kind="qwen3_5_moe_text"),
    "Qwen3-Next-80B-A3B": qwen35(48, 2048, 16, 5120, 2, 32, kind="qwen3_next", vocab=151936),
}

ENCODERS = {
    "all-MiniLM-L6-v2": sized("bert", 6, 384, 12, 1536, 30522, 512),
    "multi-qa-distilbert-cos-v1": {"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522, "bos_token_id": 1,
                                   "max_position_embeddings": 512},
    "bge-base-en-v1.5": sized("bert", 12, 768, 12, 3072, 30522, 512),
    "bge-m3": sized("xlm-roberta", 24, 1024, 16, 4096, 250002, 8194, pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5),
    "all-mpnet-base-v2": sized("mpnet", 12, 768, 12, 3072, 30527, 514, pad_token_id=1, layer_norm_eps=1e-5),
    "ModernBERT-base": sized("modernbert", 22, 768, 12, 1152, 50368, 8192, pad_token_id=50283),
    "nomic-embed-text-v1.5": sized("nomic_bert", 12, 768, 12, 3072, 30528, 2048),
    "EmbeddingGemma-300M": sized("gemma3_text", 24, 768, 3, 1152, 262144, 2048, 1, True, use_bidirectional_attention=True, sliding_window=512, **GEMMA3),
    "ms-marco-electra-base": sized("electra", 12, 768, 12, 3072, 30522, 512, embedding_size=768),
    "gte-base-en-v1.5": sized("gte", 12, 768, 12, 3072, 30528, 8192, type_vocab_size=0, rope_theta=500000.0),
    "gte-multilingual-base": sized("gte", 12, 768, 12, 3072, 250048, 8192, type_vocab_size=1, rope_theta=20000.0),
    "mxbai-rerank-base-v1": sized("deberta-v2", 12, 768, 12, 3072, 128100, 512, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
                                  pos_att_type=["p2c", "c2p"], position_biased_input=False, max_relative_positions=-1, type_vocab_size=0),
    "jina-embeddings-v3": sized("jina_embeddings_v3", 24, 1024, 16, 4096, 250002, 8194, type_vocab_size=1, layer_norm_eps=1e-5),
    "EuroBERT-210m": sized("eurobert", 12, 768, 12, 3072, 128256, 8192, 12, rope_theta=250000.0),
    "ALBERT-Base-v2": sized("albert", 12, 768, 12, 3072, 30000, 512, embedding_size=128),
}



def answering(kind, layers, width, heads, ffn, vocab, **rest):
    return {
        "model_type": kind, "num_layers": layers, "num_decoder_layers": layers, "d_model": width, "num_heads": heads, "d_kv": 64, "d_ff": ffn, "vocab_size": vocab,
        "is_encoder_decoder": True, "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0,
    } | rest


def summarising(kind, layers, width, heads, ffn, vocab, positions, **rest):
    sizes = {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in (("layers", layers), ("attention_heads", heads), ("ffn_dim", ffn))}
    return {"model_type": kind, "d_model": width, "vocab_size": vocab, "max_position_embeddings": positions, "is_encoder_decoder": True, **sizes} | rest


GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
SEQ2SEQ = {
    "T5-Small": answering("t5", 6, 512, 8, 2048, 32128),
    "Flan-T5-Base": answering("t5", 12, 768, 12, 2048, 32128, **GATED),
    "Flan-T5-Large": answering("t5", 24, 1024, 16, 2816, 32128, **GATED),
    "mT5-Small": answering("mt5", 8, 512, 6, 1024, 250112, **GATED),
    "BART-Base": summarising("bart", 6, 768, 12, 3072, 50265, 1024),
    "BART-Large-CNN": summarising("bart", 12, 1024, 16, 4096, 50264, 1024),
    "Pegasus-XSum": summarising("pegasus", 16, 1024, 16, 4096, 96103, 512, scale_embedding=True, pad_token_id=0, eos_token_id=1),
    "mBART-Large-50": summarising("mbart", 12, 1024, 16, 4096, 250054, 1024, scale_embedding=True, activation_function="relu"),
}

def seeing(kind, text, vision, size, **rest):
    """A model that reads pictures, and the settings of its processor."""
    return {"model_type": kind, "text_config": text, "vision_config": vision, "tie_word_embeddings": text["tie_word_embeddings"], **rest}, size


TILES = {"patch_size": 16, "image_size": 512, "hidden_size": 768, "num_attention_heads": 12}
SIGLIP = {"patch_size": 14, "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
VISION = {
    "SmolVLM-256M": seeing("smolvlm", sized("llama", 30, 576, 9, 1536, 49280, 8192, 3, rope_theta=1e5), TILES, 512, scale_factor=4),
    "SmolVLM-500M": seeing("smolvlm", sized("llama", 32, 960, 15, 2560, 49280, 8192, 5, rope_theta=1e5), TILES, 512, scale_factor=4),
    "SmolVLM-2.2B": seeing("smolvlm", sized("llama", 24, 2048, 32, 8192, 49155, 8192, 32, rope_theta=1.3e5), SIGLIP | {"image_size": 384}, 384, scale_factor=3),
    "Gemma-3-4B": seeing("gemma3", SUPPORTED["Gemma-3-4B, text"], SIGLIP | {"image_size": 896, "model_type": "siglip_vision_model", "vision_use_head": False}, 896),
}


def processor(kind, size):
    """The settings of an image processor."""
    if kind == "gemma3":
        return {"size": {"height": size, "width": size}}
    return {"size": {"longest_edge": 4 * size}, "max_image_size": {"longest_edge": size}}


REFUSED = {
    "DeepSeek-V3.2": {"model_type": "deepseek_v32"},
    "Llama-4-Scout": {"model_type": "llama4"},
    "Llama-3.2-11B-Vision": {"model_type": "mllama"},
    "Qwen3-VL-30B-A3B": {"model_type": "qwen3_vl_moe"},
    "RWKV-4-169M": {"model_type": "rwkv"},
    "LED-Base": {"model_type": "led"},
    "DeBERTa-Base": {"model_type": "deberta"},
    "EmbeddingGemma-2": {"model_type": "embedding_gemma2"},
}


def tensors(config):
    """Names, in which * is the number of a layer, to how many there are and their shape."""
    config = dict(config)
    if config["model_type"] == "minicpm":  # is not in transformers; its tensors have Llama's names
        config["model_type"] = "llama"
    kind, auto = config["model_type"], AutoModelForCausalLM
    if config in ENCODERS.values():
        auto = AutoModel
    elif config in SEQ2SEQ.values():
        auto = AutoModelForSeq2SeqLM
    elif "vision_config" in config:
        auto = AutoModelForImageTextToText
    with torch.device("meta"):
        described = AutoConfig.for_model(config.pop("model_type"), **config)
        model = auto.from_config(described)
    found = {}
    corrections = [(name, b) for name, b in model.named_buffers() if name.endswith((".expert_bias", "e_score_correction_bias", ".act_fn.beta", ".act_fn.eps"))]
    for name, p in [*model.named_parameters(), *corrections]:
        if name.startswith("pooler."):
            continue  # of classifiers
        if kind == "pegasus" and "embed_positions" in name:
            continue  # computed
        if kind == "granitemoehybrid":  # as files have them
            name = name.replace("experts.gate_up_proj", "input_linear.weight").replace("experts.down_proj", "output_linear.weight")
        name = name.replace(".gate.moe_statics.", ".moe_statics.")  # the same
        if ".attn_norm." not in name and not kind.startswith(("albert", "lfm2", "granitemoehybrid", "qwen3_5", "qwen3_next", "glm4_moe", "dots1", "ernie4_5_moe", "exaone_moe", "deepseek_v2", "nemotron_h", "jamba")):  # whose layers differ
            name = re.sub(r"\.[0-9]+\.", ".*.", name, count=1 if auto is AutoModelForSeq2SeqLM else 0)
        count, shape = found.get(name, (0, list(p.shape)))
        assert shape == list(p.shape), name
        found[name] = (count + 1, shape)
    if auto is AutoModelForSeq2SeqLM and not config.get("tie_word_embeddings", True):  # transformers ties it until it reads a file
        found["lm_head.weight"] = (1, [config["vocab_size"], config["d_model"]])
    return found


def sizes():
    transformers.utils.logging.set_verbosity_error()
    rows = [{"name": n, "config": c, "tensors": tensors(c)} for n, c in (SUPPORTED | ENCODERS | SEQ2SEQ).items()]
    rows += [{"name": n, "config": c, "processor": processor(c["model_type"], size), "tensors": tensors(c)} for n, (c, size) in VISION.items()]
    rows += [{"name": n, "config": c} for n, c in REFUSED.items()]
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    (pathlib.Path(__file__).parent / "sizes.json").write_text(text)
