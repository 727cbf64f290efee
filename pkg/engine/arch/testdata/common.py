"""What the scripts of this directory share: random parameters, forward passes whose
block inputs and outputs are caught by hooks, and checks that a golden can fail."""

import contextlib
import json
import pathlib
import shutil

import numpy as np
import torch
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
SIZES = {}  # name to bytes
WORST = {}  # name to the largest difference to the same pass in float64

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def directory(name):
    """An empty directory for the model."""
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def random_parameters(model, seed, embed=0.7, flip=()):
    """Every parameter random: matrices keep the size of what they multiply, queries and
    keys enlarge it, so that attention is far from uniform; norms 1±0.5, biases ±0.3.
    The norms named in flip get random signs: tied models repeat their input without."""
    rng = np.random.Generator(np.random.PCG64(seed))
    tables = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if id(p) in tables:
                value = embed * rng.standard_normal(p.shape)
            elif p.dim() == 3:  # the matrices of experts
                value = 1.2 * rng.standard_normal(p.shape) / p.shape[2]**0.5
            elif p.dim() == 2 and "_norm" not in name:
                conv = ".c_" in name  # GPT-2's are (in, out)
                fan = p.shape[0] if conv else p.shape[1]
                gain = 1.6 if any(k in name for k in ("q_proj", "k_proj", "qkv_proj", "c_attn", "query_key_value")) else 1.2
                gain = 2.5 if "lm_head" in name or "embed_out" in name else gain
                value = gain * rng.standard_normal(p.shape) / fan**0.5
            elif name.endswith("bias"):
                value = 0.3 * rng.standard_normal(p.shape)
            else:
                value = 1 + rng.uniform(-0.5, 0.5, p.shape)
                if name in flip:
                    value *= rng.choice([-1.0, 1.0], p.shape)
            p.copy_(torch.from_numpy(value))
    return rng


def check_parameters(model):
    for name, p in model.named_parameters():
        assert p.numel() == 1 or p.float().std() > 0.05 and (p.unique().numel() > min(p.numel() // 4, 8) or p.dim() == 3), name


class Catch:
    """Catches what enters the first block of a stack and what each block returns."""

    def __init__(self, blocks):
        self.values, self.hooks = [None] * (len(blocks) + 1), []
        self.hooks.append(blocks[0].register_forward_pre_hook(self.first, with_kwargs=True))
        for i, block in enumerate(blocks):
            self.hooks.append(block.register_forward_hook(self.output(i + 1)))

    def first(self, module, args, kwargs):
        self.values[0] = (args[0] if args else kwargs["hidden_states"]).detach().clone()

    def output(self, i):
        def hook(module, args, out):
            self.values[i] = (out[0] if isinstance(out, tuple) else out).detach().clone()
        return hook

    def __enter__(self):
        return self.values

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()


def close(a, b, tolerance, what):
    worst = float((a.double() - b.double()).abs().max())
    assert worst <= tolerance, f"{what}: {worst}"
    return worst


def check_logits(logits, what):
    assert torch.isfinite(logits).all() and logits.std(-1).min() >= 1, f"{what}: {logits.std(-1).min()}"


@contextlib.contextmanager
def float64():
    """For passes of models in double precision, some of which take the default's limits."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def array(values):
    return np.ascontiguousarray(values.detach().numpy())


def write(path, tensors, lists):
    """golden.safetensors and golden.json of a model."""
    save_file({k: array(v) if torch.is_tensor(v) else v for k, v in tensors.items()}, path / "golden.safetensors")
    (path / "golden.json").write_text(listed(lists))
    for file in path.iterdir():
        file.chmod(0o644)
    SIZES[path.name] = sum(f.stat().st_size for f in path.iterdir())


def listed(lists):
    """JSON with each element of each list on a line of its own."""
    def value(v):
        if not isinstance(v, list):
            return json.dumps(v)
        return "[\n  " + ",\n  ".join(map(json.dumps, v)) + "\n ]"
    return "{\n" + ",\n".join(f" {json.dumps(k)}: {value(v)}" for k, v in lists.items() if v) + "\n}\n"


def changed(config, **changes):
    """A copy of config.json's dict: None removes a key."""
    config = {**config, **changes}
    return {k: v for k, v in config.items() if v is not None}
