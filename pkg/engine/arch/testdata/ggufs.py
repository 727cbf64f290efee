"""GGUF files of the same weights, as llama.cpp's converter lays them out, and goldens of
what transformers reads from them."""

import json
import re

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from gguf import quants
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, GraniteConfig, GraniteForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

import common
import modern_keys
import vocabularies
from common import HERE, check_logits, close, directory, write
from decoders import END, KEPT, experts, forward

LLAMA = ["<|begin_of_text|>", "<|end_of_text|>", *(f"<|reserved_special_token_{i}|>" for i in range(2)),
         "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
         "<|eot_id|>", *(f"<|reserved_special_token_{i}|>" for i in range(2, 8))]
FILE_TYPES = {Type.F32: 0, Type.F16: 1, Type.Q4_0: 2, Type.Q8_0: 7, Type.Q4_K: 15, Type.BF16: 32}


def permuted(w, heads):
    """Rows of queries or keys as interleaved rotation wants them."""
    return w.reshape(heads, 2, -1, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def regrouped(w, heads):
    """Rows of each head's query, key and value as all queries, all keys, all values."""
    return w.reshape(heads, 3, -1, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)


STEPS = ("mamba", "falcon_mamba", "jamba")  # whose inputs have steps of their own
PERMUTED = ("llama", "mistral", "mixtral", "granite", "granitemoe", "granitemoeshared", "smollm3", "olmo", "arcee", "internlm3", "minicpm", "granitemoehybrid",
            "ministral3")


def grouped(w, queries, keys):
    """Rows of each group's queries, key and value as all queries, all keys, all values."""
    w = w.reshape(keys, queries // keys + 2, -1, *w.shape[1:])
    return np.concatenate([x.reshape(-1, *w.shape[3:]) for x in (w[:, :-2], w[:, -2:-1], w[:, -1:])])


def transform(config, name, w):
    if config.model_type in PERMUTED and ".q_proj." in name:
        return permuted(w, config.num_attention_heads)
    if config.model_type in PERMUTED and ".k_proj." in name:
        return permuted(w, config.num_key_value_heads)
    if (config.model_type.startswith("gemma") and config.model_type not in ("gemma3n_text", "gemma4_text") or config.model_type == "nemotron") and name.endswith("norm.weight"):
        return w + 1
    if config.model_type.startswith(("qwen3_5", "qwen3_next")):
        return delta(config, name, w)
    if config.model_type == "falcon" and ".query_key_value." in name:
        newer = config.new_decoder_architecture
        return grouped(w, config.num_attention_heads, config.num_kv_heads if newer else 1)
    if config.model_type == "bloom" and ".query_key_value." in name:
        return grouped(w, config.n_head, config.n_head)
    if config.model_type == "gpt_neox" and ".query_key_value." in name:
        return regrouped(w, config.num_attention_heads)
    if config.model_type == "gpt2" and ".c_" in name and w.ndim == 2:
        return w.T
    if name.endswith(("conv.conv.weight", "mamba.conv1d.weight", "mixer.conv1d.weight")):
        return w.squeeze(1)
    if name.endswith(".A_log"):
        return -np.exp(w) if w.ndim == 2 else -np.exp(w)[:, None]
    if name.endswith((".mamba.D", ".mixer.D")) and config.model_type not in STEPS:
        return w[:, None]
    if name.endswith((".mamba.norm.weight", ".mixer.norm.weight")):
        return w.reshape(config.n_groups if config.model_type in ("mamba2", "nemotron_h") else config.mamba_n_groups, -1)
    if config.model_type == "falcon_h1":
        return w * factor(config, name)
    return w


def delta(config, name, w):
    """The heads of Qwen3.5's delta rules in an order in which they have their keys in turn; Qwen3-Next's remain."""
    if name.endswith("norm.weight"):
        return w if name.endswith("linear_attn.norm.weight") else w + 1
    if ".linear_attn." in name and config.model_type.startswith("qwen3_5"):
        keys, heads, dim = config.linear_num_key_heads, config.linear_num_value_heads, config.linear_value_head_dim
        each = dim if ".in_proj_qkv." in name or ".in_proj_z." in name or ".conv1d." in name or ".out_proj." in name else 1
        order = np.arange(heads * each).reshape(keys, heads // keys, each).swapaxes(0, 1).ravel()
        first = 2 * keys * config.linear_key_head_dim if ".in_proj_qkv." in name or ".conv1d." in name else 0
        w = w[:, order] if ".out_proj." in name else np.concatenate([w[:first], w[first:][order]])
    if name.endswith(".A_log"):
        return -np.exp(w)
    return w.squeeze(1) if name.endswith("conv1d.weight") else w


def divided(config, name, w):
    """The rows of queries, keys and values of all heads, and those of the gates, of Qwen3-Next's matrix of both."""
    keys, dim, values = config.linear_num_key_heads, config.linear_key_head_dim, config.linear_num_value_heads * config.linear_value_head_dim
    parts = np.split(w.reshape(keys, -1, w.shape[-1]), np.cumsum([dim, dim, values // keys]), axis=1)
    q, k, v, z = (np.ascontiguousarray(p.reshape(-1, w.shape[-1])) for p in parts)
    block = f"blk.{name.split('.')[2]}."
    return {block + "attn_qkv.weight": np.concatenate([q, k, v]), block + "attn_gate.weight": z}


def factor(config, name):
    """What the converter multiplies a matrix of Falcon-H1 by: one number, or one of each row."""
    if name.endswith("in_proj.weight"):
        shared = config.mamba_n_groups * config.mamba_d_state
        sizes = [config.mamba_d_ssm, config.mamba_d_ssm, shared, shared, config.mamba_n_heads]
        return config.ssm_in_multiplier * np.repeat(np.float32(config.ssm_multipliers), sizes)[:, None]
    into, (gate, down) = config.attention_in_multiplier, config.mlp_multipliers
    return np.float32({
        "q_proj": into, "k_proj": into * config.key_multiplier, "v_proj": into, "o_proj": config.attention_out_multiplier, "out_proj": config.ssm_out_multiplier,
        "gate_proj": gate, "down_proj": down, "embed_tokens": config.embedding_multiplier, "lm_head": config.lm_head_multiplier,
    }.get(name.split(".")[-2], 1))


def tensors(model, arch):
    """GGUF's names and values of the model's parameters."""
    names = gguf.get_tensor_name_map(arch, model.config.num_hidden_layers)
    out, stacks = {}, {}
    for name, p in model.named_parameters():
        if ".act_fn." in name or name.endswith(("e_score_correction_bias", "mlp.expert_bias")):  # Apertus: keys; corrections
            continue
        if found := re.fullmatch(r"model\.altup_(unembed_)?projections\.\d+\.weight", name):  # Gemma 3n: all of a direction are one tensor
            stacks.setdefault(f"model.altup_{found[1] or ''}projections.weight", []).append(p.detach().numpy())
            continue
        if ".norms." in name:  # StableLM: the norms of a layer's heads are one tensor
            stack = name.split(".norms.")[0] + ".weight"
            stacks.setdefault(stack, []).append(p.detach().numpy())
            continue
        w = transform(model.config, name, p.detach().numpy())
        if name.endswith("kv_b_proj.weight") and getattr(model.config, "split", False):
            out |= heads(model.config, f"blk.{name.split('.')[2]}.", w)
            continue
        if name.endswith(".sinks"):
            out[f"blk.{name.split('.')[2]}.attn_sinks.weight"] = w
            continue
        if name.endswith("in_proj_qkvz.weight"):
            out |= divided(model.config, name, w)
            continue
        if model.config.model_type == "nemotron_h":
            name = backbone(name)
        name = name.replace(".dt_bias", ".dt_proj.bias")
        if name.endswith(("router.scale", "router.per_expert_scale")):
            part = "ffn_gate_inp" if name.endswith("router.scale") else "ffn_down_exps"
            out[f"blk.{name.split('.')[2]}.{part}.scale"] = w
            continue
        if model.config.model_type == "gemma4_text" and ".experts." in name or name.endswith(".altup.correct_output_scale"):
            name += ".weight"
        elif matrices := expert_matrices(name, w, model.config.model_type == "gpt_oss"):
            if not getattr(model.config, "num_local_experts", 1):  # Granite 4 without experts
                matrices = {key.replace("_shexp", ""): value for key, value in matrices.items()}
            out |= matrices
            continue
        if model.config.model_type == "bloom":
            name = name.removeprefix("transformer.")
        out[names.get_name(name, try_suffixes=(".weight", ".bias"))] = np.ascontiguousarray(w)
    for name, rows in stacks.items():
        out[names.get_name(name, try_suffixes=(".weight", ".bias"))] = np.stack(rows)
    return out


def backbone(name):
    """A name of Nemotron-H as the converter maps it."""
    experts = re.fullmatch(r"model\.layers\.(\d+)\.mixer\.(experts\.\w+)", name)
    return f"model.layers.{experts[1]}.mlp.{experts[2]}.weight" if experts else name.replace("model.", "backbone.", 1)


def heads(config, block, w):
    """The matrices of keys, transposed, and of values of all heads."""
    k, v = np.split(w.reshape(config.num_attention_heads, -1, w.shape[1]), [config.qk_nope_head_dim], axis=1)
    return {block + "attn_k_b.weight": np.ascontiguousarray(k.swapaxes(1, 2)), block + "attn_v_b.weight": np.ascontiguousarray(v)}


def gpt_oss_matrices(block, kind, w):
    """GPT-OSS' matrices are (in, out), and the columns of gate and up are in turn."""
    if kind.startswith("router"):
        return {block + "ffn_gate_inp." + kind.removeprefix("router."): np.ascontiguousarray(w)}
    end = "bias" if kind.endswith("_bias") else "weight"
    w = w if end == "bias" else w.swapaxes(1, 2)
    if "down" in kind:
        return {f"{block}ffn_down_exps.{end}": np.ascontiguousarray(w)}
    return {f"{block}ffn_{part}_exps.{end}": np.ascontiguousarray(w[:, i::2]) for i, part in enumerate(("gate", "up"))}


def expert_matrices(name, w, sinks=False):
    """GGUF's names and values of a parameter of experts; None of another one."""
    if found := re.fullmatch(r"model\.layers\.(\d+)\.mlp\.(router\.bias|experts\.gate_up_proj|experts\.gate_up_proj_bias|experts\.down_proj|"
                             r"experts\.down_proj_bias|router\.weight)", name) if sinks else None:
        return gpt_oss_matrices(f"blk.{found[1]}.", found[2], w)
    name = name.replace(".wg.weight", ".weight")
    found = re.fullmatch(r"model\.layers\.(\d+)\.(?:\w+\.)?(experts\.gate_up_proj|experts\.down_proj|router\.weight|shared_mlp\.input_linear\.weight"
                         r"|shared_mlp\.output_linear\.weight|shared_expert_gate\.weight)", name)
    if not found:
        return None
    block, kind = f"blk.{found[1]}.", found[2]
    if kind == "router.weight":
        return {block + "ffn_gate_inp.weight": np.ascontiguousarray(w)}
    if kind == "shared_expert_gate.weight":
        return {block + "ffn_gate_inp_shexp.weight": np.ascontiguousarray(w[0])}
    end = "exps" if kind.startswith("experts") else "shexp"
    if "down" in kind or "output" in kind:
        return {f"{block}ffn_down_{end}.weight": np.ascontiguousarray(w)}
    gate, up = np.split(w, 2, axis=-2)
    return {f"{block}ffn_gate_{end}.weight": np.ascontiguousarray(gate), f"{block}ffn_up_{end}.weight": np.ascontiguousarray(up)}


def add_keys(writer, config):
    writer.add_context_length(getattr(config, "max_position_embeddings", 128))
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers + modern_keys.drafts(config))
    if config.model_type.endswith(("mamba", "mamba2", "jamba")):
        modern_keys.add_mamba(writer, config)
        return
    writer.add_head_count(config.num_attention_heads)
    if config.model_type == "nemotron_h":
        modern_keys.add_nemotron_h(writer, config)
        return
    if config.model_type in modern_keys.LATENT:
        modern_keys.add_latent(writer, config)
        return
    if config.model_type in modern_keys.MODERN:
        modern_keys.add(writer, config)
        return
    if config.model_type == "llama":
        add_llama_keys(writer, config)
        return
    if config.is_encoder_decoder:
        add_t5_keys(writer, config)
        return
    if config.model_type == "gpt2":
        writer.add_feed_forward_length(config.n_inner or 4 * config.n_embd)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    rope = config.rope_parameters
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * config.hidden_size // config.num_attention_heads))
    writer.add_parallel_residual(config.use_parallel_residual)


def add_llama_keys(writer, config):
    rope = config.rope_parameters
    writer.add_vocab_size(config.vocab_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])


def add_t5_keys(writer, config):
    writer.add_decoder_block_count(config.num_decoder_layers)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_key_length(config.d_kv)
    writer.add_value_length(config.d_kv)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
    writer.add_decoder_start_token_id(config.decoder_start_token_id)


def add_unigrams(writer, unigrams, rows):
    """T5's tokenizer in the keys; what the vocabulary has more is unused."""
    tokens = [*unigrams, *((f"[PAD{i}]", -1000.0, "UNUSED") for i in range(len(unigrams), rows))]
    names, scores, kinds = zip(*tokens)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(names)
    writer.add_token_scores(scores)
    writer.add_token_types([getattr(gguf.TokenType, k) for k in kinds])
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)


def add_bytes(writer, count, rows, pre, end, first):
    """A byte-level tokenizer in the keys."""
    vocab, merges = vocabularies.vocabulary(count)
    tokens = [END, *vocab] if first else [*vocab, END]
    assert len(tokens) == rows and tokens[end] == END
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t == END else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges(list(map(" ".join, merges)))
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)


def add_pieces(writer, count, rows, specials, bos, eos):
    """A sentencepiece tokenizer in the keys."""
    tokens = [*vocabularies.pieces(count), *((s, 0.0, "CONTROL") for s in specials)]
    assert len(tokens) == rows
    names, scores, kinds = zip(*tokens)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(names)
    writer.add_token_scores(scores)
    writer.add_token_types([getattr(gguf.TokenType, k) for k in kinds])
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(eos)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


def add_letters(writer, rows):
    """A sentencepiece tokenizer of single characters in the keys."""
    tokens = ["<unk>", "<s>", "</s>", "\u2581", *map(chr, range(48, 48 + rows - 4))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (rows - 3)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(rows)])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def add_spaced(writer, spaced, rows):
    """Gemma 4's tokenizer in the keys."""
    tokens, merges = spaced
    assert len(tokens) == rows
    writer.add_tokenizer_model("gemma4")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * rows)
    control = vocabularies.SPACED
    writer.add_token_types([gguf.TokenType.CONTROL if t in control else gguf.TokenType.BYTE if t.startswith("<0x") else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges(list(map(" ".join, merges)))
    for key in ("pad", "eos", "bos", "unk"):
        getattr(writer, f"add_{key}_token_id")(tokens.index(f"<{key}>"))
    writer.add_add_space_prefix(False)
    writer.add_add_bos_token(True)


def factors(model):
    """What the model's frequencies are smaller by than without scaling."""
    rotary = model.model.rotary_emb
    plain, _ = rotary.compute_default_rope_parameters(model.config)
    return (plain / rotary.inv_freq).numpy()


def stored(values, kind):
    if kind == Type.F32 or values.ndim == 1:
        return values, Type.F32
    return quants.quantize(values, kind), kind


def file(name, arch, config, values, kinds, tokenizer, file_type):
    """values are float32 arrays, or blocks of the kind that kinds has for them."""
    path = directory(name)
    writer = gguf.GGUFWriter(path / "model.gguf", gguf.MODEL_ARCH_NAMES[arch])
    writer.add_name(name)
    add_keys(writer, config)
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    add = add_pieces if "specials" in tokenizer else add_spaced if "spaced" in tokenizer else add_bytes if "pre" in tokenizer else add_unigrams if "unigrams" in tokenizer else add_letters
    add(writer, **tokenizer)
    for key, w in values.items():
        writer.add_tensor(key, w, raw_dtype=kinds[key])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read(path, model):
    """The model with the file's weights, by transformers' reader."""
    got = load_gguf_checkpoint(str(path / "model.gguf"), return_tensors=True, model_to_load=model, torch_dtype=torch.float32)
    read = type(model)(model.config).eval()
    left = read.load_state_dict(got["tensors"], strict=False)
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if model.config.is_encoder_decoder:
        tied |= {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    assert not left.unexpected_keys and set(left.missing_keys) <= tied, left
    read.tie_weights()
    return read


def unbiased(source):
    """The model of a directory without its biases."""
    config = AutoConfig.from_pretrained(HERE / source)
    config.attention_bias = False
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model.load_state_dict({name: w for name, w in load_file(HERE / source / "model.safetensors").items() if not name.endswith(".bias")})
    return model


def proportional(model):
    """The numbers that the layers of Gemma 4 end with, and what frequencies of full attention are divided by."""
    config, found = model.config, model.model.rotary_emb.full_attention_inv_freq
    pairs = len(found)
    plain = 1 / config.rope_parameters["full_attention"]["rope_theta"] ** (torch.arange(pairs) / pairs)
    ends = {f"blk.{name.split('.')[2]}.layer_output_scale.weight": b.numpy() for name, b in model.named_buffers() if name.endswith("layer_scalar")}
    return ends | {"rope_freqs.weight": torch.where(found > 0, plain / found, 1e30).numpy()}


def minicpm(source):
    """The model of a directory of MiniCPM, which Granite's class computes."""
    config = json.loads((HERE / source / "config.json").read_text())
    depth, width = config["num_hidden_layers"], config["hidden_size"]
    config |= {"embedding_multiplier": config["scale_emb"], "residual_multiplier": config["scale_depth"] / depth**0.5,
               "attention_multiplier": (width / config["num_attention_heads"])**-0.5, "logits_scaling": width / config["dim_model_base"]}
    config.pop("model_type")
    model = GraniteForCausalLM(GraniteConfig(**config, attn_implementation="eager"))
    model.load_state_dict(load_file(HERE / source / "model.safetensors"), strict=not model.config.tie_word_embeddings)
    model.config.model_type = "minicpm"
    return model


def convert(source, name, arch, kind, tokenizer, texts, extra=None, judged=True, model=None):
    """A GGUF file of a model of this directory, and its golden."""
    model = model or AutoModelForCausalLM.from_pretrained(HERE / source, dtype=torch.float32, attn_implementation="eager", **experts(AutoConfig.from_pretrained(HERE / source)))
    values, kinds = {}, {}
    for key, w in (tensors(model.eval(), arch) | (extra(model) if extra else {})).items():
        values[key], kinds[key] = stored(w, Type.F32 if key.endswith("ssm_a") else kind)
    path = file(name, arch, model.config, values, kinds, tokenizer | {"rows": model.config.vocab_size}, FILE_TYPES[kind])
    got = read(path, model) if judged else model
    rng = np.random.Generator(np.random.PCG64(7))
    ids = rng.integers(0, model.config.vocab_size, 12)
    if kind == Type.F32:
        assert torch.equal(forward(got, ids)[0], forward(model, ids)[0]), name
    record(name, path, got, texts, ids, rng.integers(0, model.config.vocab_size, getattr(model.config, "max_position_embeddings", 128) - 20))


def record(name, path, model, texts, ids, text):
    logits, long = forward(model, ids)[0], forward(model, text)[0][:, -KEPT:]
    check_logits(logits, name)
    check_logits(long, name)
    double = model.double()
    common.WORST[name] = max(
        close(forward(double, ids)[0], logits, 4e-5, name), close(forward(double, text)[0][:, -KEPT:], long, 4e-5, name))
    write(path, {"ids": ids, "logits": logits[0], "long.ids": text, "long.logits": long[0]}, {
        "model_type": model.config.model_type, "texts": texts})


SCALES = {Type.Q4_K: (3.3e-4, 2.5e-3), Type.Q6_K: (5.5e-5,)}
OFFSETS = {Type.Q4_K: (0, 2), Type.Q6_K: (208,)}


def blocks(rng, kind, rows, row, gain):
    """Random blocks whose values have the variance 1.4 gain²/row, for rows of 256."""
    values, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows * row // values, size), dtype=np.uint8)
    for at, scale in zip(OFFSETS[kind], SCALES[kind]):
        halves = (gain * scale * rng.uniform(0.8, 1.2, len(data))).astype(np.float16)
        data[:, at:at + 2] = halves.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, -1)


def k_quants(tokenizer, texts):
    """A llama of Q4_K and Q6_K, mixed as in files of the type Q4_K_M."""
    config = LlamaConfig(
        vocab_size=80, hidden_size=256, intermediate_size=256, num_hidden_layers=1, num_attention_heads=8,
        num_key_value_heads=1, max_position_embeddings=64, tie_word_embeddings=True, bos_token_id=78, eos_token_id=79,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attn_implementation="eager")
    model = LlamaForCausalLM(config).eval()
    rng = common.random_parameters(model, 701)
    values, kinds = {}, {}
    for key, w in tensors(model, gguf.MODEL_ARCH.LLAMA).items():
        if w.ndim == 1:
            flip = rng.choice([-1, 1], w.shape).astype(np.float32) if key == "output_norm.weight" else 1
            values[key], kinds[key] = w * flip, Type.F32
            continue
        kinds[key] = Type.Q6_K if any(k in key for k in ("token_embd", "attn_v", "ffn_down")) else Type.Q4_K
        values[key] = blocks(rng, kinds[key], *w.shape, 3 if "token_embd" in key else 1)
    name = "llama-q4_k-gguf"
    path = file(name, gguf.MODEL_ARCH.LLAMA, config, values, kinds, tokenizer | {"rows": 80}, FILE_TYPES[Type.Q4_K])
    got = read(path, model)
    record(name, path, got, texts, rng.integers(0, 80, 12), rng.integers(0, 80, 60))


def ggufs():
    names = gguf.MODEL_ARCH
    words = {"count": 96, "specials": LLAMA, "bos": 96, "eos": 105}
    for kind in (Type.F32, Type.BF16, Type.Q8_0, Type.Q4_0):
        convert("llama", f"llama-{kind.name.lower()}-gguf", names.LLAMA, kind, words, vocabularies.expect_pieces(96, 96),
                lambda model: {"rope_freqs.weight": factors(model)})
    convert("llama-linear", "llama-linear-f16-gguf", names.LLAMA, Type.F16,
            {"count": 73, "specials": LLAMA[:2], "bos": 73, "eos": 74}, vocabularies.expect_pieces(73, 73))
    k_quants({"count": 78, "specials": LLAMA[:2], "bos": 78, "eos": 79}, vocabularies.expect_pieces(78, 78))
    words = {"count": 260, "pre": "gpt-2", "end": 260, "first": False}
    convert("gpt2", "gpt2-gguf", names.GPT2, Type.F32, words, vocabularies.expect(vocabularies.tokenizer(260, [END])),
            lambda model: {"output.weight": model.lm_head.weight.detach().numpy()})
    words = {"count": 260, "pre": "olmo", "end": 0, "first": True}
    convert("gpt_neox", "gpt_neox-gguf", names.GPTNEOX, Type.F32, words,
            vocabularies.expect(vocabularies.tokenizer(260, [END], first=True)), judged=False)


def corrections(model):
    """The numbers that experts are chosen by."""
    return {f"blk.{name.split('.')[2]}.exp_probs_b.bias": b.detach().numpy().ravel() for name, b in [*model.named_buffers(), *model.named_parameters()]
            if name.endswith(("expert_bias", "e_score_correction_bias"))}


def drafting(model):
    """The beginning of a layer that drafts tokens."""
    block = f"blk.{model.config.num_hidden_layers}."
    return {block + "nextn.eh_proj.weight": np.zeros((2, 3), np.float32), block + "attn_norm.weight": np.zeros(2, np.float32)}


def lengthened(model):
    """The embedding of layers with a row for each token."""
    rows, all = model.model.embed_tokens_per_layer.weight.detach().numpy(), model.config.vocab_size
    return np.concatenate([rows, np.repeat(rows[:1], all - len(rows), axis=0)])


def modern():
    """GGUF files of the models of modern.py."""
    names = gguf.MODEL_ARCH

    def one(source, arch, extra=None, judged=True):
        convert(source, source + "-gguf", arch, Type.F32, {}, [], extra, judged)

    def longrope(model):
        rope = model.config.rope_parameters
        return {f"rope_factors_{k}.weight": np.array(rope[f"{k}_factor"], np.float32) for k in ("short", "long")}

    one("qwen2", names.QWEN2)
    one("qwen3", names.QWEN3)
    one("mistral", names.LLAMA, judged=False)
    one("phi3", names.PHI3)
    one("phi3-longrope", names.PHI3, longrope, judged=False)
    one("gemma", names.GEMMA, judged=False)
    one("gemma2", names.GEMMA2, judged=False)
    one("gemma3", names.GEMMA3, judged=False)
    for source, count, model in (("gemma4", 64, None), ("gemma4-keys", 70, unbiased("gemma4-keys")), ("gemma4-experts", 64, None)):
        words = {"spaced": vocabularies.spaced(count)}
        convert(source, source + "-gguf", names.GEMMA4, Type.F32, words, vocabularies.expect_spaced(count), proportional, False, model)
    one("gemma3n", names.GEMMA3N, lambda model: {"per_layer_token_embd.weight": lengthened(model)}, judged=False)
    one("smollm3", names.SMOLLM3, judged=False)
    one("olmo", names.OLMO, judged=False)
    one("olmo2", names.OLMO2, judged=False)
    one("olmo3", names.OLMO2, judged=False)
    one("granite", names.GRANITE, judged=False)
    one("stablelm-parallel", names.STABLELM, judged=False)
    one("falcon", names.FALCON, judged=False)
    one("falcon-40b", names.FALCON, judged=False)
    one("bloom", names.BLOOM, judged=False)
    one("cohere", names.COMMAND_R, judged=False)
    one("cohere-qk", names.COMMAND_R, judged=False)
    one("cohere2", names.COHERE2, judged=False)
    one("phi", names.PHI2, judged=False)
    one("gpt_bigcode", names.STARCODER, judged=False)
    one("starcoder2", names.STARCODER2, judged=False)
    one("glm4", names.GLM4, judged=False)
    one("exaone4", names.EXAONE4, judged=False)
    one("exaone4-full", names.EXAONE4, lambda model: {"rope_freqs.weight": factors(model)}, judged=False)
    one("arcee", names.ARCEE, judged=False)
    one("nemotron", names.NEMOTRON, judged=False)
    one("ernie4_5", names.ERNIE4_5, judged=False)
    one("seed_oss", names.SEED_OSS, judged=False)
    one("internlm3", names.LLAMA, judged=False)
    for source, arch in (("mixtral", names.LLAMA), ("qwen2_moe", names.QWEN2MOE), ("qwen3_moe", names.QWEN3MOE), ("olmoe", names.OLMOE),
                         ("granitemoe", names.GRANITE_MOE), ("granitemoe-shared", names.GRANITE_MOE), ("gpt_oss", names.GPT_OSS)):
        one(source, arch, judged=False)
    one("lfm2", names.LFM2)
    one("lfm2_moe", names.LFM2MOE, corrections, judged=False)
    for source, arch in (("dots1", names.DOTS1), ("ernie4_5_moe", names.ERNIE4_5_MOE), ("minimax_m2", names.MINIMAXM2), ("solar_open", names.GLM4_MOE),
                         ("exaone_moe", names.EXAONE_MOE)):
        one(source, arch, corrections, judged=False)
    for source in ("glm4_moe", "glm4_moe-normed"):
        one(source, names.GLM4_MOE, lambda model: corrections(model) | drafting(model), judged=False)
    one("hunyuan_v1_moe", names.HUNYUAN_MOE, judged=False)
    one("granite4-states", names.GRANITE_HYBRID, judged=False)
    one("granite4-groups", names.GRANITE_HYBRID, judged=False)
    one("falcon_h1-gated", names.FALCON_H1, judged=False)
    one("mamba2-groups", names.MAMBA2, judged=False)
    one("nemotron_h", names.NEMOTRON_H, judged=False)
    one("nemotron_h-experts", names.NEMOTRON_H_MOE, lambda model: corrections(model) | drafting(model), judged=False)
    one("qwen3_5", names.QWEN35, drafting, judged=False)
    one("qwen3_5_moe", names.QWEN35MOE, judged=False)
    one("qwen3_next", names.QWEN3NEXT, judged=False)
    convert("mamba", "mamba-gguf", names.MAMBA, Type.BF16, {}, [], judged=False)
    convert("jamba", "jamba-gguf", names.JAMBA, Type.BF16, {}, [], judged=False)
    model = AutoModelForCausalLM.from_pretrained(HERE / "falcon_mamba", dtype=torch.float32, mixer_rms_eps=1e-5)  # files have one eps
    convert("falcon_mamba", "falcon_mamba-gguf", names.MAMBA, Type.BF16, {}, [], judged=False, model=model)
    convert("minicpm-untied", "minicpm-untied-gguf", names.MINICPM, Type.F32, {}, [], judged=False, model=minicpm("minicpm-untied"))


def latent():
    """GGUF files of the models of latents.py, those of DeepSeek-V2 and MiniCPM3 in the older form."""
    names = gguf.MODEL_ARCH

    def one(source, arch, split, extra=None, **changes):
        config = AutoConfig.from_pretrained(HERE / source)
        for key, value in changes.items():
            setattr(config, key, value)
        model = AutoModelForCausalLM.from_pretrained(HERE / source, config=config, dtype=torch.float32, attn_implementation="eager", **experts(config))
        if config.model_type == "minicpm3":
            model.model.norm.weight.data *= 0.2
        model.config.split = split
        convert(source, source + "-gguf", arch, Type.F32, {}, [], extra, judged=False, model=model)

    rope = AutoConfig.from_pretrained(HERE / "minicpm3").rope_parameters | {"original_max_position_embeddings": 128, "rope_theta": 10000.0}
    one("minicpm3", names.MINICPM3, False, lambda model: {f"rope_factors_{k}.weight": np.array(rope[f"{k}_factor"], np.float32) for k in ("short", "long")},
        scale_emb=12, dim_model_base=256, rope_parameters=rope, original_max_position_embeddings=128, rms_norm_eps=1e-5)
    one("deepseek_v2-lite", names.DEEPSEEK2, False)
    one("deepseek_v3", names.DEEPSEEK2, True, corrections)
    one("glm4_moe_lite", names.DEEPSEEK2, True, lambda model: corrections(model) | drafting(model))
    one("youtu", names.DEEPSEEK2, True)


def today():
    """GGUF files of the models of today.py."""
    names = gguf.MODEL_ARCH
    for source, arch in (("ministral3", names.MISTRAL3), ("hunyuan_v1_dense", names.HUNYUAN_DENSE)):
        convert(source, source + "-gguf", arch, Type.F32, {}, [], judged=False)
    model = AutoModelForCausalLM.from_pretrained(HERE / "apertus", dtype=torch.float32, attn_implementation="eager")
    model.config.xielu = {key: [float(getattr(layer.mlp.act_fn, key)) for layer in model.model.layers] for key in ("alpha_p", "alpha_n", "beta", "eps")}
    convert("apertus", "apertus-gguf", names.APERTUS, Type.F32, {}, [], lambda model: {"rope_freqs.weight": factors(model)}, judged=False, model=model)


def compact():
    """GGUF files of some models of compact.py."""
    names = gguf.MODEL_ARCH
    convert("jais2", "jais2-gguf", names.JAIS2, Type.BF16, {}, [], judged=False)
    convert("afmoe", "afmoe-gguf", names.AFMOE, Type.BF16, {}, [], corrections, judged=False)
