"""Goldens of BART and its relatives."""

import json

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSeq2SeqLM, BartConfig, BartForConditionalGeneration, BartTokenizer, MBartConfig, MBartForConditionalGeneration, PegasusConfig, PegasusForConditionalGeneration, PegasusTokenizer,
)

import seq2seq
import translators
import vocabularies
from common import check_parameters, directory, random_parameters, write


class BART:
    """Sources begin with the beginning, targets with the end."""
    eos, start, pad, first, made_up = 2, 2, 1, 4, 0

    @staticmethod
    def language(rng, pieces):
        return [0]


class Pegasus(seq2seq.T5):
    """As T5: targets begin with the padding. Words follow those of the first training."""
    first = 105


def byte_level(path, count):
    """tokenizer.json: four special tokens, the bytes, the pairs, the mask."""
    vocab, merges = words(count)
    tokenizer = BartTokenizer(vocab=vocab, merges=merges)
    tokenizer.save_pretrained(path)
    return expected(tokenizer)


def byte_files(path, count):
    """The same tokens as vocab.json and merges.txt."""
    vocab, merges = words(count)
    (path / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False) + "\n")
    (path / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, merges), ""]))
    return expected(BartTokenizer(vocab=vocab, merges=merges))


def words(count):
    vocab, merges = vocabularies.vocabulary(count - 5)
    names = ["<s>", "<pad>", "</s>", "<unk>", *vocab, "<mask>"]
    return {t: i for i, t in enumerate(names)}, merges


def expected(tokenizer):
    return [{"text": t, "ids": tokenizer(t).input_ids, "plain": tokenizer(t, add_special_tokens=False).input_ids} for t in vocabularies.TEXTS]


def shifted(path, count):
    """spiece.model, whose pieces have ids that are 103 higher, but for the first two."""
    texts = vocabularies.save_unigrams(path / "spiece.model", count - 103, seq2seq.TEXTS)
    return [t | {k: [i if i == 1 else i + 103 for i in t[k]] for k in ("ids", "plain")} for t in texts]


def saved(path, count):
    """tokenizer.json of such a vocabulary."""
    pieces = vocabularies.unigrams(count - 103)
    names = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{i}>" for i in range(2, 103))]
    tokenizer = PegasusTokenizer(vocab=[(n, 0.0) for n in names] + [(piece, score) for piece, score, _ in pieces[2:]])
    tokenizer.save_pretrained(path)
    return [{"text": t, "ids": tokenizer(t).input_ids, "plain": tokenizer(t, add_special_tokens=False).input_ids} for t in seq2seq.TEXTS]


def lean_to_end(k, model, norm, by):
    """The bias of the last norm is in every state, so the end is likely."""
    with torch.no_grad():
        model.model.shared.weight[k.eos] += by * norm.bias / norm.bias.norm()


def greedy(k, model, rng, tokens):
    """Clear generations, some of which end."""
    cases = []
    model.generation_config.forced_eos_token_id = None  # that of the longest answer, which is not asked for
    while len(cases) < 6:
        source = translators.text(k, rng, tokens, int(rng.integers(1, 9)))
        got = model.generate(torch.tensor(source)[None], do_sample=False, num_beams=1, max_new_tokens=12, use_cache=False, output_scores=True, return_dict_in_generate=True)
        best = torch.cat(got.scores).topk(2).values
        found = got.sequences[0, 1:].tolist()
        ends = sum(c["tokens"][-1] == k.eos for c in cases)
        wanted = found[-1] == k.eos if ends < 3 else found[-1] != k.eos
        if wanted and (best[:, 0] - best[:, 1]).min() > 1e-2 and len(set(found)) > 3:
            cases.append({"source": source, "tokens": found})
    return cases


