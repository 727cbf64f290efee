"""Writes the golden weight files of this directory and the float32 values that the
packages which define the formats read from them.

Run it from any directory, in an environment of its own; it needs no network:

    python3 -m venv /tmp/goldens
    /tmp/goldens/bin/pip install safetensors==0.8.0 gguf==0.19.0 numpy==2.4.6
    /tmp/goldens/bin/python pkg/engine/checkpoint/testdata/goldens.py

NAME.bin holds, as little-endian float32, the values of NAME's convertible tensors
one after the other, in the order of their names. The output depends on nothing but
the versions above.
"""

import hashlib
import json
import pathlib

import gguf
import numpy as np
import safetensors
from gguf import GGMLQuantizationType as Type
from gguf import quants

HERE = pathlib.Path(__file__).parent
rng = np.random.Generator(np.random.PCG64(20))

# Blocks of each quantisation: bytes, and where the binary16 scales lie.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
}


def expect(name, values):
    """Writes NAME.bin from a dict of float32 arrays."""
    data = b"".join(values[k].astype("<f4").tobytes() for k in sorted(values))
    (HERE / (name + ".bin")).write_bytes(data)


def bf16(values):
    return quants.quantize(values.astype(np.float32), Type.BF16)


def floats(shape):
    """Normal values of very different magnitudes."""
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4, shape)


def write_safetensors(name, tensors, meta=None):
    """tensors: name to (dtype, shape, bytes). More than one string of metadata would
    come out in random order."""
    memory = {k: np.frombuffer(b, np.uint8) for k, (_, _, b) in tensors.items()}
    safetensors.serialize_file({
        k: safetensors.TensorSpec(dtype=d, shape=s, data_ptr=memory[k].ctypes.data, data_len=len(b))
        for k, (d, s, b) in tensors.items()
    }, str(HERE / name), meta)
    (HERE / name).chmod(0o644)


def make_safetensors():
    f64, f32, f16 = floats((3, 5)), floats((2, 3, 4)).astype(np.float32), floats((7,)).astype(np.float16)
    f64[0, :4] = [1 + 2**-24, 1 + 2**-24 + 2**-50, 1e-45, -1e-310]  # ties, subnormals
    f32[0, 0, :3] = [-0.0, 1e-45, 3.4e38]
    f16[:3] = [-0.0, 6e-8, 65504]
    b = floats((4, 2)).astype(np.float32)
    one, none = np.array(2.5, np.float32), np.zeros((3, 0), np.float32)
    f32b, f16b, f64b = f32.tobytes(), f16.tobytes(), f64.tobytes()
    write_safetensors("floats.safetensors", {
        "f64": ("float64", f64.shape, f64b), "f32": ("float32", f32.shape, f32b),
        "f16": ("float16", f16.shape, f16b), "bf16": ("bfloat16", b.shape, bf16(b).tobytes()),
        "scalar": ("float32", (), one.tobytes()), "empty": ("float32", none.shape, b""),
        "i64": ("int64", (2,), np.array([-1, 2**62]).tobytes()),
        "i32": ("int32", (1,), np.array([-7], np.int32).tobytes()),
        "i16": ("int16", (1,), np.array([-300], np.int16).tobytes()),
        "i8": ("int8", (3,), np.array([-1, 0, 1], np.int8).tobytes()),
        "u8": ("uint8", (2,), bytes([0, 255])), "bool": ("bool", (3,), bytes([1, 0, 1])),
    }, {"note": "café \"quoted\""})
    expect("floats.safetensors", {
        "f64": f64.astype(np.float32), "f32": f32, "f16": f16.astype(np.float32),
        "bf16": quants.dequantize(bf16(b), Type.BF16), "scalar": one, "empty": none,
    })


