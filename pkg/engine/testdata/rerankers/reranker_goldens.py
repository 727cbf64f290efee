"""Writes the models of this directory, tiny and random, and golden.json in each: the scores that
CrossEncoder of sentence-transformers computes of them in float32.

    /tmp/goldens/bin/python pkg/engine/testdata/rerankers/reranker_goldens.py [bert ...]

The environment is that of .ci/goldens.txt. Tokenizers and random weights are those of
../encoders/encoder_goldens.py.
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "encoders"))

import encoder_goldens as base  # sets what the libraries read when they are imported
import torch
import transformers
from encoder_goldens import OTHER, SMALL, TINY, compact, few, randomise, sized, write
from sentence_transformers import CrossEncoder
from tokenizers import pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

LIMIT = 900_000  # bytes of all models
QUERIES = ["seven red hens", "a cat sees a dog and the cow and the hen and two dogs and cats and a red hen sees them " * 2, ""]
DOCUMENTS = ["the red hen sees a cat", "Cats, dogs & HENS!", "é", "the cat and the dog and the hen and the cow " * 6, "", "a < s > [ SEP ]"]
PAIRS = [[q, d] for q in QUERIES for d in DOCUMENTS]
FEW = [["seven red hens", d] for d in DOCUMENTS[:5]] + [["a cat sees a dog and the cow " * 4, DOCUMENTS[3]], ["", "a hen"]]


def pair(tokenizer, text, types=(0, 0)):
    t, specials = tokenizer
    names = [n for n in text.split() if not n.startswith("$")]
    single = text.split(" $B")[0]
    first, second = types
    parts = [f"{p}:{second if i > text.split().index('$B') - 1 else first}" for i, p in enumerate(text.split())]
    t.post_processor = processors.TemplateProcessing(
        single=" ".join(p + ":0" for p in single.split()), pair=" ".join(parts), special_tokens=[(n, t.token_to_id(n)) for n in set(names)])
    return t, specials


def make(name, model, tokenizer, seed, tokenizer_config=None, config=None, files=None, template=None, tiny=False, published=None):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    randomise(model, seed)
    model.eval().bfloat16().save_pretrained(path)
    t, specials = tokenizer
    PreTrainedTokenizerFast(tokenizer_object=t, **specials).save_pretrained(path)
    if tiny:
        compact(path / "tokenizer.json")
    write(path / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", **specials, **({"chat_template": template} if template else {}), **(tokenizer_config or {})})
    (path / "chat_template.jinja").unlink(missing_ok=True)
    (path / "generation_config.json").unlink(missing_ok=True)
    if config:
        c = json.loads((path / "config.json").read_text())
        write(path / "config.json", c | config)
    for file, value in (files or {}).items():
        write(path / file, value)
    golden(path, FEW if tiny else PAIRS)
    if published:
        published(path)


def golden(path, pairs=PAIRS):
    ce = CrossEncoder(str(path), device="cpu", model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"})
    scores = ce.predict(pairs, batch_size=4)
    alone = [float(ce.predict([p])[0]) for p in pairs]
    assert scores.shape == (len(pairs),) and abs(scores - alone).max() < 5e-6, path.name
    tokens = [int(ce.preprocess([p])["attention_mask"].sum()) for p in pairs]
    write(path / "golden.json", [{"query": q, "document": d, "score": a, "tokens": n} for (q, d), a, n in zip(pairs, alone, tokens)])
    print(f"{path.name:20} {sum(f.stat().st_size for f in path.rglob('*') if f.is_file()):8,} bytes, scores {min(alone):.3f} to {max(alone):.3f}")


def bert():
    t = pair(base.wordpiece(), "[CLS] $A [SEP] $B [SEP]", (0, 1))
    make("bert", transformers.BertForSequenceClassification(transformers.BertConfig(**SMALL, **sized(t), max_position_embeddings=64, num_labels=1)), t, 101,
         {"tokenizer_class": "BertTokenizer", "model_max_length": 48}, {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"})
    t = pair(base.wordpiece(lowercase=False), "[CLS] $A [SEP] $B [SEP]", (0, 1))
    make("bert-saved", transformers.BertForSequenceClassification(transformers.BertConfig(
        **OTHER, **sized(t), max_position_embeddings=64, num_labels=1, hidden_act="gelu_new")), t, 102, {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
        config={"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "6.2.0"}},
        files={"modules.json": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}],
               "sentence_bert_config.json": {"transformer_task": "sequence-classification", "max_seq_length": 31,
                                             "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}, "module_output_name": "scores"},
               "config_sentence_transformers.json": {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None}})


def xlm():
    t = pair(base.unigram(), "<s> $A </s> </s> $B </s>")
    make("xlm-roberta", transformers.XLMRobertaForSequenceClassification(transformers.XLMRobertaConfig(
        **SMALL, **sized(t), max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, num_labels=1)), t, 111, {"model_max_length": 64})
    t = pair(base.byte_bpe(), "<s> $A </s> </s> $B </s>")
    t[0].post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    make("roberta", transformers.RobertaForSequenceClassification(transformers.RobertaConfig(
        **OTHER, **sized(t), max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, num_labels=1)), t, 112, {"model_max_length": 40})


def mpnet():
    t = pair(base.wordpiece("<s>", "</s>", pad="<pad>"), "<s> $A </s> </s> $B </s>")
    make("mpnet", transformers.MPNetForSequenceClassification(transformers.MPNetConfig(
        **OTHER, **sized(t), max_position_embeddings=70, num_labels=1)), t, 121, {"model_max_length": 60})


def modernbert():
    for name, seed, extra in (("modernbert", 131, dict(classifier_pooling="cls")),
                              ("modernbert-mean", 132, dict(classifier_pooling="mean", classifier_bias=True, norm_bias=True))):
        t = base.byte_bpe("[CLS]", "[SEP]", "[PAD]")
        t[0].add_special_tokens(["[PAD]"])
        shape = {k: t[0].token_to_id(v) for k, v in (("pad_token_id", "[PAD]"), ("cls_token_id", "[CLS]"), ("sep_token_id", "[SEP]"))}
        t = pair(t, "[CLS] $A [SEP] $B [SEP]")
        make(name, transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(
            **SMALL | {"num_hidden_layers": 4}, **sized(t), **shape, **extra, bos_token_id=None, eos_token_id=None, max_position_embeddings=256, local_attention=12, num_labels=1)),
            t, seed, {"model_max_length": 70, "model_input_names": ["input_ids", "attention_mask"]})


TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: '
    "{{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n<Document>: "
    "{{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}"
    "<|im_end|>\n{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}")


def qwen3():
    """The same model as sentence-transformers saves it, and as Qwen publishes it."""
    t, specials = base.byte_bpe(None, "</s>")
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    t.add_tokens(["yes", "no", "<think>", "</think>"])
    yes, no = t.token_to_id("yes"), t.token_to_id("no")
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        **SMALL, **sized((t, None)), num_key_value_heads=2, head_dim=16, max_position_embeddings=1024, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0}, bos_token_id=None, eos_token_id=2, pad_token_id=1))
    make("qwen3", model, (t, specials), 141, {"padding_side": "left", "model_max_length": 1000}, template=TEMPLATE, files={
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
                         {"idx": 1, "name": "1", "path": "1_LogitScore", "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}],
        "config_sentence_transformers.json": {"model_type": "CrossEncoder", "prompts": {}, "default_prompt_name": None},
        "1_LogitScore/config.json": {"true_token_id": yes, "false_token_id": no},
        "sentence_bert_config.json": {"transformer_task": "text-generation", "modality_config": {
            "text": {"method": "forward", "method_output_name": "logits"}, "message": {"method": "forward", "method_output_name": "logits", "format": "flat"}},
            "module_output_name": "causal_logits", "processing_kwargs": {"chat_template": {"add_generation_prompt": True}}}})
    published = HERE / "Qwen3-Reranker"
    shutil.rmtree(published, ignore_errors=True)
    published.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "golden.json"):
        shutil.copy(HERE / "qwen3" / name, published / name)
    write(published / "tokenizer_config.json", json.loads((HERE / "qwen3/tokenizer_config.json").read_text()) | {"chat_template": "{{ messages[0]['content'] }}"})


def electra():
    t = pair(few(), "[CLS] $A [SEP] $B [SEP]", (0, 1))
    make("electra", transformers.ElectraForSequenceClassification(transformers.ElectraConfig(
        **TINY, **sized(t), embedding_size=16, max_position_embeddings=48, num_labels=1)), t, 151, {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"], "model_max_length": 40}, tiny=True)


def deberta():
    t = base.deberta_pieces()  # with its own template of pairs
    make("deberta", transformers.DebertaV2ForSequenceClassification(transformers.DebertaV2Config(
        **TINY, **sized(t), max_position_embeddings=64, relative_attention=True, position_buckets=16, max_relative_positions=-1, pos_att_type="p2c|c2p",
        position_biased_input=False, norm_rel_ebd="layer_norm", share_att_key=True, num_labels=1)), t, 153, {"model_max_length": 60}, tiny=True)


def eurobert():
    t = pair(base.byte_bpe(), "<s> $A </s> $B </s>")
    make("eurobert", transformers.EuroBertForSequenceClassification(transformers.EuroBertConfig(
        **TINY, **sized(t), max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        bos_token_id=0, eos_token_id=2, pad_token_id=1, mask_token_id=4, num_labels=1)), t, 154, {"model_max_length": 50}, tiny=True)


def albert():
    t = pair(few(), "[CLS] $A [SEP] $B [SEP]")
    make("albert", transformers.AlbertForSequenceClassification(transformers.AlbertConfig(
        **TINY | {"num_hidden_layers": 3}, **sized(t), embedding_size=12, max_position_embeddings=48, num_labels=1)), t, 155, {"model_max_length": 40}, tiny=True)


GROUPS = {f.__name__: f for f in (bert, xlm, mpnet, modernbert, qwen3, electra, deberta, eurobert, albert)}


def main(names):
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in names or GROUPS:
        GROUPS[name]()
    total = sum(f.stat().st_size for f in HERE.rglob("*") if f.is_file())
    print(f"{total:,} bytes")
    assert total <= LIMIT


if __name__ == "__main__":
    main(sys.argv[1:])
