"""Runs glossa and llama.cpp on the same GGUF files, in turn, and prints the ratios.

Refused is what would be no comparison: a peer that does not use an instruction set of
this CPU, other threads than asked for, or another format on one side.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Features of the CPU that pay, as Linux and as ggml call them.
FEATURES = {
    "avx2": "AVX2", "fma": "FMA", "f16c": "F16C", "avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx_vnni": "AVX_VNNI",
    "avx512_bf16": "AVX512_BF16", "amx_int8": "AMX_INT8", "asimddp": "DOTPROD", "i8mm": "MATMUL_INT8", "sve": "SVE",
}


def refuse(message):
    sys.exit(f"refused: {message}")


def run(command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GLOSSA_", "OMP_", "GGML_"))}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def peer(a, *more):
    return json.loads(run([sys.executable, os.path.join(HERE, "llama.py"), "--libraries", a.libraries, *more]))


def check_features(a):
    system = peer(a)["system"]
    print(f"  {system}")
    with open("/proc/cpuinfo", encoding="ascii") as f:
        flags = set(re.search(r"^(?:flags|Features)\s*:(.*)$", f.read(), re.M)[1].split())
    missing = [theirs for ours, theirs in FEATURES.items() if ours in flags and not re.search(rf"\b{theirs} = 1\b", system)]
    if missing:
        refuse(f"this CPU has {', '.join(missing)}, which llama.cpp does not use")


def ours(a, path, quant, threads, batch, prefill):
    """Measures glossa: phase to (tokens a second, fraction of the limit)."""
    out = {}
    for line in run([
        a.glossa, "bench", path, "--json", "--threads", str(threads), "--batch", str(batch), "--prefill", str(prefill),
        "--decode", str(a.decode), "--repeat", str(a.repeat),
    ]).splitlines():
        r = json.loads(line)
        if (r["quant"], r["threads"], r["batch"]) != (quant, threads, batch):
            refuse(f"glossa computes {r['quant']}, {r['threads']} threads, {r['batch']} rows where {quant}, {threads} and {batch} were asked for")
        out[r["phase"]] = (r["tokens_per_second"], r["limit_fraction"])
    return out


def theirs(a, path, quant, threads, batch, prefill):
    """Measures llama.cpp: phase to tokens a second."""
    r = peer(
        a, "--model", path, "--threads", str(threads), "--batch", str(batch), "--prefill", str(prefill),
        "--decode", str(a.decode), "--repeat", str(a.repeat),
    )
    if r["threads"] != [threads, threads]:
        refuse(f"llama.cpp computes with {r['threads']} threads, not {threads}")
    if not re.search(rf"\b{quant}\b|all {quant}\b", r["model"], re.I):
        refuse(f"llama.cpp calls the file {r['model']!r}, which is not {quant}")
    return {phase: r[phase] for phase in ("prefill", "decode") if phase in r}


def compare(a, path, shape, quant, threads, batch):
    prefill = a.prefill if batch == 1 else 0
    rounds = []
    for i in range(a.rounds):
        pair = [lambda: ours(a, path, quant, threads, batch, prefill), lambda: theirs(a, path, quant, threads, batch, prefill)]
        first, second = (0, 1) if i % 2 == 0 else (1, 0)
        results = {first: pair[first]()}
        results[second] = pair[second]()
        rounds.append((results[0], results[1]))
    for phase in rounds[0][0]:
        mine = statistics.median(r[0][phase][0] for r in rounds)
        their = statistics.median(r[1][phase] for r in rounds)
        limits = [r[0][phase][1] for r in rounds]
        share = "-" if None in limits else f"{100 * statistics.median(limits):.0f} %"
        print(
            f"{shape:<11} {quant:<5} {threads:>7} {batch:>5}  {phase:<8} {mine:>10.1f} {share:>8} {their:>10.1f}"
            f" {mine / their:>8.2f}x  {os.getloadavg()[0]:>5.1f}", flush=True,
        )


def main():
    processors = len(os.sched_getaffinity(0))
    p = argparse.ArgumentParser()
    for name in ["glossa", "libraries", "scratch"]:
        p.add_argument("--" + name, required=True)
    p.add_argument("--shapes", default="alpha-1.8m,gpt2-124m,neox-410m,llama-1.1b")
    p.add_argument("--quants", default="q8_0,q4_0")
    p.add_argument("--threads", default=",".join(sorted({"1", str(processors)})))
    p.add_argument("--batches", default="1,8", help="beyond one row only decoding is compared")
    for name, value in {"prefill": 128, "decode": 32, "repeat": 3, "rounds": 2}.items():
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    if max(map(int, a.threads.split(","))) > processors:
        refuse(f"{a.threads} threads on {processors} processors: they would wait for each other")
    check_features(a)
    path = os.path.join(a.scratch, "model.gguf")
    heading = None
    try:
        for shape in a.shapes.split(","):
            for quant in a.quants.split(","):
                made = run([a.glossa, "bench", "--shape", shape, "--quant", quant, "--save", path, "--threads", "1",
                            "--prefill", "0", "--decode", "1" if heading is None else "0", "--repeat", "1"])
                if heading is None:
                    heading = made.splitlines()[0]
                    print(f"glossa: {heading.split(';')[0]}\nload average {os.getloadavg()[0]:.1f}; medians of {a.rounds} rounds of {a.repeat}\n")
                    print("SHAPE       QUANT THREADS BATCH  PHASE        GLOSSA OF LIMIT  LLAMA.CPP    RATIO   LOAD")
                for batch in a.batches.split(","):
                    for threads in a.threads.split(","):
                        compare(a, path, shape, quant, int(threads), int(batch))
    finally:
        if os.path.exists(path):
            os.remove(path)


main()
