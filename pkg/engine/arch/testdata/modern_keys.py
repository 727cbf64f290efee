"""GGUF's keys of the decoders of modern.py, as llama.cpp's converter writes them."""

import gguf
import numpy as np
import torch

MODERN = (
    "qwen2", "qwen3", "mistral", "phi3", "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "smollm3", "olmo", "olmo2", "olmo3", "granite",
    "stablelm", "falcon", "bloom", "cohere", "cohere2", "phi", "gpt_bigcode", "starcoder2", "glm4", "exaone4", "arcee", "nemotron",
    "ernie4_5", "seed_oss", "internlm3", "minicpm", "mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "granitemoeshared", "gpt_oss",
    "lfm2", "lfm2_moe", "granitemoehybrid", "falcon_h1", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "ministral3", "hunyuan_v1_dense", "apertus",
    "glm4_moe", "dots1", "hunyuan_v1_moe", "ernie4_5_moe", "solar_open", "minimax_m2", "exaone_moe",
    "jais2", "afmoe",
)


LATENT = ("minicpm3", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "youtu")


def add_latent(writer, config):
    """The keys of latent attention; those of older files, if the model's is not split."""
    writer.add_vocab_size(config.vocab_size)
    writer.add_feed_forward_length(config.intermediate_size)
    add_norm(writer, config)
    writer.add_kv_lora_rank(config.kv_lora_rank)
    if config.q_lora_rank:
        writer.add_q_lora_rank(config.q_lora_rank)
    split = getattr(config, "split", False)
    writer.add_head_count_kv(1 if split else config.num_attention_heads)
    writer.add_key_length(config.qk_rope_head_dim + (config.kv_lora_rank if split else config.qk_nope_head_dim))
    if config.model_type == "minicpm3":  # whose files do not say more
        writer.add_rope_dimension_count(config.qk_rope_head_dim)
        return
    writer.add_value_length(config.kv_lora_rank if split else config.v_head_dim)
    if split:
        writer.add_key_length_mla(config.qk_nope_head_dim + config.qk_rope_head_dim)
        writer.add_value_length_mla(config.v_head_dim)
    rope = config.rope_parameters
    add_rope(writer, config, config.qk_rope_head_dim)
    if "mscale_all_dim" in rope:
        writer.kv_data[0].pop(f"{writer.arch}.rope.scaling.yarn_log_multiplier")
        writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    sparse = config.model_type != "youtu"
    writer.add_leading_dense_block_count(getattr(config, "first_k_dense_replace", 1) if sparse else config.num_hidden_layers)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size if sparse else config.intermediate_size)
    writer.add_expert_shared_count(config.n_shared_experts if sparse else 0)
    if not sparse:
        return
    writer.add_expert_count(config.n_routed_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    if config.norm_topk_prob:
        writer.add_expert_weights_norm(True)
    if config.model_type != "deepseek_v2":  # whose older files do not say it
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if config.n_group:
        writer.add_expert_group_count(config.n_group)
        writer.add_expert_group_used_count(config.topk_group)
    if n := drafts(config):
        writer.add_nextn_predict_layers(n)


def add(writer, config):
    writer.add_vocab_size(config.vocab_size)
    if config.model_type == "gemma4_text":
        add_gemma4(writer, config)
        return
    if config.model_type == "gemma3n_text":
        add_gemma3n(writer, config)
        return
    ffn = adjusted(config) or dense(config) or getattr(config, "intermediate_size", None) or getattr(config, "ffn_hidden_size", None) or 4 * config.hidden_size
    if config.model_type != "qwen3_5_moe_text":
        writer.add_feed_forward_length(ffn)
    add_norm(writer, config)
    if config.model_type == "gpt_bigcode":
        writer.add_head_count_kv(1)
    if config.model_type in ("bloom", "gpt_bigcode"):
        return
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_head_count_kv(kv_heads(config))
    if config.model_type not in ("falcon", "lfm2", "lfm2_moe", "granitemoehybrid"):
        writer.add_key_length(dim)
        writer.add_value_length(dim)
    add_rope(writer, config, dim)
    add_windows(writer, config)
    add_experts(writer, config)
    add_convolutions(writer, config)
    add_states(writer, config)
    add_deltas(writer, config)
    if config.model_type in ("granite", "granitemoe", "granitemoeshared", "granitemoehybrid"):
        writer.add_attention_scale(config.attention_multiplier)
    if config.model_type in ("granite", "minicpm", "granitemoe", "granitemoeshared", "granitemoehybrid"):
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if config.model_type in ("cohere", "cohere2"):
        writer.add_logit_scale(config.logit_scale)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    for key, values in getattr(config, "xielu", {}).items():
        getattr(writer, "add_xielu_" + key)(values)
    if config.model_type == "stablelm":
        writer.add_parallel_residual(config.use_parallel_residual)


def add_gemma4(writer, config):
    """The keys of Gemma 4, some of which are lists of a value for each layer."""
    depth, own = config.num_hidden_layers, config.per_layer_config
    local = [kind == "sliding_attention" for kind in config.layer_types]
    ffn, (dim, narrow) = config.intermediate_size, (own[local.index(kind)].head_dim for kind in (False, True))
    wide = [config.use_double_wide_mlp and i >= depth - config.num_kv_shared_layers for i in range(depth)]
    keys = [own[i].num_key_value_heads for i in range(depth)]
    rope = config.rope_parameters
    writer.add_feed_forward_length([2 * ffn if w else ffn for w in wide] if any(wide) else ffn)
    writer.add_head_count_kv(keys if len(set(keys)) > 1 else keys[0])
    add_norm(writer, config)
    writer.add_rope_freq_base(rope["full_attention"]["rope_theta"])
    writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
    for suffix, width in (("", dim), ("_swa", narrow)):
        for key in ("key_length", "value_length", "rope_dimension_count"):
            getattr(writer, f"add_{key}{suffix}")(width)
    writer.add_sliding_window(config.sliding_window)
    writer.add_sliding_window_pattern(local)
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    if config.enable_moe_block:
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.top_k_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if config.final_logit_softcapping:
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def add_gemma3n(writer, config):
    """The keys of Gemma 3n, with the standard deviations at which gates are cut off."""
    normal, ffn = torch.distributions.normal.Normal(0, 1), config.intermediate_size
    writer.add_feed_forward_length(ffn)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    add_norm(writer, config)
    writer.add_rope_freq_base(config.rope_parameters["full_attention"]["rope_theta"])
    writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
    writer.add_sliding_window(config.sliding_window)
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    writer.add_altup_num_inputs(config.altup_num_inputs)
    writer.add_altup_active_idx(config.altup_active_idx)
    writer.add_activation_sparsity_scale([normal.icdf(torch.tensor(s, dtype=torch.float32)).item() for s in config.activation_sparsity_pattern])
    writer.add_final_logit_softcapping(config.final_logit_softcapping)


def add_experts(writer, config):
    used = getattr(config, "num_experts_per_tok", 0)
    if config.model_type == "minimax_m2":
        writer.add_expert_feed_forward_length(config.intermediate_size)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if config.model_type in ("glm4_moe", "dots1", "solar_open", "exaone_moe"):
        writer.add_leading_dense_block_count(getattr(config, "first_k_dense_replace", 0))
        writer.add_expert_shared_count(getattr(config, "num_shared_experts", None) or config.n_shared_experts)
        writer.add_expert_weights_scale(config.routed_scaling_factor)
        writer.add_expert_weights_norm(config.norm_topk_prob)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        if n := drafts(config):
            writer.add_nextn_predict_layers(n)
    if config.model_type == "afmoe":
        writer.add_leading_dense_block_count(config.num_dense_layers)
        writer.add_expert_shared_count(config.num_shared_experts)
        writer.add_expert_weights_scale(config.route_scale)
        writer.add_expert_weights_norm(True)
    if config.model_type == "ernie4_5_moe":
        writer.add_leading_dense_block_count(config.moe_layer_start_index)
        writer.add_interleave_moe_layer_step(config.moe_layer_interval)
        writer.add_expert_shared_feed_forward_length(config.moe_intermediate_size * config.moe_num_shared_experts)
    if not used or not config.model_type.endswith(("moe", "dots1", "solar_open", "minimax_m2", "moeshared", "mixtral", "gpt_oss", "hybrid", "moe_text", "next")):
        return
    writer.add_expert_count(getattr(config, "num_experts", None) or config.num_local_experts)
    writer.add_expert_used_count(used)
    if config.model_type == "hunyuan_v1_moe":
        writer.add_expert_feed_forward_length(config.intermediate_size)
        writer.add_expert_shared_feed_forward_length(config.intermediate_size)
    if hasattr(config, "moe_intermediate_size"):
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if shared := getattr(config, "shared_expert_intermediate_size", 0) or getattr(config, "shared_intermediate_size", 0):
        writer.add_expert_shared_feed_forward_length(shared)


def add_convolutions(writer, config):
    if not config.model_type.startswith("lfm2"):
        return
    writer.add_shortconv_l_cache(config.conv_L_cache)
    if config.model_type == "lfm2_moe":
        writer.add_leading_dense_block_count(config.num_dense_layers)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def add_states(writer, config):
    if config.model_type not in ("granitemoehybrid", "falcon_h1"):
        return
    writer.add_ssm_conv_kernel(config.mamba_d_conv)
    writer.add_ssm_state_size(config.mamba_d_state)
    writer.add_ssm_group_count(config.mamba_n_groups)
    writer.add_ssm_inner_size(getattr(config, "mamba_d_ssm", None) or config.mamba_expand * config.hidden_size)
    writer.add_ssm_time_step_rank(config.mamba_n_heads)
    if config.model_type == "granitemoehybrid":
        writer.add_rope_scaling_finetuned(config.position_embedding_type == "rope")


def drafts(config):
    """The number of layers that draft tokens."""
    return 1 if config.model_type in ("qwen3_5_text", "glm4_moe", "glm4_moe_lite") or config.model_type == "nemotron_h" and "moe" in config.layer_types else 0


def add_deltas(writer, config):
    if not config.model_type.startswith(("qwen3_5", "qwen3_next")):
        return
    writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
    writer.add_ssm_state_size(config.linear_key_head_dim)
    writer.add_ssm_group_count(config.linear_num_key_heads)
    writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
    writer.add_ssm_time_step_rank(config.linear_num_value_heads)
    writer.add_full_attention_interval(4)
    recurrent = [kind == "linear_attention" for kind in config.layer_types]
    if recurrent != [(i + 1) % 4 > 0 for i in range(len(recurrent))]:
        writer.add_array(f"{writer.arch}.attention.recurrent_layers", recurrent)
    if n := drafts(config):
        writer.add_nextn_predict_layers(n)


def add_mamba(writer, config):
    """The keys of Mamba, Mamba 2 and Jamba."""
    kind, jamba = config.model_type, config.model_type == "jamba"
    writer.add_feed_forward_length(config.intermediate_size if jamba else 0)
    writer.add_head_count(config.num_attention_heads if jamba else 0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps if jamba else config.layer_norm_epsilon)
    writer.add_ssm_conv_kernel(config.mamba_d_conv if jamba else config.conv_kernel)
    writer.add_ssm_state_size(config.mamba_d_state if jamba else config.state_size)
    if kind == "mamba2":
        writer.add_ssm_group_count(config.n_groups)
        writer.add_ssm_time_step_rank(config.num_heads)
    else:
        writer.add_ssm_time_step_rank(config.mamba_dt_rank if jamba else config.time_step_rank)
    writer.add_ssm_inner_size(config.intermediate_size if kind.endswith("mamba") else (config.mamba_expand if jamba else config.expand) * config.hidden_size)
    if kind.endswith("mamba"):
        writer.add_ssm_dt_b_c_rms(kind == "falcon_mamba")
    if jamba:
        writer.add_head_count_kv([config.num_key_value_heads if t == "full_attention" else 0 for t in config.layer_types])
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)