def make_sharded():
    want, places = {}, {}
    for i in range(2):
        shard = f"model-{i + 1:05}-of-00002.safetensors"
        part = {f"layer.{10 * j + i}.weight": floats((2, 3)).astype(np.float32) for j in range(2)}
        write_safetensors(shard, {k: ("float32", v.shape, v.tobytes()) for k, v in part.items()}, {"format": "pt"})
        want |= part
        places |= {k: shard for k in part}
    index = {"metadata": {"total_size": sum(v.nbytes for v in want.values())}, "weight_map": places}
    (HERE / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    expect("model.safetensors.index.json", want)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def blocks(kind, rows, row):
    """Random blocks whose scales are finite, of any sign, some subnormal or zero."""
    values, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows * row // values, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = (rng.standard_normal(len(data)) * 10.0 ** rng.integers(-8, 3, len(data))).astype(np.float16)
        scale[-1] = 0
        data[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, -1)


def make_quantised():
    for kind in SCALES:
        name = kind.name.lower() + ".gguf"
        writer = gguf.GGUFWriter(HERE / name, "llama")
        tensors = {"random": blocks(kind, 3, 512)}
        if kind.name[-1] != "K":  # the package does not quantise the others
            tensors["normal"] = quants.quantize(rng.standard_normal((2, 96), np.float32), kind)
        for key, data in tensors.items():
            writer.add_tensor(key, data, raw_dtype=kind)
        finish(writer)
        expect(name, {k: quants.dequantize(v, kind) for k, v in tensors.items()})


MORE = {Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.IQ4_NL: [0], Type.IQ4_XS: [0], Type.MXFP4: []}


def make_more():
    """Types that were added later, with random numbers of their own."""
    global rng
    rng = np.random.Generator(np.random.PCG64(21))
    SCALES.update(MORE)
    for kind in MORE:
        name = kind.name.lower() + ".gguf"
        data = blocks(kind, 3, 512)
        if kind == Type.MXFP4:  # finite values
            data.reshape(-1, 17)[:, 0] = rng.integers(0, 250, data.size // 17)
        writer = gguf.GGUFWriter(HERE / name, "llama")
        writer.add_tensor("random", data, raw_dtype=kind)
        finish(writer)
        expect(name, {"random": quants.dequantize(data, kind)})


def make_keys():
    """All types of keys, an unusual alignment, the plain floats."""
    w = gguf.GGUFWriter(HERE / "keys.gguf", "gpt2")
    w.add_custom_alignment(64)
    w.add_uint8("u8", 255), w.add_int8("i8", -128)
    w.add_uint16("u16", 65535), w.add_int16("i16", -32768)
    w.add_uint32("u32", 2**32 - 1), w.add_int32("i32", -2**31)
    w.add_uint64("u64", 2**64 - 1), w.add_int64("i64", -2**63)
    w.add_float32("f32", 0.1), w.add_float64("f64", 0.1)
    w.add_bool("yes", True), w.add_bool("no", False)
    w.add_string("text", "café\n")
    w.add_array("texts", ["a", "", "Ġb"]), w.add_array("floats", [0.5, -1.0])
    w.add_array("ints", [3, -4]), w.add_array("bools", [True, False, True])
    w.add_array("bytes", b"\x00\xff")
    f32, f16 = floats((2, 3, 5)).astype(np.float32), floats((3, 5)).astype(np.float16)
    b = floats((4, 3)).astype(np.float32)
    w.add_tensor("f32", f32)
    w.add_tensor("f16", f16)
    w.add_tensor("bf16", bf16(b), raw_dtype=Type.BF16)
    w.add_tensor("i32", np.arange(3, dtype=np.int32))
    finish(w)
    expect("keys.gguf", {"f32": f32, "f16": f16.astype(np.float32), "bf16": quants.dequantize(bf16(b), Type.BF16)})


def make_half():
    """The digest of all finite binary16 values as float32, in the order of their bits."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    half = bits.view(np.float16)
    digest = hashlib.sha256(half[np.isfinite(half)].astype("<f4").tobytes())
    (HERE / "half.sha256").write_text(digest.hexdigest() + "\n")


make_safetensors()
make_sharded()
make_quantised()
make_keys()
make_half()
make_more()
