"""Goldens of directories whose weights are levels: a model whose matrices are what GPTQModel, AutoAWQ,
MLX and bitsandbytes dequantise on a processor, and the same matrices as these packages store them.

It runs alone, in the environment of goldens.py with these packages: gptqmodel 7.7.0 and autoawq 0.2.9
from their sources, mlx 0.32.4 and bitsandbytes 0.50.2.

    PYTHONPATH=gptqmodel-7.7.0:autoawq-0.2.9 python pkg/engine/arch/testdata/levels.py [gptq awq mlx nf4]
"""

import sys
import types

sys.dont_write_bytecode = True

import bitsandbytes.functional as bnb  # noqa: E402
import importlib.util  # noqa: E402
import mlx.core as mx  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from gptqmodel.nn_modules.qlinear.torch import TorchLinear  # noqa: E402
from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

from modern import rope  # noqa: E402
from quantised import quantised  # noqa: E402

GROUP = 16
TABLES = ("model.embed_tokens", "lm_head")


def llama(**changes):
    return LlamaConfig(**{
        "vocab_size": 70, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "tie_word_embeddings": False} | rope() | changes)


def ranges(w, bits, order):
    """The scales and zeros (groups, out) of groups of inputs. Some groups have no negative values, so that their zero is 0."""
    w[::5] = w[::5].abs()
    groups = [w[:, order == g] for g in range(int(order.max()) + 1)]
    low, high = (torch.stack([edge.clamp(max=0) if i == 0 else edge.clamp(min=0) for edge in edges]) for i, edges in enumerate(
        ([g.amin(1) for g in groups], [g.amax(1) for g in groups])))
    scales = ((high - low) / (2**bits - 1)).half().float()
    return scales, (-low / scales).round()


def gptq():
    """Groups of inputs in any order."""
    bits, rng = 4, np.random.default_rng(3101)

    def encode(part, w):
        if part in TABLES:
            return None
        order = np.arange(w.shape[1]) // GROUP
        rng.shuffle(order)
        order = torch.from_numpy(order)
        scales, zeros = ranges(w, bits, order)
        linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
        linear.weight.data = w.clone()
        m = TorchLinear(bits, GROUP, sym=False, desc_act=True, in_features=w.shape[1], out_features=w.shape[0])
        m.pack_original(linear, scales.T, zeros.T, order.int())
        m.post_init()
        values = m.dequantize_weight().T.float()
        assert (values - w).abs().max() <= scales.max() * 0.51
        convert_gptq_v2_to_v1_format_module(m, types.SimpleNamespace(bits=bits, pack_dtype=torch.int32))
        return {key: getattr(m, key).clone() for key in ("qweight", "qzeros", "scales", "g_idx")}, values

    quantised("llama-gptq", LlamaForCausalLM, llama(tie_word_embeddings=True), 3101, encode, {
        "quant_method": "gptq", "bits": bits, "group_size": GROUP, "desc_act": True, "sym": False, "checkpoint_format": "gptq", "lm_head": False})


def awq():
    spec = importlib.util.find_spec("awq").submodule_search_locations[0]
    for package in ("awq", "awq.modules", "awq.modules.linear", "awq.utils"):  # whose own imports need older packages
        sys.modules[package] = module = types.ModuleType(package)
        module.__path__ = [spec + package.removeprefix("awq").replace(".", "/")]
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm

    def encode(part, w):
        if part in TABLES:
            return None
        scales, zeros = ranges(w, 4, torch.arange(w.shape[1]) // GROUP)
        every = [t.half().float().repeat_interleave(GROUP, 0).T for t in (scales, zeros)]
        linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
        linear.weight.data = ((w / every[0] + every[1]).round().clamp(0, 15) - every[1]) * every[0]  # it expects values of levels
        m = WQLinear_GEMM.from_linear(linear, 4, GROUP, scales=scales, zeros=zeros)
        values = dequantize_gemm(m.qweight, m.qzeros, m.scales, 4, GROUP).T.float()
        assert (values - linear.weight).abs().max() <= scales.max() * 0.01
        return {key: getattr(m, key).clone() for key in ("qweight", "qzeros", "scales")}, values

    quantised("llama-awq", LlamaForCausalLM, llama(tie_word_embeddings=True, num_key_value_heads=4), 3103, encode, {
        "quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm", "zero_point": True, "modules_to_not_convert": None})


def mlx():
    """The embedding is quantised and tied, and a module has other groups and bits."""
    def encode(part, w):
        size, bits = (64, 6) if part == "model.layers.1.mlp.down_proj" else (32, 4)
        stored = mx.quantize(mx.array(w.numpy()), group_size=size, bits=bits)
        values = mx.dequantize(*stored, group_size=size, bits=bits)
        return dict(zip(("weight", "scales", "biases"), (torch.from_numpy(np.array(t)) for t in stored))), torch.from_numpy(np.array(values))

    quantised("llama-mlx", LlamaForCausalLM, llama(tie_word_embeddings=True), 3104, encode, {
        "group_size": 32, "bits": 4, "mode": "affine", "model.layers.1.mlp.down_proj": {"group_size": 64, "bits": 6}}, key="quantization")


def nf4():
    """Blocks of scales that do not end with matrices."""
    def encode(part, w):
        if part in TABLES:
            return None
        if part == "model.layers.1.mlp.down_proj":
            codes, scales, _ = bnb.int8_vectorwise_quant(w.half())
            return {"weight": codes, "SCB": scales, "weight_format": torch.tensor(0, dtype=torch.uint8)}, bnb.int8_vectorwise_dequant(codes, scales)
        codes, state = bnb.quantize_4bit(w, blocksize=32, compress_statistics="q_proj" in part, quant_type="fp4" if "gate" in part else "nf4")
        return {"weight": codes} | {f"weight.{key}": t for key, t in state.as_dict(packed=True).items()}, bnb.dequantize_4bit(codes, state)

    quantised("llama-nf4", LlamaForCausalLM, llama(tie_word_embeddings=True), 3105, encode, {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True})


GROUPS = {"gptq": gptq, "awq": awq, "mlx": mlx, "nf4": nf4}

for group in sys.argv[1:] or GROUPS:
    GROUPS[group]()
