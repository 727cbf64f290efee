"""Runs glossa and llama.cpp on the same GGUF files, in turn, and prints the ratios; with
--json lines of JSON instead, the first of which says where, when and with what.

Refused is what would be no comparison: a peer that does not use an instruction set of
this CPU, other threads than asked for, or another format on one side.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Relevant CPU features, by their names in Linux and in ggml.
FEATURES = {
    "avx2": "AVX2", "fma": "FMA", "f16c": "F16C", "avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx_vnni": "AVX_VNNI",
    "avx512_bf16": "AVX512_BF16", "amx_int8": "AMX_INT8", "asimddp": "DOTPROD", "i8mm": "MATMUL_INT8", "sve": "SVE",
}

HEADING = "SHAPE        QUANT THREADS BATCH  PHASE        GLOSSA OF LIMIT  LLAMA.CPP    RATIO   LOAD  LLAMA.CPP'S MEMORY"


def refuse(message):
    sys.exit(f"refused: {message}")


def run(command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GLOSSA_", "OMP_", "GGML_"))}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def peer(a, *more):
    return json.loads(run([sys.executable, os.path.join(HERE, "llama.py"), "--libraries", a.libraries, *more]))


def cpu():
    """Returns the name of the CPU and its relevant features, as Linux names them."""
    with open("/proc/cpuinfo", encoding="ascii") as f:
        text = f.read()
    flags = set(re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.M)[1].split())
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    return name[1] if name else platform.machine(), [flag for flag in FEATURES if flag in flags]


def check_features(a):
    system = peer(a)["system"]
    missing = [FEATURES[flag] for flag in cpu()[1] if not re.search(rf"\b{FEATURES[flag]} = 1\b", system)]
    if missing:
        refuse(f"this CPU has {', '.join(missing)}, which llama.cpp does not use")
    return system


def commit():
    """Returns the measured commit, with a + if there are uncommitted changes."""
    def git(*args):
        return subprocess.run(["git", "-C", HERE, *args], capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


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
    """Measures llama.cpp: phase to tokens a second, and "buffers" to where the weights are."""
    r = peer(
        a, "--model", path, "--threads", str(threads), "--batch", str(batch), "--prefill", str(prefill),
        "--decode", str(a.decode), "--repeat", str(a.repeat),
    )
    if r["threads"] != [threads, threads]:
        refuse(f"llama.cpp computes with {r['threads']} threads, not {threads}")
    if not re.search(rf"\b{quant}\b|all {quant}\b", r["model"], re.I):
        refuse(f"llama.cpp calls the file {r['model']!r}, which is not {quant}")
    return {phase: r[phase] for phase in ("prefill", "decode", "buffers") if phase in r}


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
        limits = [r[0][phase][1] for r in rounds]
        yield {
            "shape": shape, "quant": quant, "threads": threads, "batch": batch, "phase": phase,
            "tokens_per_second": statistics.median(r[0][phase][0] for r in rounds),
            "llama_cpp": statistics.median(r[1][phase] for r in rounds),
            "limit_fraction": None if None in limits else statistics.median(limits),
            "buffers": sorted(rounds[0][1]["buffers"]), "load": os.getloadavg()[0],
        }


def table(r):
    share = "-" if r["limit_fraction"] is None else f"{100 * r['limit_fraction']:.0f} %"
    return (
        f"{r['shape']:<12} {r['quant']:<5} {r['threads']:>7} {r['batch']:>5}  {r['phase']:<8} {r['tokens_per_second']:>10.1f}"
        f" {share:>8} {r['llama_cpp']:>10.1f} {r['tokens_per_second'] / r['llama_cpp']:>8.2f}x  {r['load']:>5.1f}  {' '.join(r['buffers'])}"
    )


def main():
    processors = len(os.sched_getaffinity(0))
    p = argparse.ArgumentParser()
    for name in ["glossa", "libraries", "scratch", "kind"]:
        p.add_argument("--" + name, required=True)
    p.add_argument("--json", action="store_true", help="print JSON lines, and what is for people to the standard error")
    p.add_argument("--shapes", default="alpha-1.8m,gpt2-124m,smollm2-135m,gemma3-270m,granite4-h-350m,lfm2-350m,neox-410m,qwen3-0.6b,moe-16x-370m,oss-16x-490m,llama-1.1b,llama3.2-1b")
    p.add_argument("--quants", default="q8_0,q4_0")
    p.add_argument("--threads", default=",".join(sorted({"1", str(processors)})))
    p.add_argument("--batches", default="1,8", help="beyond one row only decoding is compared")
    for name, value in {"prefill": 128, "decode": 32, "repeat": 3, "rounds": 2}.items():
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    if max(map(int, a.threads.split(","))) > processors:
        refuse(f"{a.threads} threads on {processors} processors: they would wait for each other")
    note = lambda text: print(text, file=sys.stderr if a.json else sys.stdout, flush=True)
    note(f"  {check_features(a)}")
    kernels = run([a.glossa, "bench", "--shape", "alpha-1.8m", "--threads", "1", "--prefill", "0", "--decode", "1", "--repeat", "1"])
    name, features = cpu()
    about = {
        "date": datetime.date.today().isoformat(), "cpu": name, "features": features, "processors": processors,
        "glossa": f"{commit()}, {kernels.split(',')[0]}", "llama_cpp": a.kind,
        "prefill": a.prefill, "decode": a.decode, "repeat": a.repeat, "rounds": a.rounds,
    }
    note(f"glossa: {about['glossa']}\nload average {os.getloadavg()[0]:.1f}; medians of {a.rounds} rounds of {a.repeat}\n")
    print(json.dumps(about) if a.json else HEADING, flush=True)
    path = os.path.join(a.scratch, "model.gguf")
    try:
        for shape, quant in itertools.product(a.shapes.split(","), a.quants.split(",")):
            run([a.glossa, "bench", "--shape", shape, "--quant", quant, "--save", path, "--prefill", "0", "--decode", "0"])
            for batch, threads in itertools.product(a.batches.split(","), a.threads.split(",")):
                for r in compare(a, path, shape, quant, int(threads), int(batch)):
                    print(json.dumps(r) if a.json else table(r), flush=True)
                    if a.json:
                        note(table(r))
    finally:
        if os.path.exists(path):
            os.remove(path)


if __name__ == "__main__":
    main()