def add_nemotron_h(writer, config):
    """The keys of Nemotron-H, some of which are lists of a value for each layer, also for one that drafts."""
    types, experts = config.layer_types + ["moe"] * drafts(config), "moe" in config.layer_types
    ffn = config.moe_intermediate_size if experts else config.intermediate_size
    writer.add_vocab_size(config.vocab_size)
    writer.add_feed_forward_length([ffn if kind in ("mlp", "moe") else 0 for kind in types])
    writer.add_head_count_kv([config.num_key_value_heads if kind == "full_attention" else 0 for kind in types])
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_scaling_finetuned(False)
    writer.add_ssm_conv_kernel(config.conv_kernel)
    writer.add_ssm_state_size(config.ssm_state_size)
    writer.add_ssm_group_count(config.n_groups)
    writer.add_ssm_inner_size(config.mamba_num_heads * config.mamba_head_dim)
    writer.add_ssm_time_step_rank(config.mamba_num_heads)
    if not experts:
        return
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    writer.add_expert_shared_feed_forward_length(config.moe_shared_expert_intermediate_size)
    writer.add_expert_count(config.n_routed_experts)
    writer.add_expert_shared_count(config.n_shared_experts)
    writer.add_expert_weights_norm(config.norm_topk_prob)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    writer.add_expert_group_count(config.n_group)
    writer.add_nextn_predict_layers(drafts(config))