def make(k, name, model, seed, flip, embed, lean, words, change=None, **generation):
    path = directory(name)
    model.eval()
    rng = random_parameters(model, seed, embed, [flip + ".weight"])
    for module in model.modules():
        if hasattr(module, "create_weight"):  # computed positions
            with torch.no_grad():
                module.weight.copy_(module.create_weight())
    lean_to_end(k, model, model.get_submodule(flip), lean)
    vocab = model.config.vocab_size
    with torch.no_grad():
        model.final_logits_bias.copy_(torch.from_numpy(0.3 * rng.standard_normal((1, vocab))))
        if change:
            model.final_logits_bias.zero_()
    check_parameters(model)
    model.generation_config.update(decoder_start_token_id=k.start, **generation)
    model.save_pretrained(path)
    model, info = AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager", output_loading_info=True)
    assert not any(info.values()), info
    tensors = translators.teacher(k, model.eval(), rng, vocab, name)
    if change:
        change(path)
    write(path, tensors, {"model_type": model.config.model_type, "texts": words(path, vocab), "greedy_sources": greedy(k, model, rng, vocab)})


def without_head(path):
    """A file of the model without a head, which repeats the embedding."""
    tensors = {name.removeprefix("model."): v for name, v in load_file(path / "model.safetensors").items() if name != "final_logits_bias"}
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"].clone()
    save_file(tensors, path / "model.safetensors", {"format": "pt"})


COMMON = dict(d_model=20, encoder_layers=2, encoder_ffn_dim=60, max_position_embeddings=256)


def bart():
    make(BART, "bart", BartForConditionalGeneration(BartConfig(
        **COMMON, vocab_size=280, decoder_layers=3, encoder_attention_heads=2, decoder_attention_heads=2, decoder_ffn_dim=44)),
        1501, "model.decoder.layers.2.final_layer_norm", 0.5, 2.6, byte_level, forced_bos_token_id=0, forced_eos_token_id=2, num_beams=4)
    make(BART, "bart-scaled", BartForConditionalGeneration(BartConfig(
        **COMMON, vocab_size=271, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4, decoder_ffn_dim=52, scale_embedding=True,
        activation_function="relu")),
        1503, "model.decoder.layers.0.final_layer_norm", 0.5, 2.6, byte_files, without_head)


def pegasus():
    make(Pegasus, "pegasus", PegasusForConditionalGeneration(PegasusConfig(
        **COMMON, vocab_size=160, decoder_layers=3, encoder_attention_heads=2, decoder_attention_heads=2, decoder_ffn_dim=44, scale_embedding=True,
        activation_function="relu")),
        1525, "model.decoder.layer_norm", 0.8, 2.6, shifted, forced_eos_token_id=1, num_beams=8, length_penalty=0.6)
    make(Pegasus, "pegasus-gelu", PegasusForConditionalGeneration(PegasusConfig(
        **COMMON, vocab_size=155, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4, decoder_ffn_dim=52)),
        1519, "model.decoder.layer_norm", 0.8, 4, saved)


class MBART(translators.M2M100):
    """As M2M100, with a mask behind the languages. The last token of the longest target is its end."""
    made_up, languages = 1, 52
    forced = True


def make_mbart(name, model, seed, embed, lean, pieces, words, **generation):
    path = directory(name)
    rng = random_parameters(model.eval(), seed, embed, ["model.decoder.layer_norm.weight"])
    lean_to_end(MBART, model, model.model.decoder.layer_norm, lean)
    with torch.no_grad():
        model.model.shared.weight[-1] *= 0.1  # the mask is not written
        model.final_logits_bias.copy_(torch.from_numpy(0.3 * rng.standard_normal((1, model.config.vocab_size))))
    check_parameters(model)
    model.generation_config.update(max_length=200, decoder_start_token_id=MBART.start, **generation)
    translators.finish(MBART, name, path, model, rng, pieces, 1, words)


def mbart():
    make_mbart("mbart", MBartForConditionalGeneration(MBartConfig(
        **COMMON, vocab_size=105, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, decoder_ffn_dim=44, scale_embedding=True,
        activation_function="relu")),
        1521, 0.4, 2.6, 52, vocabularies.save_mbart, num_beams=5, early_stopping=True, forced_eos_token_id=2)
    make_mbart("mbart-gelu", MBartForConditionalGeneration(MBartConfig(
        **COMMON, vocab_size=107, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4, decoder_ffn_dim=52)),
        1530, 0.5, 2.6, 54, vocabularies.save_mbart_json, num_beams=5, forced_eos_token_id=2)


GROUPS = {"bart": bart, "pegasus": pegasus, "mbart": mbart}
