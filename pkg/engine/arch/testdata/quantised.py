"""Goldens of quantised directories: a model whose matrices are what the packages that publish such
directories dequantise, and the same matrices as these packages store them."""

import json

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

import common
from common import HERE
from decoders import make
from modern import OTHER, rope


def quantised(name, kind, config, seed, encode, settings):
    """encode returns the tensors of a matrix by their endings, and the values that they stand for."""
    stored = {}

    def tune(model):
        with torch.no_grad():
            for key, p in model.named_parameters():
                for part, values in matrices(key, p):
                    if found := encode(part, values):
                        stored[part] = found[0]
                        values.copy_(found[1])

    path = f"quantised/{name}"
    make(path, kind, config, seed, 70, tune=tune, long=0)
    file = HERE / path / "model.safetensors"
    tensors = load_file(file)
    for part, found in stored.items():
        del tensors[part + ".weight"]
        tensors |= {f"{part}.{ending}": t.contiguous() for ending, t in found.items()}
    save_file(tensors, file, {"format": "pt"})
    config = json.loads((HERE / path / "config.json").read_text())
    (HERE / path / "config.json").write_text(json.dumps(config | {"quantization_config": settings}, indent=1) + "\n")
    common.SIZES[name], common.WORST[name] = sum(f.stat().st_size for f in (HERE / path).iterdir()), common.WORST.pop(path)


def matrices(key, p):
    """The matrices of a parameter, by the names that files have."""
    if p.dim() == 2 and key.endswith("_proj.weight"):
        yield key.removesuffix(".weight"), p
    if p.dim() == 3:
        stem, kind = key.rsplit(".", 1)
        for i, expert in enumerate(p):
            if kind == "down_proj":
                yield f"{stem}.{i}.down_proj", expert
            else:
                yield from zip((f"{stem}.{i}.gate_proj", f"{stem}.{i}.up_proj"), expert.chunk(2))


def fp8():
    """Blocks that end within matrices, and matrices that are not quantised."""
    block = (16, 10)
    kept = ["lm_head", "model.layers.0.self_attn.o_proj"]

    def encode(name, w):
        if name in kept:
            return None
        rows, cols = w.shape
        whole = torch.nn.functional.pad(w, (0, -cols % block[1], 0, -rows % block[0]))
        tiles = whole.reshape(whole.shape[0] // block[0], block[0], whole.shape[1] // block[1], block[1])
        scales = tiles.abs().amax((1, 3)) / 448
        codes = (tiles / scales[:, None, :, None]).reshape(whole.shape).to(torch.float8_e4m3fn)
        values = Fp8Dequantize(None)._dequantize_one(codes, scales, torch.float32)
        return {"weight": codes[:rows, :cols], "weight_scale_inv": scales}, values[:rows, :cols]

    quantised("qwen3_moe-fp8", Qwen3MoeForCausalLM, Qwen3MoeConfig(
        **OTHER, **rope(), num_experts=4, num_experts_per_tok=2, head_dim=8, moe_intermediate_size=20, tie_word_embeddings=True), 3001, encode, {
            "activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": list(block), "modules_to_not_convert": kept})


GROUPS = {"quantised": lambda: [f() for f in (fp8,)]}
