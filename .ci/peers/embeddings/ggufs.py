"""Writes an encoder of transformers as a GGUF file, with the tensors and keys of llama.cpp's
converter and the pooling of the mean."""

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

ARCHS = {"bert": "bert", "xlm-roberta": "bert", "modernbert": "modern-bert"}


def write(model, path, kind):
    """kind: Type.F32 or Type.Q8_0, of the matrices."""
    config = model.config
    arch = ARCHS[config.model_type]
    w = gguf.GGUFWriter(path, arch)
    keys(w, config)
    # The tokenizer is not used, and cannot be left out.
    w.add_tokenizer_model("bert")
    w.add_token_list(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"\u2581w{i}" for i in range(5, config.vocab_size)])
    w.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    number = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        value = tensor.float().numpy()
        if name.endswith(("position_ids", "token_type_ids")):
            continue
        if config.model_type == "xlm-roberta" and name == "embeddings.position_embeddings.weight":
            value = value[config.pad_token_id + 1:]
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert found, name
        whole = value.ndim < 2 or found.startswith(("token_types.", "position_embd."))
        put(w, found, value, Type.F32 if whole else kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def put(w, name, value, kind):
    value = np.ascontiguousarray(value, np.float32)
    if kind == Type.F32:
        w.add_tensor(name, value)
    else:
        w.add_tensor(name, gguf.quants.quantize(value, kind), raw_dtype=kind)


def keys(w, config):
    skipped = config.pad_token_id + 1 if config.model_type == "xlm-roberta" else 0
    w.add_context_length(config.max_position_embeddings - skipped)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    w.add_causal_attention(False)
    w.add_layer_norm_eps(getattr(config, "layer_norm_eps", None) or config.norm_eps)
    if config.model_type == "modernbert":
        ropes = config.rope_parameters
        w.add_rope_freq_base(ropes["full_attention"]["rope_theta"])
        w.add_rope_freq_base_swa(ropes["sliding_attention"]["rope_theta"])
        w.add_sliding_window(config.local_attention)
        w.add_sliding_window_pattern(3)
        w.add_vocab_size(config.vocab_size)
    else:
        w.add_token_type_count(config.type_vocab_size)
