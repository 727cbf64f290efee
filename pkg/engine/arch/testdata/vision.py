"""Goldens of models that read pictures: tiny random ones of Idefics 3's and Gemma 3's form, and
what transformers' processors and classes compute of a chat with pictures."""

import io
import json

import numpy as np
import PIL.Image
import torch
from tokenizers import AddedToken
from transformers import (Gemma3Config, Gemma3ForConditionalGeneration, Gemma3Processor, Idefics3Config, Idefics3ForConditionalGeneration,
                          Idefics3Processor, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast, SmolVLMConfig, SmolVLMForConditionalGeneration)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

import common
import vocabularies
from common import check_logits, close, random_parameters, write

TOKENS = 270  # of the vocabulary without special ones
IDEFICS = ["<|im_start|>", "<end_of_utterance>", "<fake_token_around_image>", "<image>", "<global-img>",
           *(f"<row_{r}_col_{c}>" for r in (1, 2, 3) for c in (1, 2, 3))]
GEMMA = ["<bos>", "<end_of_turn>", "<start_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>"]
IDEFICS_CHAT = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
GEMMA_CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}{{ '<start_of_image>' }}{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}")
LLAMA = {"model_type": "llama", "vocab_size": 288, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "pad_token_id": 271, "bos_token_id": 270, "eos_token_id": 271}
TEXT = {"vocab_size": 280, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "max_position_embeddings": 512, "query_pre_attn_scalar": 48, "pad_token_id": 271, "bos_token_id": 270, "eos_token_id": 271,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}


