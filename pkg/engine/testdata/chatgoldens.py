"""Writes chats.golden.json: the token ids that transformers makes of chats by small templates,
with the tokenizers of pkg/tokenizer/hf/testdata.

    python3 -m venv v && v/bin/pip install transformers==5.23.0 jinja2==3.1.6
    v/bin/python chatgoldens.py
"""

import json
import os

from transformers import PreTrainedTokenizerFast

here = os.path.dirname(os.path.abspath(__file__))
tokenizers = os.path.join(here, "../../tokenizer/hf/testdata")

TEMPLATES = {
    "llama3": [
        "{{ '<|begin|>' }}{% for m in messages %}{{ '<|lr|>' + m.role + '<|end|>\\n\\n' + m.content | trim + '<|endof|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|lr|>assistant<|end|>\\n\\n' }}{% endif %}",
        "{% for m in messages %}{{ '<|end|>' + m.role + '\\n' + m.content + '<|endoftext|>\\n' }}{% endfor %}",
        "{% for m in messages %}{{ m.role ~ ':  <|lr|>   ' ~ m.content ~ '   <|lr|>' }}{% endfor %}",
    ],
    "llama2": [
        "{% for m in messages %}{% if m.role == 'user' %}{{ '<s>[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + ' </s>' }}{% endif %}{% endfor %}",
        "{% for m in messages %}{{ '<s>' + m.content + '</s>' }}{% endfor %}",
    ],
    "gpt2": [
        "{% for m in messages %}{{ '<|end|>' + m.role + '\\n' + m.content + '<|endoftext|>\\n' }}{% endfor %}",
        "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n\\n' }}{% endfor %}{{ 'assistant:' }}",
    ],
    "xglm": ["{% for m in messages %}{{ '<s>' + m.role + ' ' + m.content + '</s>' }}{% endfor %}"],
}

CHATS = [
    [{"role": "user", "content": "Hello, world!"}],
    [{"role": "user", "content": "  two  spaces\n\n"}, {"role": "assistant", "content": "\n12 345\n"}, {"role": "user", "content": ""}],
    [{"role": "user", "content": "日本 é 🙂 don't"}, {"role": "assistant", "content": " fn() {\n\treturn 1;\n}"}],
]


def main():
    out = []
    for name, templates in TEMPLATES.items():
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(tokenizers, name + ".tokenizer.json"))
        for template in templates:
            for chat in CHATS:
                ids = tokenizer.apply_chat_template(
                    chat, chat_template=template, add_generation_prompt=True, tokenize=True, return_dict=False
                )
                out.append({"tokenizer": name, "template": template, "messages": chat, "ids": ids})
    with open(os.path.join(here, "chats.golden.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")


main()
