"""Writes GGUF files of the encoders, rerankers and classifiers beside this directory, with the tensors and
keys of llama.cpp's converter: matrices in bfloat16, as the directories have them.

    /tmp/goldens/bin/python pkg/engine/testdata/ggufs/gguf_goldens.py

The environment is that of .ci/goldens.txt. The tests compare the vectors of both.
"""

import importlib.metadata
import json
import pathlib

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, PoolingType, TokenType, quants
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
LIMIT = 1_000_000  # bytes of all files
ARCHS = {"bert": "bert", "roberta": "bert", "xlm-roberta": "bert", "nomic_bert": "nomic-bert", "modernbert": "modern-bert", "qwen3": "qwen3", "distilbert": "bert",
         "gemma3_text": "gemma-embedding", "eurobert": "eurobert"}
POOLINGS = {"mean_tokens": PoolingType.MEAN, "cls_token": PoolingType.CLS, "lasttoken": PoolingType.LAST}
F32 = ("token_types.", "position_embd.", "dense_")  # that the converter keeps in float32


def arch_of(config):
    if config.get("position_embedding_type") == "alibi":
        return "jina-bert-v2"
    return ARCHS[config["model_type"]] + ("-moe" if "moe_every_n_layers" in config else "")


def read(path):
    return json.loads(path.read_text())


def pooling(directory, config):
    if config["architectures"][0].endswith("ForSequenceClassification") or directory.parent.name == "rerankers":
        return PoolingType.RANK
    modes = read(directory / "1_Pooling/config.json")
    return next(kind for key, kind in POOLINGS.items() if modes.get("pooling_mode_" + key))


def labels(config):
    """The labels of a classifier, in order; those of rerankers, whose files are older, are not written."""
    if not config["architectures"][0].endswith("ForSequenceClassification") or config.get("num_labels", 2) == 1 or len(config.get("id2label", "ab")) == 1:
        return None
    named = config.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    return [named[str(i)] for i in range(len(named))]


