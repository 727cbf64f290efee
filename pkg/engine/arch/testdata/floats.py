"""Goldens of directories of NVIDIA's ModelOpt and of MLX in FP4 and FP8: models whose matrices are what these
packages dequantise on a processor, and the same matrices as they store them.

It runs alone, in the environment of goldens.py with nvidia-modelopt 0.47.0 and mlx[cpu] 0.32.4.

    python pkg/engine/arch/testdata/floats.py [modelopt mlx]
"""

import json
import sys

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM  # noqa: E402

from common import HERE  # noqa: E402
from modern import rope  # noqa: E402
from quantised import SQUARE, quantised  # noqa: E402


def modelopt():
    """The settings are in a file of their own, as in older exports; attention is in FP8, with a scale for each matrix or row."""
    from modelopt.torch.quantization.qtensor import FP8QTensor, NVFP4QTensor

    def encode(name, w):
        if "_proj" not in name:
            return None
        if "mlp" in name:
            q, scale, scale_2 = NVFP4QTensor.quantize(w.detach().clone(), 16)
            values = q.dequantize(torch.float32, scale=scale, double_scale=scale_2, block_sizes={-1: 16})
            return {"weight": q._quantized_data, "weight_scale": scale, "weight_scale_2": scale_2, "input_scale": torch.tensor(0.5)}, values
        scale = w.abs().amax(1) / 448 if "k_proj" in name else w.abs().amax() / 448
        q, _ = FP8QTensor.quantize(w.detach().clone(), scale.reshape(-1, 1) if scale.dim() else scale)
        values = q.dequantize(torch.float32, scale=scale.reshape(-1, 1) if scale.dim() else scale)
        return {"weight": q._quantized_data, "weight_scale": scale, "input_scale": torch.tensor(0.5)}, values

    name = "llama-modelopt"
    quantised(name, LlamaForCausalLM, LlamaConfig(**SQUARE, **rope(), tie_word_embeddings=True), 3006, encode, None, flip=["model.norm.weight"])
    path = HERE / "quantised" / name
    config = json.loads((path / "config.json").read_text())
    del config["quantization_config"]
    (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    layers = {f"model.layers.{i}.mlp.{part}_proj": {"quant_algo": "NVFP4", "group_size": 16} for i in range(2) for part in ("gate", "up", "down")}
    layers |= {f"model.layers.{i}.self_attn.{part}_proj": {"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN" if part == "k" else "FP8"} for i in range(2) for part in "qkvo"}
    settings = {"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": {
        "quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": None, "exclude_modules": ["lm_head"], "quantized_layers": layers}}
    (path / "hf_quant_config.json").write_text(json.dumps(settings, indent=1) + "\n")


def mlx():
    """Experts in one tensor, as mlx-lm's sanitize makes it, and a mode for each kind of module."""
    import mlx.core as mx

    modes = {"gate_proj": "nvfp4", "down_proj": "mxfp8", "q_proj": "affine"}
    sizes = {"nvfp4": 16, "mxfp4": 32, "mxfp8": 32, "affine": 32}

    def mode(name):
        return modes.get(name.rsplit(".", 1)[1], "mxfp4")

    def encode(name, w):
        args = dict(group_size=sizes[mode(name)], bits=8 if mode(name) == "mxfp8" else 4, mode=mode(name))
        stored = mx.quantize(mx.array(w.detach().numpy()), **args)
        values = mx.dequantize(*stored, **args, dtype=mx.float32)
        return dict(zip(("weight", "scales", "biases"), (torch.from_numpy(np.array(t)) for t in stored))), torch.from_numpy(np.array(values))

    def entry(name):
        return {"group_size": sizes[mode(name)], "bits": 8 if mode(name) == "mxfp8" else 4, "mode": mode(name)}

    name, experts = "qwen3_moe-mlx", 3
    own = [f"model.layers.{i}.{part}" for i in range(2) for part in ("mlp.switch_mlp.gate_proj", "mlp.switch_mlp.down_proj", "self_attn.q_proj")]
    config = Qwen3MoeConfig(
        **SQUARE | {"num_key_value_heads": 1}, **rope(), num_experts=experts, num_experts_per_tok=2, head_dim=16, moe_intermediate_size=32, tie_word_embeddings=True)
    quantised(name, Qwen3MoeForCausalLM, config, 3007, encode, {"group_size": 32, "bits": 4, "mode": "mxfp4"} | {part: entry(part) for part in own}, key="quantization")
    file = HERE / "quantised" / name / "model.safetensors"
    tensors = load_file(file)
    for key in [k for k in tensors if ".mlp.experts.0." in k]:
        each = [tensors.pop(key.replace(".experts.0.", f".experts.{i}.")) for i in range(experts)]
        tensors[key.replace(".experts.0.", ".switch_mlp.")] = torch.stack(each)
    save_file(tensors, file, {"format": "pt"})


GROUPS = {"modelopt": modelopt, "mlx": mlx}

for group in sys.argv[1:] or GROUPS:
    GROUPS[group]()
