"""Measures glossa's encoders, torch, onnxruntime and llama.cpp on the same random models and
tokens, in turn, and prints texts a second and the ratios as a table in Markdown.

Texts of one request have the same length, so no peer computes padding, and are tokens, so no
tokenizer is measured. Torch computes what sentence-transformers calls: the model of
transformers with the attention that it chooses, then the mean.
"""

import argparse
import datetime
import itertools
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import onnxruntime
import tokenizers
import torch
import transformers
from gguf import GGMLQuantizationType
from onnxruntime.quantization import QuantType, quantize_dynamic

import ggufs

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import llama

FIRST, LAST = 1000, 20000
WRONG = float("inf")  # seconds of a peer whose vectors are others
SLOW = 5  # seconds: a request that takes longer is measured once
WARM, WARMING = 12, 1  # requests that are not measured, and for how many seconds: glossa finds out which of its ways is faster
REST = 0.25  # seconds in which the threads of the last peer, which wait for work without sleeping, go to sleep
WAKING = 0.2  # seconds of requests before those that count: two virtual processors that have slept may share a core at first
ROW, SHORT = 5, 1  # requests in a row that make one time, as far as they begin within so many seconds
BERT = dict(vocab_size=30522, max_position_embeddings=512)
QUANTS = "f32", "q8_0", "q8_128"
SHAPES = {
    "minilm-l6": lambda: transformers.BertModel(transformers.BertConfig(
        **BERT, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536), add_pooling_layer=False),
    "bge-base": lambda: transformers.BertModel(transformers.BertConfig(**BERT), add_pooling_layer=False),
    "modernbert-base": lambda: transformers.ModernBertModel(transformers.ModernBertConfig(
        pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)),
    "bge-m3": lambda: transformers.XLMRobertaModel(transformers.XLMRobertaConfig(
        vocab_size=250002, max_position_embeddings=8194, type_vocab_size=1, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        intermediate_size=4096), add_pooling_layer=False),
}


