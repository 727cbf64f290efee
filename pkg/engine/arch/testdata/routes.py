"""Which experts transformers' own routers choose."""

import json

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from common import HERE

MODELS = (
    "mixtral", "mixtral-nine", "qwen2_moe", "qwen2_moe-sparse", "qwen3_moe", "qwen3_moe-sparse", "olmoe", "olmoe-normed", "granitemoe",
    "granitemoe-shared", "granite4-experts", "gpt_oss", "lfm2_moe", "lfm2_moe-scaled", "glm4_moe", "glm4_moe-normed", "dots1", "dots1-window",
    "hunyuan_v1_moe", "hunyuan_v1_moe-lists", "ernie4_5_moe", "ernie4_5_moe-biased", "solar_open", "solar_open-biased", "minimax_m2", "minimax_m2-fused",
    "exaone_moe", "exaone_moe-types", "deepseek_v2", "deepseek_v2-lite", "deepseek_v3", "deepseek_v3-biased",
    "glm4_moe_lite", "glm4_moe_lite-types", "nemotron_h-experts", "nemotron_h-biased",
)
TOKENS = 32
TIE = 1e-4  # experts whose ranks differ by less may change places by rounding


def ranks(router, logits, given):
    """What experts are chosen by, where given are the router's other arguments: a correction of each."""
    if hasattr(router, "moe_statics"):  # ERNIE 4.5
        return logits.softmax(-1) + router.moe_statics.e_score_correction_bias
    if getattr(router, "num_group", None):  # DeepSeek
        ranks = torch.sigmoid(logits) + router.e_score_correction_bias if hasattr(router, "e_score_correction_bias") else logits
        groups = ranks.view(len(ranks), router.num_group, -1)
        scores = groups.topk(2).values.sum(-1) if hasattr(router, "e_score_correction_bias") else groups.amax(-1)
        best = scores.sort(descending=True).values
        assert router.topk_group == router.num_group or (best[:, router.topk_group - 1] - best[:, router.topk_group]).min() > TIE
        limit = best[:, router.topk_group - 1, None]
        return groups.masked_fill((scores < limit)[..., None], -1e9).flatten(1)
    given = [*given, router.e_score_correction_bias] if hasattr(router, "e_score_correction_bias") else given
    return torch.sigmoid(logits) + sum(given) if given else logits


def routes():
    """Writes the experts of each token by layer, and the least distance to one that is not chosen."""
    for number, name in enumerate(MODELS):
        model = AutoModelForCausalLM.from_pretrained(HERE / name, dtype=torch.float32, experts_implementation="eager").eval()
        layers, margins = {}, []

        def note(router, given, out, path):
            logits, _, chosen = out
            layers[next(part for part in path.split(".") if part.isdigit())] = [sorted(row) for row in chosen.tolist()]
            best = ranks(router, logits, given).sort(descending=True).values
            margins.append((best[:, chosen.shape[1] - 1] - best[:, chosen.shape[1]]).min().item())

        for path, module in model.named_modules():
            if type(module).__name__.lower().endswith(("topkrouter", "moev1gate")):
                module.register_forward_hook(
                    lambda router, args, named, out, path=path: note(router, [v for v in (*args[1:], *named.values()) if v is not None], out, path), with_kwargs=True)
        rng = np.random.default_rng(2600 + number)
        ids = rng.integers(0, model.config.vocab_size, TOKENS)
        with torch.no_grad():
            model(torch.tensor(ids)[None])
        assert layers and min(margins) > TIE, (name, margins)
        text = json.dumps({"tokens": ids.tolist(), "margin": round(min(margins), 6), "layers": layers}).replace("]], ", "]],\n ")
        (HERE / name / "routes.json").write_text(text + "\n")


GROUPS = {"routes": routes}
