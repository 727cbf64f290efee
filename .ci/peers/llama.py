"""Measures llama.cpp through its C interface, one file in one process: prints JSON.

The calls are those of llama.h in the versions that `run` pins. A structure of parameters
is passed as its first fields and room for the rest, which the library fills in itself.
What ctypes adds is some five microseconds a step.
"""

import argparse
import ctypes as c
import json
import os
import random
import re
import statistics
import time

ROOM = 1024  # bytes, more than any structure of parameters
OPENING = 16  # tokens before decoding, as in glossa bench
LEAST = 0.1  # minimum seconds of a measurement


class ModelParams(c.Structure):
    _fields_ = [("room", c.c_uint64 * (ROOM // 8))]


class ContextParams(c.Structure):
    _fields_ = [
        ("n_ctx", c.c_uint32), ("n_batch", c.c_uint32), ("n_ubatch", c.c_uint32), ("n_seq_max", c.c_uint32),
        ("outputs", c.c_uint32 * 3), ("threads", c.c_int32 * 2), ("types", c.c_int32 * 4), ("flash_attn_type", c.c_int32),
        ("rope", c.c_uint32 * 8), ("cb_eval", c.c_void_p * 2), ("type_k", c.c_int32), ("type_v", c.c_int32),
        ("room", c.c_uint64 * (ROOM // 8)),
    ]


class Batch(c.Structure):
    _fields_ = [
        ("n_tokens", c.c_int32), ("token", c.POINTER(c.c_int32)), ("embd", c.c_void_p), ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)), ("seq_id", c.POINTER(c.POINTER(c.c_int32))), ("logits", c.POINTER(c.c_int8)),
    ]


F32, F16 = 0, 1  # enum ggml_type
Log = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
lines = []  # that the library logs
keep = Log(lambda level, text, user: lines.append(text.decode(errors="replace")))


def load(directory):
    """Loads the library of a directory, of any version, and its backends."""
    def find(name):
        for file in sorted(os.listdir(directory)):
            if file == f"lib{name}.so" or file.startswith(f"lib{name}.v") and file.endswith(".so"):
                return c.CDLL(os.path.join(directory, file), c.RTLD_GLOBAL)
        raise SystemExit(f"{directory} holds no lib{name}.so")

    ggml, lib = find("ggml"), find("llama")
    pointer, number = c.c_void_p, c.c_int32
    for name, result, args in [
        ("llama_print_system_info", c.c_char_p, []), ("llama_log_set", None, [Log, pointer]),
        ("llama_model_default_params", ModelParams, []), ("llama_context_default_params", ContextParams, []),
        ("llama_model_load_from_file", pointer, [c.c_char_p, ModelParams]), ("llama_init_from_model", pointer, [pointer, ContextParams]),
        ("llama_model_desc", number, [pointer, c.c_char_p, c.c_size_t]), ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", number, [pointer]), ("llama_set_n_threads", None, [pointer, number, number]),
        ("llama_n_threads", number, [pointer]), ("llama_n_threads_batch", number, [pointer]),
        ("llama_get_memory", pointer, [pointer]), ("llama_memory_clear", None, [pointer, c.c_bool]),
        ("llama_memory_seq_rm", c.c_bool, [pointer, number, number, number]),
        ("llama_batch_init", Batch, [number, number, number]), ("llama_decode", number, [pointer, Batch]), ("llama_synchronize", None, [pointer]),
        ("llama_get_logits_ith", c.POINTER(c.c_float), [pointer, number]),
        ("llama_set_embeddings", None, [pointer, c.c_bool]), ("llama_encode", number, [pointer, Batch]),
        ("llama_get_embeddings_seq", c.POINTER(c.c_float), [pointer, number]),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, args
    lib.llama_log_set(keep, None)
    ggml.ggml_backend_load_all_from_path.argtypes = [c.c_char_p]
    ggml.ggml_backend_load_all_from_path(directory.encode())
    return lib


class Rows:
    """Rows of random tokens in one context. If it is exact, keys and values are float32."""

    def __init__(self, lib, path, threads, rows, capacity, exact=False):
        self.lib, self.rows = lib, rows
        model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
        if not model:
            raise SystemExit(f"llama.cpp does not load {path}")
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_seq_max = rows * -(-capacity // 256) * 256, max(512, rows * capacity), rows
        if exact:
            if (params.type_k, params.type_v) != (F16, F16):
                raise SystemExit("llama_context_params is not as this file has it")
            params.type_k, params.type_v, params.flash_attn_type = F32, F32, 0
        self.context = lib.llama_init_from_model(model, params)
        if not self.context:
            raise SystemExit(f"llama.cpp makes no context for {path}")
        lib.llama_set_n_threads(self.context, threads, threads)
        name = c.create_string_buffer(200)
        lib.llama_model_desc(model, name, len(name))
        self.name = name.value.decode()
        self.threads = [lib.llama_n_threads(self.context), lib.llama_n_threads_batch(self.context)]
        self.vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
        self.memory = lib.llama_get_memory(self.context)
        self.random = random.Random(1)
        self.step = self.batch(1)
        self.large = {}

    def batch(self, tokens):
        """Returns a batch of so many tokens a row, from position 0, with logits after the last."""
        b = self.lib.llama_batch_init(self.rows * tokens, 0, 1)
        b.n_tokens = self.rows * tokens
        for row in range(self.rows):
            for j in range(tokens):
                i = row * tokens + j
                b.token[i], b.pos[i] = self.random.randrange(self.vocab), j
                b.n_seq_id[i], b.seq_id[i][0], b.logits[i] = 1, row, j == tokens - 1
        return b

    def compute(self, batch):
        if self.lib.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama_decode failed")
        self.lib.llama_synchronize(self.context)

    def prefill(self, tokens):
        if tokens not in self.large:
            self.large[tokens] = self.batch(tokens)
        self.lib.llama_memory_clear(self.memory, False)
        self.compute(self.large[tokens])

    def decode(self, tokens):
        """Returns the seconds that are not of decoding: a convolution's state cannot be cut."""
        began = time.perf_counter()
        if not all(self.lib.llama_memory_seq_rm(self.memory, row, OPENING, -1) for row in range(self.rows)):
            self.prefill(OPENING)
        opened = time.perf_counter() - began
        for position in range(OPENING, OPENING + tokens):
            for row in range(self.rows):
                self.step.token[row], self.step.pos[row] = self.random.randrange(self.vocab), position
            self.compute(self.step)
        return opened


class Texts:
    """Embeds texts of an encoder, in calls of up to CALL tokens, with the pooling of the file."""

    CALL = 2048

    def __init__(self, lib, path, threads):
        self.lib = lib
        model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
        if not model:
            raise SystemExit(f"llama.cpp does not load {path}: {''.join(lines[-5:])}")
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self.CALL
        params.n_seq_max = 128
        self.context = lib.llama_init_from_model(model, params)
        if not self.context:
            raise SystemExit(f"llama.cpp makes no context for {path}: {''.join(lines[-5:])}")
        lib.llama_set_n_threads(self.context, threads, threads)
        lib.llama_set_embeddings(self.context, True)
        self.space = lib.llama_batch_init(self.CALL, 0, 1)

    def embed(self, texts, width):
        """Returns the vectors of lists of tokens."""
        vectors, each = [], min(128, self.CALL // max(map(len, texts)))
        for first in range(0, len(texts), each):
            b, some, i = self.space, texts[first:first + each], 0
            for row, text in enumerate(some):
                for position, token in enumerate(text):
                    b.token[i], b.pos[i], b.n_seq_id[i], b.seq_id[i][0], b.logits[i] = token, position, 1, row, 1
                    i += 1
            b.n_tokens = i
            if self.lib.llama_encode(self.context, b) != 0:
                raise SystemExit("llama_encode failed")
            self.lib.llama_synchronize(self.context)
            for row in range(len(some)):
                vectors.append(self.lib.llama_get_embeddings_seq(self.context, row)[:width])
        return vectors


def follow(lib, path, threads, texts, out):
    """Computes texts token by token and writes the logits before each generated token."""
    rows = Rows(lib, path, threads, 1, max(len(t["tokens"]) for t in texts), exact=True)

    def write():
        logits = rows.lib.llama_get_logits_ith(rows.context, -1)
        out.write(c.string_at(logits, 4 * rows.vocab))

    for t in texts:
        n = t["prompt"]
        prompt = rows.batch(n)
        for i, token in enumerate(t["tokens"][:n]):
            prompt.token[i] = token
        rows.lib.llama_memory_clear(rows.memory, False)
        rows.compute(prompt)
        write()
        for position, token in enumerate(t["tokens"][n:-1], n):
            rows.step.token[0], rows.step.pos[0] = token, position
            rows.compute(rows.step)
            write()


def buffers():
    """Returns the memory of the weights from the library's log: kind of memory to MiB."""
    found = re.findall(r"(\S+) model buffer size = *([0-9.]+) MiB", "".join(lines))
    return {kind: float(size) for kind, size in found}


def measure(run, tokens, repeat):
    """Returns the median of tokens per second, without the seconds that run returns."""
    run()
    rates = []
    for _ in range(repeat):
        runs, start = 0, time.perf_counter()
        while runs == 0 or time.perf_counter() - start < LEAST:
            start += run() or 0
            runs += 1
        rates.append(runs * tokens / (time.perf_counter() - start))
    return statistics.median(rates)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--libraries", required=True)
    p.add_argument("--model", help="without one, only the instruction sets are printed")
    p.add_argument("--follow", help="a JSON file of texts to compute token by token; their logits go to --logits")
    p.add_argument("--logits")
    for name in ["threads", "batch", "prefill", "decode", "repeat"]:
        p.add_argument("--" + name, type=int, default=1)
    a = p.parse_args()
    lib = load(a.libraries)
    if not a.model:
        print(json.dumps({"system": lib.llama_print_system_info().decode()}))
        return
    if a.follow:
        with open(a.follow, encoding="utf-8") as f, open(a.logits, "wb") as out:
            follow(lib, a.model, a.threads, json.load(f)["texts"], out)
        print("{}")
        return
    rows = Rows(lib, a.model, a.threads, a.batch, max(a.prefill, OPENING + a.decode))
    out = {"model": rows.name, "threads": rows.threads, "buffers": buffers()}
    if a.prefill:
        out["prefill"] = measure(lambda: rows.prefill(a.prefill), a.batch * a.prefill, a.repeat)
    if a.decode:
        rows.prefill(OPENING)
        out["decode"] = measure(lambda: rows.decode(a.decode), a.batch * a.decode, a.repeat)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
