"""Writes the models of this directory, tiny and random, and golden.json in each: the scores that
transformers' pipeline text-classification computes of them in float32.

    /tmp/goldens/bin/python pkg/engine/testdata/classifiers/classifier_goldens.py [bert ...]

The environment is that of .ci/goldens.txt. Tokenizers and random weights are those of
../encoders/encoder_goldens.py and ../rerankers/reranker_goldens.py.
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "encoders"), str(HERE.parent / "rerankers")]

import encoder_goldens as base  # sets what the libraries read when they are imported
import torch
import transformers
from encoder_goldens import randomise, sized, write
from reranker_goldens import pair
from tokenizers import processors
from transformers import PreTrainedTokenizerFast

LIMIT, LARGEST = 200_000, 60_000  # bytes of all models, and of one
LONG = "the cat and the dog and the hen and the cow " * 6
TEXTS = ["the red hen sees a cat", "Cats, dogs & HENS!", "é", "", "a < s > [ SEP ]", LONG]
PAIRS = [("seven red hens", "the red hen sees a cat"), ("", "a"), (LONG, "Cats, dogs & HENS!"), ("the cow", LONG), (LONG, LONG)]
TINY = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)


def make(name, model, tokenizer, seed, tokenizer_config, config=None):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    randomise(model, seed)
    model.eval().bfloat16().save_pretrained(path)
    t, specials = tokenizer
    PreTrainedTokenizerFast(tokenizer_object=t, **specials).save_pretrained(path)
    write(path / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **specials, **tokenizer_config})
    (path / "generation_config.json").unlink(missing_ok=True)
    c = json.loads((path / "config.json").read_text())
    write(path / "config.json", {k: v for k, v in (c | (config or {})).items() if v is not None})
    golden(path, tokenizer_config["model_max_length"])


def golden(path, limit):
    pipe = transformers.pipeline("text-classification", model=str(path), device="cpu", model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"})
    labels = [pipe.model.config.id2label[i] for i in range(pipe.model.config.num_labels)]
    out = []
    for text, second in [(t, None) for t in TEXTS] + PAIRS:
        given = {"text": text} if second is None else {"text": text, "text_pair": second}
        cut = dict(truncation=True, max_length=limit)
        row = dict(given, tokens=len(pipe.tokenizer(**given, **cut)["input_ids"]), cut=len(pipe.tokenizer(**given)["input_ids"]) > limit)
        for key, function in (("scores", None), ("logits", "none")):
            found = pipe(given, top_k=None, function_to_apply=function, **cut)
            by_label = {f["label"]: f["score"] for f in found}
            assert len(by_label) == len(labels) and [f["score"] for f in found] == sorted(by_label.values(), reverse=True)
            row[key] = [by_label[label] for label in labels]
        out.append(row)
    write(path / "golden.json", {"labels": labels, "texts": out})
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    assert size <= LARGEST, (path.name, size)
    print(f"{path.name:20} {size:8,} bytes, scores {min(min(r['scores']) for r in out):.3f} to {max(max(r['scores']) for r in out):.3f}")


def bert():
    """Natural language inference: three labels, types of tokens."""
    t = pair(base.wordpiece(), "[CLS] $A [SEP] $B [SEP]", (0, 1))
    make("bert", transformers.BertForSequenceClassification(transformers.BertConfig(
        **TINY, **sized(t), max_position_embeddings=64, id2label={0: "entailment", 1: "neutral", 2: "contradiction"})), t, 201,
        {"tokenizer_class": "BertTokenizer", "model_max_length": 48})


def distilbert():
    """Two labels without names, as transformers does not write them."""
    t = pair(base.wordpiece(), "[CLS] $A [SEP] $B [SEP]")
    make("distilbert", transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
        dim=16, n_layers=2, n_heads=2, hidden_dim=24, **sized(t), max_position_embeddings=64)), t, 211,
        {"model_max_length": 40}, {"id2label": None, "label2id": None})


def roberta():
    """Several labels apply at once."""
    t = pair(base.byte_bpe(), "<s> $A </s> </s> $B </s>")
    t[0].post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    make("roberta", transformers.RobertaForSequenceClassification(transformers.RobertaConfig(
        **TINY, **sized(t), max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, problem_type="multi_label_classification",
        id2label={0: "toxic", 1: "insult", 2: "threat", 3: "identity attack"})), t, 221, {"model_max_length": 44})


def camembert():
    """One label: a sigmoid, and a reranker too."""
    t = pair(base.unigram(), "<s> $A </s> </s> $B </s>")
    make("camembert", transformers.CamembertForSequenceClassification(transformers.CamembertConfig(
        **TINY, **sized(t), max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, id2label={0: "injection"})), t, 231, {"model_max_length": 64})


def mpnet():
    """A regression of two values."""
    t = pair(base.wordpiece("<s>", "</s>", pad="<pad>"), "<s> $A </s> </s> $B </s>")
    make("mpnet", transformers.MPNetForSequenceClassification(transformers.MPNetConfig(
        **TINY, **sized(t), max_position_embeddings=70, problem_type="regression", id2label={0: "valence", 1: "arousal"})), t, 241, {"model_max_length": 60})


def modernbert():
    t = base.byte_bpe("[CLS]", "[SEP]", "[PAD]")
    t[0].add_special_tokens(["[PAD]"])
    shape = {k: t[0].token_to_id(v) for k, v in (("pad_token_id", "[PAD]"), ("cls_token_id", "[CLS]"), ("sep_token_id", "[SEP]"))}
    t = pair(t, "[CLS] $A [SEP] $B [SEP]")
    make("modernbert", transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(
        **TINY, **sized(t), **shape, classifier_pooling="mean", classifier_bias=True, global_attn_every_n_layers=2, bos_token_id=None, eos_token_id=None,
        max_position_embeddings=256, local_attention=12, id2label={i: f"topic {i}" for i in range(5)}, problem_type="single_label_classification")),
        t, 251, {"model_max_length": 70, "model_input_names": ["input_ids", "attention_mask"]})


GROUPS = {f.__name__: f for f in (bert, distilbert, roberta, camembert, mpnet, modernbert)}


def main(names):
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in names or GROUPS:
        GROUPS[name]()
    total = sum(f.stat().st_size for f in HERE.glob("*/*"))
    print(f"{total:,} bytes")
    assert total <= LIMIT


if __name__ == "__main__":
    main(sys.argv[1:])
