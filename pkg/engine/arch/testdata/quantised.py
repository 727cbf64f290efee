"""Goldens of quantised directories: models whose matrices are what the packages that publish such
directories dequantise, and the same matrices as these packages store them."""

import json

import torch
from compressed_tensors.compressors import (
    FloatQuantizationCompressor, IntQuantizationCompressor, MXFP4PackedCompressor, MXFP8QuantizationCompressor, NVFP4PackedCompressor, PackedQuantizationCompressor,
)
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from compressed_tensors.utils.match import match_named_modules, match_targets
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

import common
from common import HERE
from decoders import make
from modern import OTHER, rope


def quantised(name, kind, config, seed, encode, settings, flip=(), key="quantization_config"):
    """encode returns the tensors of a matrix by their endings, and the values that they stand for; key is that of settings."""
    stored = {}

    def tune(model):
        with torch.no_grad():
            for parameter, p in model.named_parameters():
                for part, values in matrices(parameter, p):
                    if found := encode(part, values):
                        stored[part] = found[0]
                        values.copy_(found[1])

    path = f"quantised/{name}"
    make(path, kind, config, seed, 70, tune=tune, long=0, flip=flip)
    file = HERE / path / "model.safetensors"
    tensors = load_file(file)
    for part, found in stored.items():
        del tensors[part + ".weight"]
        tensors |= {f"{part}.{ending}": t.contiguous() for ending, t in found.items()}
    save_file(tensors, file, {"format": "pt"})
    config = json.loads((HERE / path / "config.json").read_text())
    (HERE / path / "config.json").write_text(json.dumps(config | {key: settings}, indent=1) + "\n")
    common.SIZES[name], common.WORST[name] = sum(f.stat().st_size for f in (HERE / path).iterdir()), common.WORST.pop(path)


def matrices(key, p):
    """The matrices of a parameter, by the names that files have."""
    if p.dim() == 2 and key.endswith(("_proj.weight", "embed_tokens.weight", "lm_head.weight")):
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
    kept = ["lm_head", "model.embed_tokens", "model.layers.0.self_attn.o_proj"]

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
            "activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": list(block), "modules_to_not_convert": kept[::2]})


def compressed():
    """Each matrix in another form; the scales of down_proj are float32, the other ones bfloat16."""
    inputs = QuantizationArgs(num_bits=8, strategy="token", dynamic=True)
    floats = QuantizationArgs(num_bits=8, type="float", strategy="token", dynamic=True)
    forms = {
        "q_proj": (IntQuantizationCompressor, "int-quantized", inputs, {"num_bits": 8, "strategy": "channel"}),
        "k_proj": (IntQuantizationCompressor, "int-quantized", inputs, {"num_bits": 8, "strategy": "channel", "symmetric": False}),
        "v_proj": (PackedQuantizationCompressor, "pack-quantized", None, {"num_bits": 8, "strategy": "channel"}),
        "o_proj": (FloatQuantizationCompressor, "float-quantized", floats, {"num_bits": 8, "type": "float", "strategy": "channel"}),
        "gate_proj": (PackedQuantizationCompressor, "pack-quantized", None, {"num_bits": 4, "strategy": "group", "group_size": 8}),
        "up_proj": (PackedQuantizationCompressor, "pack-quantized", None, {"num_bits": 4, "strategy": "group", "group_size": 12, "symmetric": False}),
        "down_proj": (FloatQuantizationCompressor, "float-quantized", floats, {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [8, 20]}),
    }
    schemes = {n: QuantizationScheme(targets=[f"re:.*{n}"], weights=QuantizationArgs(**args), input_activations=acts, format=form)
               for n, (_, form, acts, args) in forms.items()}

    def encode(name, w):
        kind = name.rsplit(".", 1)[1]
        compressor, scheme = forms[kind][0], schemes[kind]
        args = scheme.weights
        if args.strategy == "block":
            tiles = w.reshape(w.shape[0] // 8, 8, w.shape[1] // 20, 20)
            scale, zero = calculate_qparams(tiles.amin((1, 3)), tiles.amax((1, 3)), args)
        else:
            groups = w.reshape(w.shape[0], -1, args.group_size) if args.strategy == "group" else w
            low, high = torch.aminmax(groups, dim=-1, keepdim=args.strategy != "group")
            scale, zero = calculate_qparams(low, high, args)
            scale = scale.bfloat16()
        state = {"weight": w.detach().clone(), "weight_scale": scale}
        if not args.symmetric:
            state["weight_zero_point"] = zero.round().to(torch.int8)
        tensors = compressor.compress(state, scheme)
        return tensors, compressor.decompress(tensors, scheme)["weight"].float()

    settings = {
        "quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": ["lm_head"], "quantization_status": "compressed", "kv_cache_scheme": None,
        "config_groups": {f"group_{i}": json.loads(s.model_dump_json()) for i, s in enumerate(schemes.values())},
    }
    quantised("llama-compressed", LlamaForCausalLM, LlamaConfig(**OTHER, **rope(), head_dim=8, tie_word_embeddings=True), 3002, encode, settings, flip=["model.norm.weight"])


SQUARE = dict(OTHER, hidden_size=32, num_attention_heads=2, intermediate_size=64)


def micro(args, compressor):
    """Returns a function that quantises a matrix in blocks of a row whose scales have one byte."""
    scheme = QuantizationScheme(targets=["Linear"], weights=args)

    def encode(w):
        low, high = torch.aminmax(w.reshape(w.shape[0], -1, args.group_size), dim=-1)
        state = {"weight": w.detach().clone()}
        if compressor is NVFP4PackedCompressor:
            state["weight_global_scale"] = generate_gparam(w.amin(), w.amax()).reshape(1)
        state["weight_scale"], _ = calculate_qparams(low, high, args, global_scale=state.get("weight_global_scale"))
        tensors = compressor.compress(state, scheme)
        return tensors, compressor.decompress(tensors, scheme)["weight"].float()

    return encode


def compressed_settings(groups, form, ignore):
    return {
        "quant_method": "compressed-tensors", "format": form, "ignore": ignore, "quantization_status": "compressed", "kv_cache_scheme": None,
        "config_groups": {f"group_{i}": json.loads(g.model_dump_json()) for i, g in enumerate(groups)},
    }


def nvfp4():
    args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, scale_dtype=torch.float8_e4m3fn)
    inputs = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, dynamic="local")
    encode = micro(args, NVFP4PackedCompressor)
    group = QuantizationScheme(targets=["Linear"], weights=args, input_activations=inputs, format="nvfp4-pack-quantized")
    quantised("llama-nvfp4", LlamaForCausalLM, LlamaConfig(**SQUARE, **rope(), tie_word_embeddings=True), 3003,
              lambda name, w: None if "_proj" not in name else encode(w), compressed_settings([group], "nvfp4-pack-quantized", ["lm_head"]), flip=["model.norm.weight"])


