"""Writes a GPT-2 that has learnt nothing to a directory: a token for each byte, and
ChatML's template and tokens. So it can end an answer, or call once more."""

import json
import pathlib
import sys

import numpy
from safetensors.numpy import save_file

CONTEXT, WIDTH, LAYERS, HEADS = 8192, 16, 1, 2
MARKS = {"<|im_start|>": True, "<|im_end|>": True, "<tool_call>": False}  # whether it is special; from id 256 on
END = 257
TEMPLATE = """{% if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{% for message in messages %}
{% if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% if not loop.last %}{{ '\n' }}{% endif %}{% endfor %}<|im_end|>
{% endif %}
{% endfor %}<|im_start|>assistant
"""


def characters():
    """The character that GPT-2 spells each byte with: the byte's own if that is printed
    and no space, the others from U+0100 on in turn."""
    printed = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(b if b in printed else next(others)) for b in range(256)]


def weights(vocabulary):
    rng = numpy.random.default_rng(1)
    shapes = {"wte.weight": (vocabulary, WIDTH), "wpe.weight": (CONTEXT, WIDTH)}
    for i in range(LAYERS):
        shapes |= {f"h.{i}.{name}": shape for name, shape in {
            "attn.c_attn.weight": (WIDTH, 3 * WIDTH), "attn.c_attn.bias": (3 * WIDTH,), "attn.c_proj.weight": (WIDTH, WIDTH),
            "attn.c_proj.bias": (WIDTH,), "mlp.c_fc.weight": (WIDTH, 4 * WIDTH), "mlp.c_fc.bias": (4 * WIDTH,),
            "mlp.c_proj.weight": (4 * WIDTH, WIDTH), "mlp.c_proj.bias": (WIDTH,)}.items()}
    tensors = {name: rng.normal(0, 0.02, shape).astype(numpy.float32) for name, shape in shapes.items()}
    for norm in ("ln_f", *(f"h.{i}.ln_{j}" for i in range(LAYERS) for j in (1, 2))):
        tensors |= {norm + ".weight": numpy.ones(WIDTH, numpy.float32), norm + ".bias": numpy.zeros(WIDTH, numpy.float32)}
    return tensors


def write(root):
    vocabulary = {c: i for i, c in enumerate(characters())}
    marks = [{"id": len(vocabulary) + i, "content": mark, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": special} for i, (mark, special) in enumerate(MARKS.items())]
    size = len(vocabulary) + len(marks)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    files = {
        "config.json": {
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new", "n_embd": WIDTH, "n_head": HEADS,
            "n_layer": LAYERS, "n_positions": CONTEXT, "vocab_size": size, "layer_norm_epsilon": 1e-5, "eos_token_id": END},
        "tokenizer.json": {
            "version": "1.0", "added_tokens": marks, "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": []}},
        "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|im_end|>", "chat_template": TEMPLATE},
    }
    root.mkdir(parents=True)
    for name, content in files.items():
        (root / name).write_text(json.dumps(content))
    save_file(weights(size), root / "model.safetensors")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
