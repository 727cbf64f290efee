"""Writes the golden files of this directory: goldens.json, with pictures and what Pillow and
transformers make of them. README.md explains its parts.

Versions: pillow==13.0.0, numpy==2.4.6, transformers==5.23.0, torch==2.15.0 (Python 3.11).
Pillow's wheel has libjpeg-turbo 3. Runs offline, in a few seconds:

    python pkg/engine/picture/testdata/goldens.py
"""

import base64
import hashlib
import io
import json
import pathlib
import struct
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps
from transformers import image_processing_backends
from transformers.image_transforms import convert_to_rgb
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

HERE = pathlib.Path(__file__).parent
HALF = [0.5, 0.5, 0.5]
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


def synthetic(width, height, seed):
    """A gradient, stripes, a disc and some noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    random = np.random.default_rng(seed)
    red = 255 * x / max(width - 1, 1)
    green = 127 + 120 * np.sin(x * 0.9 + y * 0.35)
    blue = np.where((x - width / 3) ** 2 + (y - height / 2) ** 2 < (min(width, height) / 3) ** 2, 250, 20)
    pix = np.stack([red, green, blue], axis=-1)
    noisy = random.random((height, width, 1)) < 0.1
    pix = np.where(noisy, random.integers(0, 256, (height, width, 3)), pix)
    return Image.fromarray(np.clip(pix, 0, 255).astype(np.uint8))


def contrast(width, height, seed):
    """Noise with many extremes."""
    pix = np.random.default_rng(seed).integers(-200, 456, (height, width, 3))
    return Image.fromarray(np.clip(pix, 0, 255).astype(np.uint8))


def text(data):
    return base64.b64encode(data).decode()


def digest(array):
    """The first 64 bits of SHA-256."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def saved(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


# --- resizing ---

PICTURES = {
    "landscape": synthetic(61, 47, 1),
    "portrait": synthetic(23, 90, 2),
    "row": synthetic(50, 1, 3),
    "column": synthetic(1, 37, 4),
    "dot": synthetic(1, 1, 5),
    # Sums that are negative, too large, or exactly between two pixels.
    "contrast": contrast(40, 30, 12),
}


def resizes():
    for name, sizes in {
        "landscape": [(61, 47), (17, 11), (122, 94), (61, 20), (61, 99), (30, 47), (200, 47), (1, 1), (1, 100), (100, 1), (59, 46), (7, 150), (333, 4), (45, 20), (50, 25), (50, 24)],
        "portrait": [(64, 64), (5, 30), (24, 91), (90, 23), (300, 1)],
        "row": [(7, 1), (7, 5), (99, 1), (99, 3), (1, 1), (50, 9)],
        "column": [(1, 5), (4, 5), (1, 80), (3, 80), (9, 37)],
        "dot": [(1, 1), (3, 2), (1, 4), (5, 1)],
        "contrast": [(80, 60), (80, 30), (20, 15)],
    }.items():
        for width, height in sizes:
            for kind in Image.Resampling.NEAREST, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.BOX, Image.Resampling.HAMMING:
                pix = np.asarray(PICTURES[name].resize((width, height), kind))
                yield {"picture": name, "filter": int(kind), "width": width, "height": height} | (
                    {"pix": pix.tobytes().hex()} if pix.size <= 24 else {"sha256": digest(pix)}
                )


# --- layouts: the reference's own methods, with arrays that have only a shape ---


def empty(height, width):
    return np.broadcast_to(np.uint8(0), (3, height, width))


def checked(self, image, size, resample=None, **_):
    if not (size.height and size.width):
        raise ValueError("Size must contain 'height' and 'width'")
    return empty(size.height, size.width)


