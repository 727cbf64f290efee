"""Goldens of the decoder-only models."""

import copy
import json

import numpy as np
import torch
from transformers import (
    AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, GPTJConfig, GPTJForCausalLM, GPTNeoXConfig,
    GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM, XGLMConfig, XGLMForCausalLM,
)

import common
import vocabularies
from common import Catch, changed, check_logits, check_parameters, close, directory, random_parameters, write

KEPT = 4  # last positions of a long text whose logits are recorded


def blocks(model):
    base = model.base_model
    base = getattr(base, "decoder", base)
    return base.h if hasattr(base, "h") else base.layers


def forward(model, ids, mask=None):
    """Logits (B, T, V), and what enters and leaves the blocks (L+1, B, T, D)."""
    ids = torch.as_tensor(np.atleast_2d(ids))
    extra = {}
    if mask is not None:  # positions count what is not padding, as generate has them
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        extra = {"attention_mask": mask, "position_ids": positions}
    with torch.no_grad(), Catch(blocks(model)) as hidden:
        logits = model(ids, use_cache=False, **extra).logits
    if hidden[0].dim() == 4:  # several residual streams: the first, and what becomes of them in the end
        hidden = [h[0] for h in hidden[:-1]] + [merged(model, hidden[-1])]
    return logits, hidden


def merged(model, streams):
    """The mean of the streams of Gemma 3n after the last layer, of the first one's magnitude."""
    with torch.no_grad():
        out = [streams[0]]
        for matrix, x in zip(model.base_model.altup_unembed_projections, streams[1:]):
            y = matrix(x)
            out.append(y * (out[0]**2).mean(-1, keepdim=True)**0.5 / (y**2).mean(-1, keepdim=True).clamp(min=1e-5)**0.5)
        return torch.stack(out).mean(0)


def padded(rows, side, pad):
    """Rows of unequal length as one matrix and its mask."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        at = slice(width - len(row), width) if side == "left" else slice(0, len(row))
        ids[i, at], mask[i, at] = torch.as_tensor(row), 1
    return ids, mask


def check_sensitive(model, ids):
    """The logits depend on every parameter and on the order of tokens, so that a reader
    which mistakes one is found out. The biases of keys do not change a softmax unless
    they are rotated."""
    want, _ = forward(model, ids)
    rotated = model.config.model_type not in ("gpt2", "gpt_neo", "xglm", "opt", "bloom", "falcon", "smollm3", "cohere2")
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("k_proj.bias") and not rotated:
                continue
            kept = p.clone()
            p.copy_(kept.roll(1, 0 if len(kept) > 1 else -1) if kept.numel() > 1 else kept + 0.5)
            got, _ = forward(model, ids)
            p.copy_(kept)
            assert (got - want).abs().max() > 0.02, name
    other = ids.copy()
    other[[1, 3]] = other[[3, 1]]
    assert ids[1] != ids[3] and (forward(model, other)[0][0, -1] - want[0, -1]).abs().max() > 0.02


def greedy(model, prompt, ends, tokens, count=12):
    """The tokens that generate adds to the prompt, none of them padding of the vocabulary,
    and how clear its choices were."""
    got = model.generate(
        torch.tensor(prompt)[None], attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False,
        num_beams=1, max_new_tokens=count, eos_token_id=ends, pad_token_id=0, output_scores=True,
        return_dict_in_generate=True, suppress_tokens=list(range(tokens, model.config.vocab_size)) or None,
    )
    best = torch.cat(got.scores).topk(2).values
    return got.sequences[0, len(prompt):].tolist(), float((best[:, 0] - best[:, 1]).min())


def choose_greedy(model, rng, tokens):
    """Generations of clear choices and at least four different tokens: two that the
    model's own end tokens do not end, and the same ended by a token in their middle."""
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    cases = []
    while len(cases) < 4:
        prompt = rng.integers(0, tokens, rng.integers(1, 9)).tolist()
        got, margin = greedy(model, prompt, ends, tokens)
        if margin < 1e-2 or len(set(got)) < 4 or len(got) < 12:
            continue
        other = ends + [got[5]]
        ended, _ = greedy(model, prompt, other, tokens)
        assert ended[-1] == got[5] and len(ended) <= 6
        cases += [{"prompt": prompt, "ends": e, "tokens": t} for e, t in ((ends, got), (other, ended))]
    return cases


def batched(model, rng, tokens, pad, out, sides):
    """Three texts in one padded batch: they must come out as each alone."""
    rows = [rng.integers(0, tokens, n) for n in (4, 1, 2)]
    for side in sides:
        ids, mask = padded(rows, side, pad)
        logits, _ = forward(model, ids, mask)
        real = logits[mask.bool()]
        check_logits(real, "batch " + side)
        alone = torch.cat([forward(model, row)[0][0] for row in rows])
        close(real, alone, 2e-4, "batch " + side)
        out |= {f"batch.{side}.ids": ids, f"batch.{side}.mask": mask, f"batch.{side}.logits": real}


