"""Goldens of Qwen's models that read pictures of any shape: tiny random ones, in bfloat16, and what
transformers' image processor and classes compute of a chat with pictures."""

import hashlib
import io

import PIL.Image
import torch
from transformers import (Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2VLConfig, Qwen2VLForConditionalGeneration,
                          Qwen3_5Config, Qwen3_5ForConditionalGeneration, Qwen3VLConfig, Qwen3VLForConditionalGeneration)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

import common
from common import check_logits, close, random_parameters, write
from convolutions import slow
from vision import picture, tokenizer

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
FIRST = 270  # id of the first of these
IMAGE = FIRST + SPECIALS.index("<|image_pad|>")
CHAT = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}{% elif item['type'] == 'text' %}{{ item['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
IDS = {"image_token_id": IMAGE, "video_token_id": IMAGE + 1, "vision_start_token_id": IMAGE - 2, "vision_end_token_id": IMAGE - 1}
SIZES = [(19, 13), (6, 5), (40, 20)]  # within the bounds of pixels, below and above
LAST = 6  # tokens whose logits are kept


def make(name, kind, config, seed, sizes=SIZES, tune=lambda model: None):
    path = common.directory("vision/" + name)
    torch.manual_seed(seed)
    model = kind(config).eval()
    random_parameters(model, seed, flip={"model.language_model.norm.weight"})
    tune(model)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 5:  # the matrix of patches
                p.copy_(1.2 * torch.randn(p.shape) / p[0].numel()**0.5)
            p.copy_(p.bfloat16())
    t = tokenizer(SPECIALS, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT)
    vision = config.vision_config
    p = Qwen2VLImageProcessorPil(patch_size=vision.patch_size, merge_size=vision.spatial_merge_size, size={"shortest_edge": 64, "longest_edge": 400})
    files = [picture(*size, seed + i) for i, size in enumerate(sizes)]
    pixels = p(images=[PIL.Image.open(io.BytesIO(f)) for f in files], return_tensors="pt")
    content = [{"type": "image"}, {"type": "text", "text": "the fox"}, {"type": "image"}, {"type": "image"}, {"type": "text", "text": "and the hen"}]
    text = t.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False)
    parts = text.split("<|image_pad|>")
    whole = parts[0]
    for grid, part in zip(pixels["image_grid_thw"], parts[1:], strict=True):
        whole += "<|image_pad|>" * int(grid.prod() // vision.spatial_merge_size**2) + part
    ids = torch.tensor([t.encode(whole, add_special_tokens=False)])
    inputs = {"input_ids": ids, "mm_token_type_ids": (ids == IMAGE).int(), "pixel_values": pixels["pixel_values"], "image_grid_thw": pixels["image_grid_thw"]}
    with torch.no_grad():
        out = model(**inputs, use_cache=False)
        seen = model.get_image_features(pixel_values=pixels["pixel_values"], image_grid_thw=pixels["image_grid_thw"])
        check_logits(out.logits, name)
        again = model.double()(**{k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}, use_cache=False).logits
        common.WORST[name] = close(out.logits, again, 1e-4, name)
        model.float()
        greedy = model.generate(**inputs, max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)[0, ids.shape[1]:]
    assert len(greedy.unique()) > 3, f"{name}: {greedy}"
    layers = [torch.cat(list(seen.pooler_output)), *(torch.cat(list(d)) for d in getattr(seen, "deepstack_features", None) or [])]
    side = vision.patch_size**2
    values = pixels["pixel_values"].reshape(-1, 3, 2, side)
    assert (values[:, :, 0] == values[:, :, 1]).all()
    model.bfloat16().save_pretrained(path)
    t.save_pretrained(path)
    p.save_pretrained(path)
    for i, f in enumerate(files):
        (path / f"{i}.png").write_bytes(f)
    for extra in path.glob("generation_config.json"):
        extra.unlink()
    write(path, {"ids": ids[0].numpy(), "features": torch.stack(layers, 1), "logits": out.logits[0, -LAST:].contiguous(), "greedy": greedy.numpy()},
          {"content": [c.get("text", "") for c in content], "text": text, "pixels": hashlib.sha256(values[:, :, 0].contiguous().numpy().tobytes()).hexdigest()})


def tower(**options):
    return {"depth": 2, "hidden_size": 8, "intermediate_size": 16, "num_heads": 1, "patch_size": 2, "out_hidden_size": 8, "num_position_embeddings": 25} | options


def text(**options):
    all = {"vocab_size": FIRST + len(SPECIALS), "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
           "head_dim": 16, "rms_norm_eps": 0.01, "max_position_embeddings": 512, "eos_token_id": FIRST + 2, "pad_token_id": FIRST, "tie_word_embeddings": True} | options
    return {k: v for k, v in all.items() if v is not None}


def rotary(*sections, **options):
    return {"rope_type": "default", "rope_theta": 500.0, "mrope_section": list(sections), "mrope_interleaved": True} | options


def vision_qwen():
    make("qwen3-vl", Qwen3VLForConditionalGeneration, Qwen3VLConfig(
        text_config=text(rope_parameters=rotary(4, 2, 2)), vision_config=tower(deepstack_visual_indexes=[0, 1]), tie_word_embeddings=True, **IDS), 953)
    make("qwen3_5", Qwen3_5ForConditionalGeneration, Qwen3_5Config(
        text_config=text(rope_parameters=rotary(2, 1, 1, partial_rotary_factor=0.5), layer_types=["linear_attention", "full_attention"],
                         linear_num_value_heads=2, linear_num_key_heads=1, linear_key_head_dim=8, linear_value_head_dim=8),
        vision_config=tower(num_position_embeddings=16, hidden_size=16, num_heads=2), tie_word_embeddings=True, **IDS), 965, [(22, 35), (60, 7), (11, 11)], slow)
    older = {"num_attention_heads": 1, "head_dim": None, "bos_token_id": FIRST}
    make("qwen2-vl", Qwen2VLForConditionalGeneration, Qwen2VLConfig(
        text_config=text(**older, rope_parameters={"rope_type": "default", "rope_theta": 500.0, "mrope_section": [1, 2, 1]}),
        vision_config={"depth": 2, "embed_dim": 8, "hidden_size": 8, "mlp_ratio": 2, "num_heads": 1, "patch_size": 2}, tie_word_embeddings=True, **IDS), 972)
    make("qwen2_5-vl", Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLConfig(
        text_config=text(**older, rope_parameters={"rope_type": "default", "rope_theta": 500.0, "mrope_section": [2, 1, 1]}),
        vision_config={"depth": 3, "hidden_size": 8, "intermediate_size": 16, "num_heads": 1, "patch_size": 2, "out_hidden_size": 8, "window_size": 8,
                       "fullatt_block_indexes": [1]}, tie_word_embeddings=True, **IDS), 981, [(19, 13), (40, 20), (6, 5)])


GROUPS = {"vision_qwen": vision_qwen}