def layouts():
    random = np.random.default_rng(6)
    sizes = [(1, 1), (1, 2), (2, 1), (30000, 1), (1, 30000), (30000, 1666), (1666, 30000), (7071, 7071), (4000, 3000), (3000, 4000), (4096, 4096), (4097, 4095), (2048, 2048)]
    sizes += [(512, 512), (513, 512), (512, 513), (364, 364), (1456, 364), (365, 1456), (640, 480), (480, 640), (1920, 1080), (1080, 1920), (100, 3), (3, 100), (49, 1), (1, 49), (7, 3000), (3000, 7)]
    sizes += [tuple(int(n) for n in np.exp(random.uniform(0, 9.2, 2)) + 1) for _ in range(30)]
    original = image_processing_backends.PilBackend.resize
    image_processing_backends.PilBackend.resize = checked
    try:
        for side, longest in (512, 2048), (364, 1456), (384, 1536), (512, 5000), (100, 5999), (30, 100), (49, 49):
            processor = Idefics3ImageProcessorPil(size={"longest_edge": longest}, max_image_size={"longest_edge": side})
            rows = []
            for width, height in sizes:
                try:
                    image = processor.resize(empty(height, width), processor_size(longest))
                    bounded = image.shape[2], image.shape[1]
                    image = processor.resize_for_vision_encoder(image, side)
                    rows.append([width, height, *bounded, *processor.split_images(image, {"longest_edge": side})[1:]])
                except ValueError:
                    rows.append([width, height, *bounded, -1, -1])
            yield {"side": side, "longest": longest, "sizes": rows}
    finally:
        image_processing_backends.PilBackend.resize = original


def processor_size(longest):
    return image_processing_backends.SizeDict(longest_edge=longest)


# --- frames and values ---


def patches(frame, patch):
    """The inputs of a Conv2d with the stride patch: (n*n, 3*patch*patch)."""
    n = frame.shape[1] // patch
    cut = frame[:, : n * patch, : n * patch]
    return cut.reshape(3, n, patch, n, patch).transpose(1, 3, 0, 2, 4).reshape(n * n, 3 * patch * patch)


def processed():
    square = {"height": 32, "width": 32}
    tiles = {"size": {"longest_edge": 96}, "max_image_size": {"longest_edge": 32}, "image_mean": HALF, "image_std": HALF}
    for name, processor, patch, fields in [
        ("SmolVLM", SmolVLMImageProcessorPil(**tiles), 8, {"filter": 1, "side": 32, "longest": 96, "split": True}),
        ("SmolVLM with a remainder", SmolVLMImageProcessorPil(**tiles), 7, {"filter": 1, "side": 32, "longest": 96, "split": True}),
        ("SmolVLM without tiles", SmolVLMImageProcessorPil(**tiles, do_image_splitting=False), 8, {"filter": 1, "side": 32, "longest": 96}),
        ("Idefics3", Idefics3ImageProcessorPil(size={"longest_edge": 75}, max_image_size={"longest_edge": 30}, image_mean=IMAGENET[0], image_std=IMAGENET[1]), 10, {"filter": 1, "side": 30, "longest": 75, "split": True}),
        ("Gemma 3", Gemma3ImageProcessorPil(size={"height": 56, "width": 56}, image_mean=HALF, image_std=HALF), 14, {"filter": 2, "side": 56}),
        ("SigLIP", SiglipImageProcessorPil(size=square, image_mean=HALF, image_std=HALF), 16, {"filter": 3, "side": 32}),
        ("SigLIP with CLIP's mean", SiglipImageProcessorPil(size=square, image_mean=CLIP[0], image_std=CLIP[1]), 16, {"filter": 3, "side": 32}),
        ("CLIP", CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}), 8, {"filter": 3, "side": 32, "shortest": 32}),
        ("CLIP with a margin", CLIPImageProcessorPil(size={"shortest_edge": 41}, crop_size={"height": 30, "width": 30}), 10, {"filter": 3, "side": 30, "shortest": 41}),
        ("CLIP with nearest pixels", CLIPImageProcessorPil(size={"shortest_edge": 41}, crop_size={"height": 30, "width": 30}, resample=0), 10, {"side": 30, "shortest": 41}),
        ("SigLIP with another scale", SiglipImageProcessorPil(size=square, image_mean=HALF, image_std=HALF, rescale_factor=1 / 127.5), 16, {"filter": 3, "side": 32}),
    ]:
        fields |= {"scale": processor.rescale_factor, "mean": list(processor.image_mean), "std": list(processor.image_std)}
        split = isinstance(processor, (SmolVLMImageProcessorPil, Idefics3ImageProcessorPil))
        info = {"return_row_col_info": True} if split else {}
        pictures = []
        for picture in "landscape", "portrait", "row", "column", "dot":
            both = [
                processor.preprocess([PICTURES[picture]], return_tensors="np", **info, **raw)
                for raw in ({"do_rescale": False, "do_normalize": False}, {})
            ]
            frames, values = (b["pixel_values"][0] if split else b["pixel_values"] for b in both)
            assert frames.max() > 1 and values.dtype == np.float32
            pictures.append({
                "picture": picture,
                "rows": both[0]["rows"][0][0] if split else 0,
                "columns": both[0]["cols"][0][0] if split else 0,
                "frames": [digest(f.astype(np.uint8).transpose(1, 2, 0)) for f in frames],
                "values": [digest(patches(f, patch)) for f in values],
            })
        yield {"name": name, "processor": fields, "patch": patch, "pictures": pictures}