def keys(w, config, kind):
    if config["model_type"] == "distilbert":
        config = {**config, "hidden_size": config["dim"], "num_hidden_layers": config["n_layers"], "num_attention_heads": config["n_heads"],
                  "intermediate_size": config["hidden_dim"], "layer_norm_eps": 1e-12}
    if "n_embd" in config:
        config = {**config, "hidden_size": config["n_embd"], "num_hidden_layers": config["n_layer"], "num_attention_heads": config["n_head"], "intermediate_size": config["n_inner"],
                  "layer_norm_eps": config["layer_norm_epsilon"], "max_position_embeddings": 512, "rope_parameters": {"rope_theta": config["rotary_emb_base"]}}
        w.add_moe_every_n_layers(config["moe_every_n_layers"])
        w.add_expert_count(config["num_experts"])
        w.add_expert_used_count(config["moe_top_k"])
    n = lambda *names, absent=None: next((config[k] for k in names if config.get(k) is not None), absent)
    positions = config["max_position_embeddings"]
    if config["model_type"] in ("roberta", "xlm-roberta"):
        positions -= config["pad_token_id"] + 1
    w.add_context_length(positions)
    w.add_embedding_length(config["hidden_size"])
    w.add_block_count(config["num_hidden_layers"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    if not labels(config):  # as the converter, which writes the pooling of modules
        w.add_pooling_type(kind)
    if config["model_type"] == "eurobert":
        w.add_causal_attention(False)
        w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if config["model_type"] in ("qwen3", "gemma3_text", "eurobert"):
        w.add_head_count_kv(config["num_key_value_heads"])
        if "head_dim" in config:
            w.add_key_length(config["head_dim"])
            w.add_value_length(config["head_dim"])
        w.add_layer_norm_rms_eps(config["rms_norm_eps"])
        ropes = config["rope_parameters"]
        w.add_rope_freq_base(ropes.get("full_attention", ropes)["rope_theta"])
        if config["model_type"] == "gemma3_text":
            w.add_rope_freq_base_swa(ropes["sliding_attention"]["rope_theta"])
            w.add_sliding_window(config["sliding_window"])
        return
    w.add_causal_attention(False)
    w.add_layer_norm_eps(n("layer_norm_eps", "norm_eps"))
    if config["model_type"] == "modernbert":
        w.add_rope_freq_base(config["global_rope_theta"] if "global_rope_theta" in config else config["rope_parameters"]["full_attention"]["rope_theta"])
        w.add_rope_freq_base_swa(config["local_rope_theta"] if "local_rope_theta" in config else config["rope_parameters"]["sliding_attention"]["rope_theta"])
        w.add_sliding_window(config["local_attention"])
        w.add_sliding_window_pattern(n("global_attn_every_n_layers", absent=3))
        w.add_vocab_size(config["vocab_size"])
        return
    if "type_vocab_size" in config:
        w.add_token_type_count(config["type_vocab_size"])
    if config["model_type"] == "nomic_bert":
        w.add_rope_freq_base(config["rope_parameters"]["rope_theta"])


def tokens(w, directory, config):
    """The tokenizer, padded to the rows of the embedding."""
    t = read(directory / "tokenizer.json")
    model, rows = t["model"], config["vocab_size"]
    special = {a["content"]: a["id"] for a in t["added_tokens"] if a["special"]}
    user = {a["content"]: a["id"] for a in t["added_tokens"] if not a["special"]}
    vocab = {**({p: i for i, (p, _) in enumerate(model["vocab"])} if model["type"] == "Unigram" else model["vocab"]), **special, **user}
    names = {i: p for p, i in vocab.items()}
    list_, kinds = [], []
    for i in range(rows):
        piece = names.get(i, f"[PAD{i}]")
        kind = TokenType.CONTROL if piece in special else TokenType.USER_DEFINED if piece in user else TokenType.NORMAL if i in names else TokenType.UNUSED
        if model["type"] == "WordPiece" and kind == TokenType.NORMAL:
            piece = piece[2:] if piece.startswith("##") and len(piece) > 2 else "\u2581" + piece
        if model["type"] == "Unigram" and i == model["unk_id"]:
            kind = TokenType.UNKNOWN
        list_.append(piece)
        kinds.append(kind)
    names = {"WordPiece": "bert", "Unigram": "t5", "BPE": "gpt2"}
    w.add_tokenizer_model(names[model["type"]])
    # Not the names of the models' own pre-tokenizers, whose patterns are those of GPT-2 too
    # unless they are Qwen's: the tiny tokenizers split as GPT-2's.
    w.add_tokenizer_pre({"roberta": "roberta-bpe", "modernbert": "modern-bert", "qwen3": "gpt-2", "gemma3_text": "gpt-2", "eurobert": "gpt-2"}.get(config["model_type"], "default"))
    w.add_token_list(list_)
    w.add_token_types(kinds)
    if model["type"] == "Unigram":
        w.add_token_scores([s for _, s in model["vocab"]] + [-1000.0] * (rows - len(model["vocab"])))
        w.add_add_space_prefix(True)
        w.add_remove_extra_whitespaces(False)
    if model["type"] == "BPE":
        w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in model["merges"]])
    around = [part["SpecialToken"]["id"] if "SpecialToken" in part else None for part in (t["post_processor"] or {}).get("single", [])]
    before = [s for s in around[:1] if s]
    after = [s for s in around[-1:] if s]
    if t["post_processor"] and t["post_processor"]["type"] == "RobertaProcessing":
        before, after = [t["post_processor"]["cls"][0]], [t["post_processor"]["sep"][0]]
    if before:
        w.add_bos_token_id(special[before[0]])
    if after:
        w.add_eos_token_id(special[after[0]])
        w.add_sep_token_id(special[after[0]])
    elif config["model_type"] == "qwen3":
        w.add_eos_token_id(config["eos_token_id"])
    if config["model_type"] in ("modernbert", "qwen3", "gemma3_text", "eurobert"):
        w.add_add_bos_token(bool(before))
        w.add_add_eos_token(bool(after))