def dense(config):
    """The width of the feed-forward block of a hybrid model without experts; None of others."""
    return config.shared_intermediate_size if config.model_type == "granitemoehybrid" and not config.num_local_experts else None


def adjusted(config):
    """The width of LFM2's feed-forward block; None of others."""
    if not getattr(config, "block_auto_adjust_ff_dim", False):
        return None
    width, step = int(config.block_ffn_dim_multiplier * int(2 * config.intermediate_size / 3)), config.block_multiple_of
    return step * ((width + step - 1) // step)


def kv_heads(config):
    if config.model_type.startswith("lfm2") or config.model_type == "granitemoehybrid":
        return [0 if kind in ("conv", "linear_attention", "mamba") else config.num_key_value_heads for kind in config.layer_types]
    if config.model_type != "falcon":
        return config.num_key_value_heads
    return config.num_kv_heads if config.new_decoder_architecture else 1


def add_norm(writer, config):
    for key in ("rms_norm_eps", "norm_eps"):
        if hasattr(config, key) and (key == "rms_norm_eps" or config.model_type.startswith("lfm2")):
            writer.add_layer_norm_rms_eps(getattr(config, key))
            return
    names = ("layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps")
    writer.add_layer_norm_eps(next((getattr(config, n) for n in names if hasattr(config, n)), 1e-5))


def add_rope(writer, config, dim):
    rope = config.rope_parameters
    if "full_attention" in rope:
        window, rope = rope["sliding_attention"], rope["full_attention"]
        writer.add_rope_freq_base_swa(window["rope_theta"])
    writer.add_rope_freq_base(rope["rope_theta"] * rope.get("alpha", 1) ** (dim / (dim - 2)))  # HunYuan's alpha is in the base
    writer.add_rope_dimension_count(int(dim * rope.get("partial_rotary_factor", 1)))
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if "beta_fast" in rope:
            writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
            writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        if "mscale_all_dim" in rope:
            writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        if "llama_4_scaling_beta" in rope:
            writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        scale = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(scale) / np.log(original))))


def add_windows(writer, config):
    if config.model_type in ("mistral", "mixtral", "gpt_oss", "phi3", "gemma2", "gemma3_text", "olmo3", "cohere2", "starcoder2", "exaone4", "exaone_moe", "afmoe") and config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    if config.model_type in ("olmo3", "exaone4", "exaone_moe", "afmoe"):
        writer.add_sliding_window_pattern([t == "sliding_attention" for t in config.layer_types])