# --- PNG: Pillow writes few kinds, so these are written here ---

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(samples, depth):
    """Rows of samples with filter 0."""
    out = b""
    for row in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            out += b"\0" + row.astype(">u2").tobytes()
        else:
            bits = "".join(format(v, f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            out += b"\0" + bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
    return out


def png(samples, kind, depth, interlaced, *chunks, late=b""):
    height, width = samples.shape[:2]
    if interlaced:
        passes = (samples[y::dy, x::dx] for x, y, dx, dy in ADAM7)
        data = b"".join(packed(p, depth) for p in passes if p.size)
    else:
        data = packed(samples, depth)
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IDAT", zlib.compress(data)) + late + chunk(b"IEND", b"")


def pngs():
    random = np.random.default_rng(7)
    for kind, depth in [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]:
        samples = random.integers(0, 1 << depth, (6, 10, CHANNELS[kind]))
        if kind in (4, 6):  # some are transparent, some opaque
            samples[:2, :, -1] = np.where(samples[:2, :, -1] % 2, 0, (1 << depth) - 1)
        colors, alphas = [], {"": []}
        if kind == 3:
            n = min(1 << depth, 200)
            samples %= n
            colors = [chunk(b"PLTE", random.integers(0, 256, 3 * n).astype(np.uint8).tobytes())]
            alphas[" tRNS"] = [chunk(b"tRNS", random.integers(0, 256, n - n // 3).astype(np.uint8).tobytes())]
            alphas[" tRNS of one"] = [chunk(b"tRNS", b"\xff\0")]
        elif kind in (0, 2):
            samples[3] = samples[0, 0]
            alphas[" tRNS"] = [chunk(b"tRNS", samples[0, 0].astype(">u2").tobytes())]
        for interlaced in 0, 1:
            for suffix, alpha in alphas.items():
                name = f"kind {kind}, {depth} bits" + suffix + " interlaced" * interlaced
                yield name, png(samples, kind, depth, interlaced, *colors, *alpha)


# --- orientation ---


def exif(orientation, order=">"):
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    magic = b"MM\0*" if order == ">" else b"II*\0"
    return magic + struct.pack(order + "IH", 8, 1) + entry + bytes(4)


def xmp(orientation):
    return f'<x:xmpmeta><rdf:Description tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()


def oriented():
    samples = np.random.default_rng(8).integers(0, 256, (5, 8, 3))
    for orientation in range(10):
        order = "><"[orientation % 2]
        yield f"eXIf {orientation} {order}", png(samples, 2, 8, 0, chunk(b"eXIf", exif(orientation, order)))
    for orientation in 3, 6:
        yield f"iTXt {orientation}", png(samples, 2, 8, 0, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp(orientation)))
    yield "eXIf before iTXt", png(samples, 2, 8, 0, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp(3)), chunk(b"eXIf", exif(6)))
    yield "eXIf after the pixels", png(samples, 2, 8, 0, late=chunk(b"eXIf", exif(8)))


def app1(jpeg, *segments):
    """The file with segments before its own."""
    return jpeg[:2] + b"".join(b"\xff\xe1" + struct.pack(">H", len(s) + 2) + s for s in segments) + jpeg[2:]


def jpegs():
    smooth = synthetic(13, 9, 9).resize((24, 17), Image.Resampling.BICUBIC)
    for name, options in {
        "4:4:4": {"subsampling": 0},
        "4:2:2": {"subsampling": 1},
        "4:2:0": {"subsampling": 2},
        "4:2:0 progressive": {"subsampling": 2, "progressive": True},
    }.items():
        yield name, saved(smooth, format="JPEG", quality=90, **options)
    # Pillow does not write these: the blocks are those of another layout, so they are scrambled.
    yield "4:4:0", relabelled(saved(smooth, format="JPEG", quality=90, subsampling=1), 0x12, 17, 24)
    yield "4:1:1", relabelled(saved(smooth, format="JPEG", quality=90, subsampling=2), 0x41, 49, 14)
    yield "4:2:0, 5 pixels wide", saved(synthetic(5, 9, 10), format="JPEG", subsampling=2, quality=95)
    yield "4:2:0, 3 pixels wide", saved(synthetic(3, 9, 11), format="JPEG", subsampling=2, quality=95)
    yield "RGB", saved(smooth, format="JPEG", quality=90, keep_rgb=True)
    yield "grey", saved(smooth.convert("L"), format="JPEG", quality=90)
    yield "CMYK", saved(smooth.convert("CMYK"), format="JPEG", quality=90)
    yield "YCCK", ycck(saved(smooth.convert("CMYK"), format="JPEG", quality=90))
    plain = saved(smooth.crop((0, 0, 16, 11)), format="JPEG", quality=90, subsampling=0)
    for orientation in 6, 8:
        yield f"Exif {orientation}", app1(plain, b"Exif\0\0" + exif(orientation))
    yield "XMP 6", app1(plain, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6))
    yield "Exif in two segments", app1(plain, b"Exif\0\0" + exif(5)[:15], b"Exif\0\0" + exif(5)[15:])


def relabelled(jpeg, factors, width, height):
    """The file with the same number of blocks in each unit and of units, in another layout."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HHBBB", height, width, 3, 1, factors) + jpeg[at + 7 :]


def large():
    """Files that take the most memory for their size, of one colour."""
    size = 400, 300
    yield "progressive", saved(Image.new("RGB", size), format="JPEG", quality=30, subsampling=0, progressive=True)
    yield "progressive CMYK", saved(Image.new("CMYK", size), format="JPEG", quality=30, progressive=True)
    yield "4:2:0", saved(Image.new("RGB", size), format="JPEG", quality=30, optimize=True)
    yield "grey", saved(Image.new("L", size), format="JPEG", quality=30, optimize=True)
    yield "16 bits interlaced", png(np.zeros((300, 400, 4), np.uint16), 6, 16, 1)
    yield "8 bits", png(np.zeros((300, 400, 3), np.uint8), 2, 8, 0)


def ycck(jpeg):
    """The same samples, called YCCK by Adobe's marker."""
    at = jpeg.index(b"Adobe")
    return jpeg[: at + 11] + b"\x02" + jpeg[at + 12 :]


def reference(data):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return convert_to_rgb(image, return_numpy=True)


def main():
    warnings.simplefilter("ignore")
    exact = {name: data for list in (pngs(), oriented()) for name, data in list}
    out = {
        "pictures": {name: text(saved(p, format="PNG", optimize=True)) for name, p in PICTURES.items()},
        "resizes": list(resizes()),
        "layouts": list(layouts()),
        "processed": list(processed()),
        "png": [
            {"name": name, "file": text(data), "width": pix.shape[1], "height": pix.shape[0], "sha256": digest(pix)}
            for name, data in exact.items()
            for pix in [reference(data)]
        ],
        "jpeg": [
            {"name": name, "file": text(data), "width": pix.shape[1], "height": pix.shape[0], "pix": text(zlib.compress(pix.tobytes(), 9))}
            for name, data in jpegs()
            for pix in [reference(data)]
        ],
        "large": {name: text(data) for name, data in large()},
    }
    with open(HERE / "goldens.json", "w") as f:
        f.write("{\n" + ",\n".join(f'"{key}": ' + lines(value) for key, value in out.items()) + "\n}\n")


def lines(value):
    """JSON with one line for each element."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in value.items()) + "\n}"
    return "[\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in value) + "\n]"


if __name__ == "__main__":
    main()