def split(config, name, value):
    """The names and values of a tensor after the converter's changes; none if it is dropped."""
    kind = config["model_type"]
    for prefix in ("bert.", "distilbert.", "roberta.", "model."):
        if kind not in ("qwen3", "gemma3_text") and name.startswith(prefix):
            name = name[len(prefix):]
    if kind in ("qwen3", "gemma3_text") and not name.startswith(("model.", "lm_head.")):
        name = "model." + name
    if kind == "gemma3_text" and name.endswith("norm.weight"):
        value = value + 1
        if name.endswith("q_norm.weight"):  # the file has no scale of scores: llama.cpp's is that of heads
            value *= (config["head_dim"] / config["query_pre_attn_scalar"]) ** 0.5
    if name.startswith("pooler.") or name.endswith("position_ids"):
        return
    if kind in ("roberta", "xlm-roberta") and name == "embeddings.position_embeddings.weight":
        value = value[config["pad_token_id"] + 1:]
    if kind in ("modernbert", "distilbert") and name.startswith("classifier."):
        name = name.replace("classifier.", "classifier.out_proj.")
    if name.endswith("mlp.experts.bias"):
        return
    if ".mlp.experts.mlp." in name:
        value = value.reshape(config["num_experts"], config["n_inner"], config["n_embd"])
        name, value = name + ".weight", value.transpose(0, 2, 1) if name.endswith("w2") else value
    yield name, value


def convert(directory, out, change=lambda name, value: value):
    config = read(directory / "config.json")
    arch = arch_of(config)
    w = gguf.GGUFWriter(out, arch)
    kind = pooling(directory, config)
    keys(w, config, kind)
    tokens(w, directory, config)
    names = gguf.get_tensor_name_map(next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == arch), config.get("num_hidden_layers") or config.get("n_layers") or config["n_layer"])
    embedding = None
    for source, tensor in load_file(directory / "model.safetensors").items():
        for name, value in split(config, source, tensor.float().numpy()):
            found = names.get_name(name, try_suffixes=(".weight", ".bias")) or names.get_name("model." + name, try_suffixes=(".weight", ".bias"))
            assert found, f"{directory.name}: {name}"
            if found == "token_embd.weight":
                embedding = value
            if found == "output.weight" and config.get("tie_word_embeddings"):
                continue
            write(w, found, value)
    if arch == "gemma-embedding":
        for i in (2, 3):
            dense = read(directory / f"{i}_Dense/config.json")
            write(w, f"dense_{i}.weight", load_file(directory / f"{i}_Dense/model.safetensors")["linear.weight"].float().numpy())
            w.add_dense_features_dims(f"dense_{i}", dense["in_features"], dense["out_features"])
    if labels(config):
        w.add_classifier_output_labels(labels(config))
    if kind == PoolingType.RANK and arch == "qwen3":  # the converter takes the rows of yes and no
        t = read(directory / "tokenizer.json")
        vocab = {**t["model"]["vocab"], **{a["content"]: a["id"] for a in t["added_tokens"]}}
        write(w, "cls.output.weight", embedding[[vocab["yes"], vocab["no"]]])
        w.add_classifier_output_labels(["yes", "no"])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"{out.name:24} {out.stat().st_size:8,} bytes")


def write(w, name, value):
    value = np.ascontiguousarray(value)
    if value.ndim < 2 or name.startswith(F32):
        w.add_tensor(name, value.astype(np.float32))
        return
    w.add_tensor(name, quants.quantize(value, GGMLQuantizationType.BF16), raw_dtype=GGMLQuantizationType.BF16)


def main():
    found = importlib.metadata.version("gguf")
    assert found == "0.19.0", f"gguf is {found}"
    for group, names in {"encoders": ("bert", "roberta", "xlm-roberta", "nomic", "modernbert", "qwen3", "embeddinggemma", "distilbert", "jina-v2", "nomic-moe", "eurobert"),
                         "rerankers": ("xlm-roberta", "modernbert-mean", "Qwen3-Reranker"),
                         "classifiers": ("roberta", "distilbert")}.items():
        for name in names:
            convert(HERE.parent / group / name, HERE / f"{group[:-1]}-{name}.gguf")
    total = sum(f.stat().st_size for f in HERE.glob("*.gguf"))
    print(f"{total:,} bytes")
    assert total <= LIMIT


if __name__ == "__main__":
    main()