class Mean(torch.nn.Module):
    """The vector of a text: the mean of its tokens. There is no padding."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state.mean(1)


def make(shape, path):
    """Writes a random model with a tokenizer, which is not used."""
    torch.manual_seed(1)
    model = SHAPES[shape]().eval()
    model.save_pretrained(path)
    vocab = {piece: i for i, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    vocab |= {f"w{i}": i for i in range(5, model.config.vocab_size)}
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = tokenizers.normalizers.BertNormalizer(), tokenizers.pre_tokenizers.BertPreTokenizer()
    t.decoder = tokenizers.decoders.WordPiece()
    t.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=t, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]").save_pretrained(path)
    return Mean(model)


def inputs(tokens, batch):
    ids = np.random.Generator(np.random.PCG64(1)).integers(FIRST, LAST, (batch, tokens))
    return ids, np.ones_like(ids)


def glossa(program, path, quant, threads):
    """Returns functions: the seconds of a request, what the processor can do now in operations a second, and the end."""
    p = subprocess.Popen([program, path, quant, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line):
        p.stdin.write(line + "\n")
        p.stdin.flush()
        answer = p.stdout.readline()
        if not answer:
            sys.exit(f"{program} ended with {p.wait()}")
        return int(answer)

    return lambda tokens, batch: ask(f"{tokens} {batch}") / 1e9, lambda: ask("peak"), lambda: (p.stdin.close(), p.wait())


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def by_torch(model):
    def seconds(tokens, batch):
        ids, mask = (torch.from_numpy(x) for x in inputs(tokens, batch))
        with torch.inference_mode():
            return timed(lambda: model(ids, mask))
    return seconds


def by_onnx(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def seconds(tokens, batch):
        ids, mask = inputs(tokens, batch)
        return timed(lambda: session.run(None, {"ids": ids, "mask": mask}))
    return seconds


def by_llama(lib, path, threads, model):
    texts, width = llama.Texts(lib, path, threads), model.model.config.hidden_size
    ids, mask = inputs(16, 2)
    with torch.inference_mode():
        want = model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    got = np.array(texts.embed(ids.tolist(), width))
    cosine = (want * got).sum(1) / np.linalg.norm(want, axis=1) / np.linalg.norm(got, axis=1)
    if cosine.min() < 0.99:
        print(f"llama.cpp computes other vectors of {path} with {threads} threads: cosine {cosine}", file=sys.stderr)
        return None

    def seconds(tokens, batch):
        ids = inputs(tokens, batch)[0].tolist()
        return timed(lambda: texts.embed(ids, width))
    return seconds


def export(model, directory):
    """Writes the model for onnxruntime, in float32 and with its dynamic int8."""
    whole, small = str(directory / "f32.onnx"), str(directory / "int8.onnx")
    ids, mask = (torch.from_numpy(x) for x in inputs(16, 2))
    batch, tokens = torch.export.Dim("batch", min=1, max=4096), torch.export.Dim("tokens", min=2, max=512)
    axes = {0: batch, 1: tokens}
    with torch.inference_mode():
        torch.onnx.export(model, (ids, mask), whole, input_names=["ids", "mask"], output_names=["vector"],
                          dynamo=True, dynamic_shapes=(axes, axes), external_data=False, verbose=False)
    quantize_dynamic(whole, small, weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": 1})
    return whole, small


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii")
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    return found[1] if found else "unknown processor"


def measure(a, shape, threads, points):
    torch.set_num_threads(threads)
    directory = pathlib.Path(a.scratch, shape)
    model = make(shape, directory)
    products = sum(m.in_features * m.out_features for m in model.modules() if isinstance(m, torch.nn.Linear))
    contenders, ends, peaks = {}, [], []
    for quant in QUANTS:
        contenders[f"glossa {quant}"], peak, end = glossa(a.glossa, str(directory), quant, threads)
        ends.append(end)
    contenders["torch f32"] = by_torch(model)
    if a.onnx:
        whole, small = export(model, directory)
        contenders["onnxruntime f32"], contenders["onnxruntime int8"] = by_onnx(whole, threads), by_onnx(small, threads)
    if a.libraries:
        lib = llama.load(a.libraries)
        for quant, kind in ("f32", GGMLQuantizationType.F32), ("q8_0", GGMLQuantizationType.Q8_0):
            path = str(directory / f"{quant}.gguf")
            ggufs.write(model.model, path, kind)
            contenders[f"llama.cpp {quant}"] = by_llama(lib, path, threads, model)
    try:
        for tokens, batch in points:
            seen = {name: [] for name in contenders}
            for turn in range(a.rounds + 1):
                for name, seconds in contenders.items():
                    time.sleep(REST)
                    if seconds and turn == 0:
                        warm_up(lambda: seconds(tokens, batch))
                    seen[name].append(in_a_row(lambda: seconds(tokens, batch)) if seconds else WRONG)
                peaks.append(peak())  # not between requests: it is as long as many, and workers would sleep
                if max(t for taken in seen.values() if (t := min(taken)) < WRONG) > SLOW:
                    break
            # The first request of several warms up.
            seen = {name: taken[1:] or taken for name, taken in seen.items()}
            yield tokens, batch, {name: batch / statistics.median(taken) for name, taken in seen.items()}, max(peaks) / (2 * products * tokens)
    finally:
        for end in ends:
            end()


def in_a_row(seconds):
    began = time.perf_counter()
    took = [seconds()]
    while time.perf_counter() < began + WAKING:
        took = [seconds()]
    while len(took) < ROW and sum(took) < SHORT:
        took.append(seconds())
    return statistics.median(took)


def warm_up(request):
    began = time.perf_counter()
    for _ in range(WARM):
        request()
        if time.perf_counter() > began + WARMING:
            break


def row(shape, threads, tokens, batch, speed, limit):
    peers = {name: s for name, s in speed.items() if not name.startswith("glossa")}
    plain = max(s for name, s in peers.items() if name.endswith("f32"))
    ratios = (speed[f"glossa {quant}"] / (plain if quant == "f32" else max(peers.values())) for quant in QUANTS)
    cells = [shape, threads, tokens, batch, *(f"{s:.1f}" if s else "wrong" for s in speed.values()), f"{tokens * speed['glossa q8_128']:.0f}",
             f"{limit:.1f}", *(f"{r:.2f}" for r in ratios), f"{limit / max(peers.values()):.2f}", f"{os.getloadavg()[0]:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--glossa", required=True)
    p.add_argument("--scratch", required=True)
    p.add_argument("--shapes", default=",".join(SHAPES))
    p.add_argument("--threads", default="1,2")
    p.add_argument("--tokens", default="16,128,512")
    p.add_argument("--batches", default="1,64")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--libraries", help="the directory of llama.cpp's libraries")
    p.add_argument("--kind", help="how they were made")
    p.add_argument("--onnx", action=argparse.BooleanOptionalAction, default=True)
    a = p.parse_args()
    numbers = lambda text: [int(n) for n in text.split(",")]
    names = [*(f"glossa {quant}" for quant in QUANTS), "torch f32"] + (["onnxruntime f32", "onnxruntime int8"] if a.onnx else []) + (
        ["llama.cpp f32", "llama.cpp q8_0"] if a.libraries else [])
    print(f"{datetime.date.today().isoformat()}, {processor()}; torch {torch.__version__}, transformers {transformers.__version__}, "
          f"onnxruntime {onnxruntime.__version__}{', llama.cpp ' + a.kind if a.kind else ''}. Texts a second, medians of {a.rounds} times in turn, each of which is the median of {ROW} requests in a row after {WAKING} s of others, or one that takes longer than {SLOW} s; the ratios are glossa's "
          "f32 to the fastest peer in f32, and its 8 bits to the fastest peer. The limit is that of a program which computes nothing but "
          "the products of weights, and these with the fastest instructions for bytes but AMX.\n")
    heads = ["shape", "threads", "tokens", "batch", *names, "tokens/s of q8_128", "limit", *(f"{quant} ratio" for quant in QUANTS), "limit's ratio", "load"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    for shape, threads in itertools.product(a.shapes.split(","), numbers(a.threads)):
        for tokens, batch, speed, limit in measure(a, shape, threads, itertools.product(numbers(a.tokens), numbers(a.batches))):
            print(row(shape, threads, tokens, batch, speed, limit), flush=True)


if __name__ == "__main__":
    main()