def experts(config):
    """How from_pretrained computes experts in any precision."""
    return {"experts_implementation": "eager"} if hasattr(config, "num_experts_per_tok") or getattr(config, "top_k_experts", None) else {}


def record(name, path, rng, tokens, texts, pad=0, length=12, long=240, attention="eager", sides=("left", "right")):
    """Writes what transformers computes of the model saved in path."""
    config = AutoConfig.from_pretrained(path)
    model, info = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, attn_implementation=attention, output_loading_info=True, **experts(config))
    assert not any(info.values()), info
    check_parameters(model.eval())
    ids = rng.integers(0, tokens, length)
    ids[[1, 3]] = 1, 3
    logits, hidden = forward(model, ids)
    check_logits(logits, name)
    out = {"ids": ids, "logits": logits[0]} | {f"hidden.{i}": h[0] for i, h in enumerate(hidden)}
    check_sensitive(model, ids)
    lists = {"model_type": config.model_type, "texts": texts, "greedy": choose_greedy(model, rng, tokens)}
    if long:
        text = rng.integers(0, tokens, long)
        logits, _ = forward(model, text)
        check_logits(logits[:, -KEPT:], name + " long")
        out |= {"long.ids": text, "long.logits": logits[0, -KEPT:]}
    batched(model, rng, tokens, pad, out, sides)
    pairs = (("ids", "logits"), ("long.ids", "long.logits")) if long else (("ids", "logits"),)
    double = copy.deepcopy(model).double()
    with common.float64():
        common.WORST[name] = max(
            close(forward(double, out[a])[0][0, -len(out[b]):], out[b], 4e-5, name) for a, b in pairs)
    write(path, out, lists)
    return model


def save(model, path, dtype=torch.float32, **options):
    check_parameters(model)
    model.to(dtype).save_pretrained(path, **options)


def legacy(path, ids, **changes):
    """config.legacy.json: the spelling before transformers 5, which must mean the same."""
    config = json.loads((path / "config.json").read_text())
    old = changed(config, dtype=None, torch_dtype=config["dtype"], **changes)
    text = json.dumps(old, indent=2, sort_keys=True) + "\n"
    (path / "config.legacy.json").write_text(text)
    means = AutoConfig.from_pretrained(path / "config.legacy.json")
    a = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    b = AutoModelForCausalLM.from_pretrained(path, config=means, dtype=torch.float32)
    assert torch.equal(forward(a, ids)[0], forward(b, ids)[0]), path


def make(name, kind, config, seed, tokens, dtype=torch.float32, tune=None, flip=(), embed=0.7, saving=None, finish=None, words=None, **recording):
    path = directory(name)
    model = kind(config)
    rng = random_parameters(model, seed, embed, flip)
    if tune:
        tune(model)
    (saving or save)(model, path, dtype)
    if finish:
        finish(path)
    texts = words(path) if words else []
    return record(name, path, rng, tokens, texts, **recording)


def bare(model, path, dtype):
    """As the official GPT-2: names have no prefix."""
    check_parameters(model)
    model.transformer.to(dtype).save_pretrained(path)
    model.config.architectures = ["GPT2LMHeadModel"]
    model.config.save_pretrained(path)
    model.generation_config.save_pretrained(path)


def sharded(model, path, dtype):
    save(model, path, dtype, max_shard_size="24KB")
    assert len(list(path.glob("*.safetensors"))) >= 3


LONG = {"n_positions": 256}
END = "<|endoftext|>"


def words(count, specials, kind, **options):
    """Saves a tokenizer.json and what it makes of texts."""
    config = {"tokenizer_class": kind, "bos_token": specials[0], "eos_token": specials[0]}
    return lambda path: vocabularies.save(path, vocabularies.tokenizer(count, specials, **options), config)


def gpt2():
    config = GPT2Config(vocab_size=261, n_embd=16, n_layer=2, n_head=2, bos_token_id=260, eos_token_id=260, **LONG)
    make("gpt2", GPT2LMHeadModel, config, 101, 261, saving=bare, flip=["transformer.ln_f.weight"], words=words(260, [END], "GPT2Tokenizer"))
    config = GPT2Config(
        vocab_size=67, n_embd=20, n_layer=3, n_head=2, n_inner=44, activation_function="relu", n_positions=32,
        scale_attn_by_inverse_layer_idx=True, layer_norm_epsilon=0.02, bos_token_id=66, eos_token_id=66)
    make("gpt2-inverse", GPT2LMHeadModel, config, 102, 67, long=0, flip=["transformer.ln_f.weight"])
    config = GPT2Config(
        vocab_size=80, n_embd=24, n_layer=2, n_head=2, n_inner=72, activation_function="gelu", n_positions=32,
        tie_word_embeddings=False, bos_token_id=79, eos_token_id=79)
    make("gpt2-f16", GPT2LMHeadModel, config, 103, 80, torch.float16, long=0)


