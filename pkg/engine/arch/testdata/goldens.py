"""Writes the golden models of this directory: tiny models with random parameters as
transformers saves them, and what its own classes compute of them. README.md says what
is in which file.

Run it from any directory, in an environment of its own; it needs no network and some
minutes, most of them for finding beam searches that rounding does not decide:

    python3 -m venv /tmp/goldens
    /tmp/goldens/bin/pip install torch==2.15.0 transformers==5.23.0 safetensors==0.8.0 \\
        tokenizers==0.23.3 sentencepiece==0.2.3 gguf==0.19.0 numpy==2.4.6 peft==0.21.2 pillow==13.0.0 protobuf==7.36.2 compressed-tensors==0.20.0 loguru
    /tmp/goldens/bin/python pkg/engine/arch/testdata/goldens.py [gpt2 llama ...]

With names it makes these groups alone. The output is the same to the bit on the same
kind of processor; on others the last bits of what is computed may differ.
"""

import importlib.metadata
import os
import sys
import warnings

sys.dont_write_bytecode = True
os.environ["HF_HUB_OFFLINE"] = "1"

import transformers  # noqa: E402

import adapters  # noqa: E402
import bart  # noqa: E402
import beams  # noqa: E402
import common  # noqa: E402
import compact  # noqa: E402
import convolutions  # noqa: E402
import decoders  # noqa: E402
import deltas  # noqa: E402
import experts  # noqa: E402
import ggufs  # noqa: E402
import latents  # noqa: E402
import modern  # noqa: E402
import others  # noqa: E402
import quantised  # noqa: E402
import routes  # noqa: E402
import seq2seq  # noqa: E402
import sizes  # noqa: E402
import today  # noqa: E402
import translators  # noqa: E402
import vision  # noqa: E402
import vision_qwen  # noqa: E402

VERSIONS = {
    "torch": "2.15.0", "transformers": "5.23.0", "safetensors": "0.8.0", "tokenizers": "0.23.3",
    "sentencepiece": "0.2.3", "gguf": "0.19.0", "numpy": "2.4.6", "peft": "0.21.2", "pillow": "13.0.0",
}
GROUPS = {
    "gpt2": decoders.gpt2, "gptj": decoders.gptj, "gpt_neox": decoders.gpt_neox, "xglm": decoders.xglm,
    "llama": decoders.llama, "gguf": ggufs.ggufs, "m2m_100": translators.m2m_100, "marian": translators.marian, "nllb": translators.nllb,
} | modern.GROUPS | others.GROUPS | today.GROUPS | compact.GROUPS | experts.GROUPS | convolutions.GROUPS | deltas.GROUPS | latents.GROUPS | routes.GROUPS | quantised.GROUPS | seq2seq.GROUPS | bart.GROUPS | beams.GROUPS | {"modern_gguf": ggufs.modern, "today_gguf": ggufs.today, "compact_gguf": ggufs.compact, "latent_gguf": ggufs.latent, "sizes": sizes.sizes, "adapters": adapters.adapters} | vision.GROUPS | vision_qwen.GROUPS
LIMIT = 36_000_000  # bytes of all files


def main(names):
    for package, version in VERSIONS.items():
        found = importlib.metadata.version(package).split("+")[0]
        assert found == version, f"{package} is {found}, not {version}"
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    for name in names or GROUPS:
        GROUPS[name]()
    print(f"{'model':24} {'bytes':>9}  float64 differs by")
    for name, size in common.SIZES.items():
        print(f"{name:24} {size:9,}  {common.WORST[name]:.1e}")
    total = sum(f.stat().st_size for f in common.HERE.glob("*/*"))
    print(f"{'all':24} {total:9,}")
    assert total <= LIMIT


main(sys.argv[1:])