def mxfp4():
    fours = QuantizationArgs(num_bits=4, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8)
    eights = QuantizationArgs(num_bits=8, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8)
    encode = {"mlp": micro(fours, MXFP4PackedCompressor), "self_attn": micro(eights, MXFP8QuantizationCompressor)}
    groups = [
        QuantizationScheme(targets=["re:.*mlp.*"], weights=fours, format="mxfp4-pack-quantized"),
        QuantizationScheme(targets=["re:.*self_attn.*"], weights=eights, format="mxfp8-quantized"),
    ]
    quantised("llama-mxfp4", LlamaForCausalLM, LlamaConfig(**SQUARE, **rope(), tie_word_embeddings=True), 3004,
              lambda name, w: encode[name.split(".")[3]](w) if "_proj" in name else None, compressed_settings(groups, "mixed-precision", ["lm_head"]), flip=["model.norm.weight"])


def targets():
    """Groups whose scales have the same shapes: the package's own choice for each module."""
    config = LlamaConfig(**OTHER, **rope(), head_dim=8, tie_word_embeddings=True)
    lists = [["Linear"], ["re:.*(gate|up)_proj"], ["re:.*layers.1.*_proj$", "model.layers.0.self_attn.o_proj"], ["model.layers.1.mlp.up_proj"]]
    groups = [
        QuantizationScheme(targets=names, weights=QuantizationArgs(num_bits=8, type="float", strategy="block", block_structure=block), format="float-quantized")
        for names, block in zip(lists, ([16, 12], [15, 13], [14, 14], [17, 20]))
    ]
    chosen, all_targets = {}, {target: g for g in groups for target in g.targets}
    for name, module in match_named_modules(LlamaForCausalLM(config), all_targets, ["lm_head"]):
        if isinstance(module, torch.nn.Linear):
            chosen[name] = all_targets[match_targets(name, module, all_targets)[0]]

    def encode(name, w):
        if name not in chosen:
            return None
        scheme, (height, width) = chosen[name], chosen[name].weights.block_structure
        rows, cols = w.shape
        whole = torch.nn.functional.pad(w, (0, -cols % width, 0, -rows % height))
        tiles = whole.reshape(whole.shape[0] // height, height, whole.shape[1] // width, width)
        scale, _ = calculate_qparams(tiles.amin((1, 3)), tiles.amax((1, 3)), scheme.weights)
        tensors = FloatQuantizationCompressor.compress({"weight": w.detach().clone(), "weight_scale": scale}, scheme)
        return tensors, FloatQuantizationCompressor.decompress(tensors, scheme)["weight"].float()

    quantised("llama-targets", LlamaForCausalLM, config, 3005, encode, compressed_settings(groups, "float-quantized", ["lm_head"]), flip=["model.norm.weight"])


GROUPS = {"quantised": lambda: [f() for f in (fp8, compressed, nvfp4, mxfp4, targets)]}