def llama():
    scaling = {
        "rope_type": "llama3", "rope_theta": 1000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
    }
    config = LlamaConfig(
        vocab_size=112, hidden_size=32, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, rope_parameters=dict(scaling), rms_norm_eps=1e-5,
        bos_token_id=96, eos_token_id=[97, 104, 105], tie_word_embeddings=False)
    theta = scaling.pop("rope_theta")
    make("llama", LlamaForCausalLM, config, 201, 112, finish=lambda path: legacy(
        path, range(100), rope_parameters=None, head_dim=None, rope_theta=theta, rope_scaling=scaling,
    ))
    check_scaling(config)
    config = LlamaConfig(
        vocab_size=75, hidden_size=28, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, head_dim=12,
        num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=0.02, tie_word_embeddings=True,
        rope_parameters={"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0}, bos_token_id=1, eos_token_id=2)
    make("llama-linear", LlamaForCausalLM, config, 202, 75, long=120, flip=["model.norm.weight"], finish=lambda path: legacy(
        path, range(60), rope_parameters=None, rope_theta=500.0, rope_scaling={"type": "linear", "factor": 4.0}))
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, attention_bias=True, mlp_bias=True, bos_token_id=1, eos_token_id=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    make("llama-bf16", LlamaForCausalLM, config, 203, 64, torch.bfloat16, long=0)


def check_scaling(config):
    """All three branches of the scaling are taken."""
    rotary = LlamaForCausalLM(config).model.rotary_emb
    plain, _ = rotary.compute_default_rope_parameters(config)
    ratio = plain / rotary.inv_freq
    assert ratio[0] == 1 and abs(ratio[-1] - 8) < 1e-3 and ((ratio > 1.5) & (ratio < 7)).any(), ratio


def gptj():
    config = GPTJConfig(
        vocab_size=272, n_embd=16, n_layer=2, n_head=1, rotary_dim=8, bos_token_id=260, eos_token_id=260, **LONG)
    make("gptj", GPTJForCausalLM, config, 401, 261, words=words(260, [END], "GPT2Tokenizer"))
    config = GPTJConfig(
        vocab_size=72, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_inner=60, activation_function="gelu",
        n_positions=64, layer_norm_epsilon=0.02, bos_token_id=71, eos_token_id=71)
    make("gptj-bf16", GPTJForCausalLM, config, 402, 72, torch.bfloat16, long=0)


def neox_legacy(fraction, theta, ids):
    return lambda path: legacy(path, ids, rope_parameters=None, rotary_pct=fraction, rotary_emb_base=theta)


def gpt_neox():
    def config(fraction, theta, **rest):
        rope = {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": fraction}
        return GPTNeoXConfig(rope_parameters=rope, bos_token_id=0, eos_token_id=0, **rest)

    make("gpt_neox", GPTNeoXForCausalLM, config(
        0.25, 10000.0, vocab_size=261, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=40, max_position_embeddings=256,
    ), 501, 261, finish=neox_legacy(0.25, 10000, range(100)), words=words(
        260, [END], "GPTNeoXTokenizer", first=True, nfc=True))
    make("gpt_neox-sequential", GPTNeoXForCausalLM, config(
        0.5, 1000.0, vocab_size=88, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=72,
        max_position_embeddings=64, use_parallel_residual=False, hidden_act="gelu_fast", layer_norm_eps=0.02,
    ), 502, 88, long=60, saving=sharded, finish=neox_legacy(0.5, 1000, range(50)))
    make("gpt_neox-unbiased", GPTNeoXForCausalLM, config(
        1.0, 10000.0, vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=96,
        max_position_embeddings=64, use_parallel_residual=False, attention_bias=False, hidden_act="gelu_fast",
        tie_word_embeddings=True,
    ), 503, 64, long=0, flip=["gpt_neox.final_layer_norm.weight"], finish=neox_legacy(1.0, 10000, range(50)))


def xglm():
    flip = ["model.layer_norm.weight"]
    config = XGLMConfig(
        vocab_size=96, d_model=20, num_layers=2, attention_heads=2, ffn_dim=60, max_position_embeddings=256)
    make("xglm", XGLMForCausalLM, config, 601, 96, flip=flip, embed=0.35, pad=1)
    config = XGLMConfig(
        vocab_size=70, d_model=20, num_layers=3, attention_heads=2, ffn_dim=60, max_position_embeddings=48,
        scale_embedding=False, activation_function="relu")
    make("xglm-relu", XGLMForCausalLM, config, 602, 70, flip=flip, pad=1, long=0)
    # GPT-2's order of ids: 261 tokens, <s> <pad> </s> <unk>; the file says nothing of padding.
    config = XGLMConfig(
        vocab_size=265, d_model=16, num_layers=2, attention_heads=2, ffn_dim=48, max_position_embeddings=256,
        bos_token_id=261, eos_token_id=263, newlinemode="s", tokenizer_class="GPT2Tokenizer")
    make("fairseq-dense", XGLMForCausalLM, config, 603, 265, flip=flip, embed=0.35, long=250, finish=unpadded,
        words=lambda path: vocabularies.save_files(path, 260))


def unpadded(path):
    """Without the class's default padding token, which is a usual token here."""
    for name in ("config.json", "generation_config.json"):
        config = json.loads((path / name).read_text())
        assert config.pop("pad_token_id") == 1
        (path / name).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
