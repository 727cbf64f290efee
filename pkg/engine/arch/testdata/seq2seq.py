"""Goldens of encoder-decoders that answer a text with another."""

import json
import pathlib
import tempfile

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, MT5Config, MT5ForConditionalGeneration, T5Config, T5ForConditionalGeneration, T5Tokenizer, UMT5Config, UMT5ForConditionalGeneration

import ggufs
import translators
import vocabularies
from common import HERE, check_parameters, directory, random_parameters, write


TEXTS = ["the fox sat on a hen", "  and then,  he ran. ", "THE hen", "", "in it", "7"]


class T5:
    """Targets begin with the padding."""
    eos, start, pad, first, made_up = 1, 0, 0, 2, 0

    @staticmethod
    def language(rng, pieces):
        return []


def greedy(model, rng, tokens):
    """Clear generations, ended by the model's own end or not at all."""
    cases = []
    while len(cases) < 4:
        source = translators.text(T5, rng, tokens, int(rng.integers(1, 9)))
        got = model.generate(torch.tensor(source)[None], do_sample=False, num_beams=1, max_new_tokens=12, use_cache=False, output_scores=True, return_dict_in_generate=True)
        best = torch.cat(got.scores).topk(2).values
        found = got.sequences[0, 1:].tolist()
        if (best[:, 0] - best[:, 1]).min() > 1e-2 and len(set(found)) > 3:
            cases.append({"source": source, "tokens": found})
    return cases


def pretrained(path):
    """tokenizer.json, in which placeholders follow the pieces."""
    tokenizer = T5Tokenizer(vocab=[(piece, score) for piece, score, _ in vocabularies.unigrams(55)], extra_ids=5)
    tokenizer.save_pretrained(path)
    return [{"text": t, "ids": tokenizer(t).input_ids, "plain": tokenizer(t, add_special_tokens=False).input_ids} for t in TEXTS]


def pieces(path):
    """spiece.model alone, as mT5 has it."""
    return vocabularies.save_unigrams(path / "spiece.model", 60, TEXTS)


def make(name, kind, config, seed, words=None, head=False, copies=False, scaled=True):
    path = directory(name)
    model = kind(config).eval()
    rng = random_parameters(model, seed, 0.5, ["decoder.final_layer_norm.weight"])
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "relative_attention_bias" in key:
                p.copy_(torch.from_numpy(1.5 * rng.standard_normal(p.shape)))
            elif key.endswith(("Attention.q.weight", "Attention.k.weight")):  # scores have no factor
                p.mul_(config.d_kv**-0.25)
            elif key == "shared.weight" and getattr(config, "scale_decoder_outputs", config.tie_word_embeddings):
                p.mul_(config.d_model**0.5 / 1.5)
    check_parameters(model)
    model.generation_config.update(decoder_start_token_id=0)
    model.save_pretrained(path)
    if head:
        tensors = load_file(path / "model.safetensors")
        tensors["lm_head.weight"] = torch.from_numpy(2.5 * rng.standard_normal((config.vocab_size, config.d_model)) / config.d_model**0.5).float()
        save_file(tensors, path / "model.safetensors", {"format": "pt"})
    model, info = AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager", output_loading_info=True)
    assert not any(info.values()), info
    if not scaled:  # this transformers takes each umT5 for one that is tied, published files say that they are not
        model.config.tie_word_embeddings = False
        file = path / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"tie_word_embeddings": False}, indent=2, sort_keys=True) + "\n")
    if copies:  # as some published files have the table, which this transformers does not read
        tensors = load_file(path / "model.safetensors")
        tensors["decoder.embed_tokens.weight"] = tensors.pop("shared.weight")
        tensors["encoder.embed_tokens.weight"] = tensors["decoder.embed_tokens.weight"].clone()
        save_file(tensors, path / "model.safetensors", {"format": "pt"})
    tensors = translators.teacher(T5, model.eval(), rng, config.vocab_size, name)
    write(path, tensors, {"model_type": config.model_type, "texts": words(path) if words else [], "greedy_sources": greedy(model, rng, config.vocab_size)})


def twin(source, judged):
    """A GGUF file of a model of this directory."""
    name = source + "-gguf"
    model = AutoModelForSeq2SeqLM.from_pretrained(HERE / source, dtype=torch.float32, attn_implementation="eager").eval()
    values = ggufs.tensors(model, gguf.MODEL_ARCH.T5)
    kinds = dict.fromkeys(values, ggufs.Type.F32)
    path = ggufs.file(name, gguf.MODEL_ARCH.T5, model.config, values, kinds, {"unigrams": vocabularies.unigrams(55), "rows": model.config.vocab_size}, 0)
    got = ggufs.read(path, model) if judged else model
    rng = np.random.Generator(np.random.PCG64(7))
    with tempfile.TemporaryDirectory() as scratch:
        texts = vocabularies.save_unigrams(pathlib.Path(scratch) / "spiece.model", 55, TEXTS)
    tensors = translators.teacher(T5, got, rng, model.config.vocab_size, name)
    write(path, tensors, {"model_type": "t5", "texts": texts, "greedy_sources": greedy(got, rng, model.config.vocab_size)})


COMMON = dict(vocab_size=60, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_heads=2, decoder_start_token_id=0)
NEAR = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}  # the default is 32 and 128


def t5():
    make("t5", T5ForConditionalGeneration, T5Config(**COMMON), 1201, pretrained)
    make("t5-gated", T5ForConditionalGeneration, T5Config(
        **COMMON | NEAR | {"d_ff": 36, "num_decoder_layers": 3}, feed_forward_proj="gated-gelu", tie_word_embeddings=False), 1203, head=True, copies=True)
    make("mt5", MT5ForConditionalGeneration, MT5Config(**COMMON | {"d_kv": 10}, feed_forward_proj="gated-silu"), 1202, pieces)
    make("mt5-gelu", MT5ForConditionalGeneration, MT5Config(**COMMON, feed_forward_proj="gated-gelu", tie_word_embeddings=False), 1204, head=True)
    twin("t5", judged=True)
    twin("mt5-gelu", judged=False)


def umt5():
    make("umt5", UMT5ForConditionalGeneration, UMT5Config(**COMMON), 1205, pieces)
    make("umt5-untied", UMT5ForConditionalGeneration, UMT5Config(
        **COMMON | NEAR | {"d_ff": 36, "num_decoder_layers": 3}, feed_forward_proj="gated-silu"), 1206, head=True, scaled=False)
    twin("umt5", judged=False)


GROUPS = {"t5": t5, "umt5": umt5}