def picture(width, height, seed):
    """A PNG of smooth colours with noise."""
    rng = np.random.Generator(np.random.PCG64(seed))
    y, x = np.mgrid[0:height, 0:width]
    waves = [127 + 90 * np.sin(x / (3 + 2 * c) + seed) * np.cos(y / (4 + c)) + rng.integers(-30, 30, (height, width)) for c in range(3)]
    image = PIL.Image.fromarray(np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def tokenizer(specials, **named):
    t = vocabularies.tokenizer(TOKENS, specials)
    return PreTrainedTokenizerFast(tokenizer_object=t, clean_up_tokenization_spaces=False, **named)


def idefics(side, **options):
    t = tokenizer(IDEFICS, bos_token="<|im_start|>", eos_token="<end_of_utterance>", pad_token="<end_of_utterance>")
    p = Idefics3Processor(Idefics3ImageProcessorPil(max_image_size={"longest_edge": side}, image_mean=[0.5] * 3, image_std=[0.5] * 3, **options),
                          t, image_seq_len=1, chat_template=IDEFICS_CHAT)
    return p


def gemma(size, tokens):
    t = tokenizer(GEMMA, bos_token="<bos>", eos_token="<end_of_turn>", pad_token="<end_of_turn>",
                  extra_special_tokens={"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"})
    return Gemma3Processor(Gemma3ImageProcessorPil(size={"height": size, "width": size}, image_mean=[0.5] * 3, image_std=[0.5] * 3, do_convert_rgb=True),
                           t, chat_template=GEMMA_CHAT, image_seq_length=tokens)


def llava(tower, **options):
    t = tokenizer(IDEFICS, bos_token="<|im_start|>", eos_token="<end_of_utterance>", pad_token="<end_of_utterance>")
    return LlavaProcessor(tower(**options), t, patch_size=4, vision_feature_select_strategy="default", chat_template=IDEFICS_CHAT, num_additional_image_tokens=1)


def make(name, kind, config, seed, processor, pictures):
    path = common.directory("vision/" + name)
    torch.manual_seed(seed)
    model = kind(config).eval()
    random_parameters(model, seed, embed=0.2 if "gemma" in name else 0.7)
    p = processor
    if hasattr(p, "image_seq_len"):
        vision = config.vision_config
        p.image_seq_len = (p.image_processor.max_image_size["longest_edge"] // vision.patch_size)**2 // config.scale_factor**2
    files = [picture(*size, seed + i) for i, size in enumerate(pictures)]
    images = [PIL.Image.open(io.BytesIO(f)) for f in files]
    content = [{"type": "text", "text": "the fox"}, {"type": "image"}, {"type": "text", "text": "and the hen"}]
    if len(images) > 1:
        content = [{"type": "image"}, *content]
    for _ in images[2:]:
        content += [{"type": "image"}, {"type": "text", "text": " or"}]
    text = p.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    inputs = p(text=text, images=images, return_tensors="pt")
    ids = inputs["input_ids"]
    with torch.no_grad():
        out = model(**inputs, use_cache=False)
        features = model.get_image_features(pixel_values=inputs["pixel_values"]).pooler_output
        check_logits(out.logits, name)
        again = model.double()(**{k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}, use_cache=False).logits
        common.WORST[name] = close(out.logits, again, 1e-4, name)
        model.float()
        greedy = model.generate(**inputs, max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)[0, ids.shape[1]:]
    assert len(greedy.unique()) > 3, f"{name}: {greedy}"
    features = torch.cat(list(features)) if isinstance(features, (list, tuple)) else features.reshape(-1, features.shape[-1])
    model.save_pretrained(path)
    p.save_pretrained(path)
    for i, f in enumerate(files):
        (path / f"{i}.png").write_bytes(f)
    for extra in path.glob("generation_config.json"):
        extra.unlink()
    write(path, {"ids": ids[0].numpy(), "features": features, "logits": out.logits[0], "greedy": greedy.numpy()},
          {"content": [c.get("text", "") for c in content], "text": text})


def vision():
    tower = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3, "patch_size": 4}
    make("idefics3", Idefics3ForConditionalGeneration, Idefics3Config(
        text_config=LLAMA, vision_config=tower | {"image_size": 24}, scale_factor=3, image_token_id=273, pad_token_id=271, tie_word_embeddings=False),
        901, idefics(24, size={"longest_edge": 60}), [(40, 30), (17, 60)])
    make("smolvlm", SmolVLMForConditionalGeneration, SmolVLMConfig(
        text_config=LLAMA | {"tie_word_embeddings": True}, vision_config=tower | {"image_size": 54, "patch_size": 2, "hidden_size": 16, "num_attention_heads": 2},
        scale_factor=3, image_token_id=273, pad_token_id=271, tie_word_embeddings=True),
        910, idefics(54, size={"longest_edge": 54}, do_image_splitting=False), [(50, 41)])
    make("gemma3-4b", Gemma3ForConditionalGeneration, Gemma3Config(
        text_config=TEXT | {"sliding_window": 20}, vision_config=tower | {"image_size": 32, "model_type": "siglip_vision_model", "vision_use_head": False},
        mm_tokens_per_image=16, image_token_index=275, boi_token_index=273, eoi_token_index=274),
        909, gemma(32, 16), [(40, 30), (9, 33), (30, 31), (64, 64), (5, 50), (33, 20), (80, 10)])
    make("gemma3-wide", Gemma3ForConditionalGeneration, Gemma3Config(
        text_config=TEXT | {"sliding_window": 60}, vision_config=tower | {"image_size": 80, "model_type": "siglip_vision_model", "vision_use_head": False},
        mm_tokens_per_image=100, image_token_index=275, boi_token_index=273, eoi_token_index=274),
        938, gemma(80, 100), [(30, 70), (80, 80), (90, 20)])


    make("llava", LlavaForConditionalGeneration, LlavaConfig(
        text_config=LLAMA | {"vocab_size": 284}, vision_config=tower | {"image_size": 24, "model_type": "clip_vision_model", "num_hidden_layers": 3, "projection_dim": 8},
        image_token_index=273, pad_token_id=271, image_seq_length=36),
        911, llava(CLIPImageProcessorPil, size={"shortest_edge": 30}, crop_size={"height": 24, "width": 24}), [(40, 30), (17, 60)])
    full = llava(SiglipImageProcessorPil, size={"height": 24, "width": 24}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    full.vision_feature_select_strategy, full.num_additional_image_tokens = "full", 0
    make("llava-siglip", LlavaForConditionalGeneration, LlavaConfig(
        text_config=LLAMA | {"model_type": "qwen2", "vocab_size": 284, "tie_word_embeddings": True},
        vision_config=tower | {"image_size": 24, "model_type": "siglip_vision_model", "vision_use_head": False, "num_hidden_layers": 3},
        image_token_index=273, pad_token_id=271, image_seq_length=36, vision_feature_layer=-1, vision_feature_select_strategy="full", tie_word_embeddings=True),
        921, full, [(30, 44)])


def roles():
    """Tokens of chats whose system has pictures too, for the models that vision has made."""
    for name, kind in [("idefics3", Idefics3Processor), ("smolvlm", Idefics3Processor), ("gemma3-4b", Gemma3Processor), ("llava", LlavaProcessor)]:
        path = common.HERE / "vision" / name
        p = kind.from_pretrained(path)
        chat = [("system", ["the hen", "0.png", "and the fox"]), ("user", ["1.png" if (path / "1.png").exists() else "0.png", "what"]),
                ("assistant", ["the fox"]), ("user", ["and"])]
        messages = [{"role": role, "content": [{"type": "image"} if c.endswith(".png") else {"type": "text", "text": c} for c in content]} for role, content in chat]
        images = [PIL.Image.open(path / c) for _, content in chat for c in content if c.endswith(".png")]
        text = p.apply_chat_template(messages, add_generation_prompt=True)
        ids = p(text=text, images=images)["input_ids"][0]
        (path / "roles.json").write_text(json.dumps({"chat": [{"role": r, "content": c} for r, c in chat], "ids": [int(i) for i in ids]}) + "\n")


GROUPS = {"vision": vision, "vision_roles": roles}
