"""Goldens of adapters: LoRA of PEFT on golden models, with random parameters, and the logits
of the model that PEFT computes without merging."""

import json

import numpy as np
import peft
import torch
from transformers import AutoModelForCausalLM

import common
from common import HERE, check_logits, close, write
from decoders import forward

LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def make(name, base, tokens, seed, **options):
    path = common.directory("adapters/" + name)
    plain = AutoModelForCausalLM.from_pretrained(HERE / base, dtype=torch.float32).eval()
    ids = np.random.Generator(np.random.PCG64(seed)).integers(0, tokens, 12)
    before, _ = forward(plain, ids)
    model = peft.get_peft_model(plain, peft.LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "lora_A" in key:
                p.copy_(torch.randn(p.shape) / p.shape[1]**0.5)
            elif "lora_B" in key:
                p.copy_(0.4 * torch.randn(p.shape) / p.shape[1]**0.5)
            elif p.requires_grad:
                p.add_(0.3 * torch.randn(p.shape))
    model.save_pretrained(path)
    config = json.loads((path / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "tiny/" + base
    config["target_modules"].sort()  # of a set
    (path / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (path / "README.md").unlink()
    plain = AutoModelForCausalLM.from_pretrained(HERE / base, dtype=torch.float32).eval()
    model = peft.PeftModel.from_pretrained(plain, path).eval()  # which reads patterns in the file's order
    with torch.no_grad():
        logits = model(torch.as_tensor(ids)[None], use_cache=False).logits
        check_logits(logits, name)
        assert (logits - before).abs().max() > 0.5, name
        merged = model.merge_and_unload()
    close(merged(torch.as_tensor(ids)[None], use_cache=False).logits, logits, 1e-4, name)
    common.WORST["adapters/" + name] = 0
    write(path, {"ids": ids, "logits": logits[0]}, {"base": base})


def adapters():
    make("llama", "llama", 112, 1, r=4, lora_alpha=10, target_modules=LLAMA, rank_pattern={"q_proj": 2},
         alpha_pattern={"layers.1.mlp.down_proj": 3, "down_proj": 7}, modules_to_save=["lm_head"])
    make("gpt2", "gpt2", 261, 2, r=3, lora_alpha=5, use_rslora=True, fan_in_fan_out=True, bias="lora_only",
         target_modules=["c_attn", "c_proj", "c_fc"])
    make("neox", "gpt_neox", 261, 5, r=2, lora_alpha=4, target_modules=["query_key_value", "dense"])
    make("bf16", "llama-bf16", 64, 3, r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"])
    make("llama-all", "llama", 112, 6, r=4, lora_alpha=10, target_modules=LLAMA, rank_pattern={"q_proj": 2}, alpha_pattern={"down_proj": 7})
    make("llama-two", "llama", 112, 7, r=8, lora_alpha=12, target_modules=["q_proj", "v_proj"])
    make("qwen3_5", "qwen3_5-pictures", 70, 9, r=2, lora_alpha=4,
         target_modules=["q_proj", "v_proj", "o_proj", "in_proj_qkv", "in_proj_z", "in_proj_a", "in_proj_b", "out_proj", "down_proj"])
    make("gpt2-plain", "gpt2", 261, 8, r=3, lora_alpha=5, fan_in_fan_out=True, target_modules=["c_attn", "c_proj", "c_fc"])
