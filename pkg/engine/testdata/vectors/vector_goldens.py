"""Writes the models of this directory, tiny and random, and golden.json in each: the sparse
embeddings and the vectors of tokens that the original implementations compute of them in float32.

    /tmp/goldens/bin/python pkg/engine/testdata/vectors/vector_goldens.py [splade ...]

The environment is that of .ci/goldens.txt. SPLADE is computed by sentence-transformers'
SparseEncoder, ColBERT by its MultiVectorEncoder, which also reads the directories of PyLate and
of Stanford's ColBERT. BGE-M3 has the formulas of FlagEmbedding 1.4.2, EncoderOnlyEmbedderM3Model.
"""

import base64
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "encoders"))

import encoder_goldens as base
import numpy as np
import torch
import transformers
from encoder_goldens import OTHER, SMALL, byte_bpe, dense, sized, unigram, wordpiece, write
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

LIMIT = 1_000_000  # bytes of all models
TEXTS = [
    "the red hen sees a cat",
    "Cats, dogs & HENS: seven of them!",
    "a",
    "the cat and the dog and the hen and the cow " * 3,
    "  two   spaces . . ",
]
FLOAT = {"dtype": torch.float32, "attn_implementation": "eager"}


def make(name, model, tokenizer, seed, files=(), max_length=None, sparse_bias=None, architectures=None, rename=None):
    """Writes a model with its tokenizer, and JSON files by their paths."""
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    base.randomise(model, seed)
    if sparse_bias is not None:  # most tokens have no weight
        bias = model.get_output_embeddings().bias
        with torch.no_grad():
            bias.copy_((sparse_bias + torch.randn(bias.shape, generator=torch.Generator().manual_seed(seed))).bfloat16().float())
    model.eval().bfloat16().save_pretrained(path)
    t, specials = tokenizer
    PreTrainedTokenizerFast(tokenizer_object=t, **specials).save_pretrained(path)
    write(path / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **specials, **({"model_max_length": max_length} if max_length else {})})
    (path / "generation_config.json").unlink(missing_ok=True)
    if architectures:
        write(path / "config.json", base.json.loads((path / "config.json").read_text()) | {"architectures": architectures})
    if rename:
        save_file(rename(load_file(path / "model.safetensors")), path / "model.safetensors", {"format": "pt"})
    for file, value in dict(files).items():
        write(path / file, value)
    return path


def modules(*list):
    out = []
    for i, (path, kind) in enumerate(list):
        out.append({"idx": i, "name": str(i), "path": path, "type": kind})
    return out


def code(values):
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def sparse_case(rows, **case):
    """rows: for each text its weights by token."""
    return {"type": "sparse", **case, "indices": [sorted(r) for r in rows], "vectors": [code([r[i] for i in sorted(r)]) for r in rows]}


def multi_case(rows, **case):
    return {"type": "multi_vector", **case, "width": int(rows[0].shape[1]), "vectors": [code(r) for r in rows]}


def finish(path, cases):
    write(path / "golden.json", cases)
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    print(f"{path.name:20} {size:8,} bytes", *(len(c["indices"][0]) if "indices" in c else len(c["vectors"][0]) * 3 // 16 // c["width"] for c in cases))


def splade_golden(path):
    st = SparseEncoder(str(path), device="cpu", model_kwargs=FLOAT)
    out = st.encode(TEXTS, convert_to_sparse_tensor=False, batch_size=3)
    rows = [{i: float(v) for i, v in enumerate(row.tolist()) if v > 0} for row in out]
    tokens = [len(st.tokenizer(t, truncation=True, max_length=st.max_seq_length)["input_ids"]) for t in TEXTS]
    finish(path, [sparse_case(rows, texts=TEXTS, tokens=tokens)])


def splade():
    old, new = "sentence_transformers.sparse_encoder.models.", "sentence_transformers.base.modules.transformer."
    pooling = "sentence_transformers.sparse_encoder.models.SpladePooling"
    kind = {"config_sentence_transformers.json": {"model_type": "SparseEncoder", "prompts": {"query": "", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "dot"}}
    t = wordpiece()
    splade_golden(make("splade-bert", transformers.BertForMaskedLM(transformers.BertConfig(**SMALL, **sized(t), max_position_embeddings=64)), t, 101, kind | {
        "modules.json": modules(("", old + "MLMTransformer"), ("1_SpladePooling", pooling)),
        "sentence_bert_config.json": {"max_seq_length": 24, "do_lower_case": False},
        "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None},
    }, sparse_bias=-5))
    t = byte_bpe()
    splade_golden(make("splade-roberta-sum", transformers.RobertaForMaskedLM(transformers.RobertaConfig(
        **OTHER, **sized(t), max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, tie_word_embeddings=False)), t, 102, kind | {
        "modules.json": modules(("", new + "Transformer"), ("1_SpladePooling", pooling)),
        "sentence_bert_config.json": {"transformer_task": "fill-mask", "max_seq_length": 60},
        "1_SpladePooling/config.json": {"pooling_strategy": "sum", "activation_function": "relu", "embedding_dimension": sized(t)["vocab_size"]},
    }, sparse_bias=-2))
    t = wordpiece()
    splade_golden(make("splade-distilbert", transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(
        dim=24, n_layers=2, n_heads=3, hidden_dim=40, **sized(t), max_position_embeddings=64)), t, 104, kind | {
        "modules.json": modules(("", old + "MLMTransformer"), ("1_SpladePooling", pooling)),
        "sentence_bert_config.json": {"max_seq_length": 32},
        "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu"},
    }, sparse_bias=-5))
    t = byte_bpe("[CLS]", "[SEP]", "[PAD]")
    t[0].add_special_tokens(["[PAD]"])
    splade_golden(make("splade-modernbert", transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(
        **OTHER, **sized(t), pad_token_id=t[0].token_to_id("[PAD]"), bos_token_id=None, eos_token_id=None, cls_token_id=t[0].token_to_id("[CLS]"), sep_token_id=t[0].token_to_id("[SEP]"),
        max_position_embeddings=128, local_attention=10)), t, 103, kind | {
        "modules.json": modules(("", old + "MLMTransformer"), ("1_SpladePooling", pooling)),
        "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "log1p_relu"},
    }, max_length=100, sparse_bias=-5))


def bge():
    t = unigram()
    config = transformers.XLMRobertaConfig(**SMALL, **sized(t), max_position_embeddings=70, type_vocab_size=1, pad_token_id=1)
    for name, seed in (("bge-m3", 111), ("bge-m3-safetensors", 112)):
        path = make(name, transformers.XLMRobertaModel(config), t, seed, {
            "modules.json": modules(("", "sentence_transformers.models.Transformer"), ("1_Pooling", "sentence_transformers.models.Pooling"), ("2_Normalize", "sentence_transformers.models.Normalize")),
            "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_cls_token": True},
        }, max_length=64)
        torch.manual_seed(seed)
        sparse, colbert = torch.nn.Linear(32, 1), torch.nn.Linear(32, 32 if seed == 111 else 20)
        if seed == 111:
            with torch.no_grad():
                sparse.weight.neg_()  # so that most weights are positive
            torch.save(sparse.half().state_dict(), path / "sparse_linear.pt")
            torch.save(colbert.half().state_dict(), path / "colbert_linear.pt")
        else:
            save_file(sparse.state_dict(), path / "sparse_linear.safetensors")
            save_file(colbert.state_dict(), path / "colbert_linear.safetensors")
        finish(path, bge_golden(path, sparse.float(), colbert.float()))


@torch.no_grad()
def bge_golden(path, sparse, colbert):
    model = transformers.XLMRobertaModel.from_pretrained(path, add_pooling_layer=False, **FLOAT).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    unused = {tokenizer.convert_tokens_to_ids(getattr(tokenizer, k)) for k in ("cls_token", "unk_token", "pad_token")} | {tokenizer.convert_tokens_to_ids("</s>")}
    texts = TEXTS + ["the the € cat the"]  # a token that is not known
    weights, vectors, tokens, first = [], [], [], []
    for text in texts:
        x = tokenizer([text], return_tensors="pt", truncation=True, max_length=64)
        hidden = model(input_ids=x["input_ids"], attention_mask=x["attention_mask"]).last_hidden_state
        row = {}
        for w, i in zip(torch.relu(sparse(hidden))[0, :, 0].tolist(), x["input_ids"][0].tolist()):
            if i not in unused and w > row.get(i, 0):
                row[i] = w
        weights.append(row)
        vectors.append(torch.nn.functional.normalize(colbert(hidden[:, 1:]), dim=-1)[0].numpy())
        first.append(torch.nn.functional.normalize(hidden[:, 0], dim=-1).numpy())
        tokens.append(x["input_ids"].shape[1])
    assert all(weights) and any(tokenizer.unk_token_id in tokenizer(t)["input_ids"] for t in texts)
    return [sparse_case(weights, texts=texts, tokens=tokens), multi_case(vectors, texts=texts, tokens=tokens),
            {"type": "dense", "texts": texts, "tokens": tokens, "width": 32, "vectors": [code(v) for v in first]}]


def late_golden(path):
    st = MultiVectorEncoder(str(path), device="cpu", model_kwargs=FLOAT)
    cases = []
    for task, encode in (("query", st.encode_query), ("document", st.encode_document)):
        rows = encode(TEXTS, batch_size=3, convert_to_numpy=True)
        alone = [encode([t], convert_to_numpy=True)[0] for t in TEXTS]
        worst = max(np.abs(a - b).max() for a, b in zip(rows, alone))
        assert worst < 5e-6 and all(np.isfinite(r).all() for r in rows), f"{path.name}: {worst} from padding alone"
        cases.append(multi_case(rows, task=task, texts=TEXTS))
    finish(path, cases)


def linear(path, size, out, seed, kind="Dense", **settings):
    _, values, state = dense(size, out, seed, "linear.Identity", bias=False)
    (path / kind).mkdir(exist_ok=True)
    write(path / kind / "config.json", values | settings)
    save_file(state, path / kind / "model.safetensors")


def pylate():
    t = wordpiece()
    t[0].add_tokens(["[Q] ", "[D] "])  # as PyLate adds them: not special, and normalised
    path = make("pylate", transformers.BertModel(transformers.BertConfig(**SMALL, **sized(t), max_position_embeddings=64)), t, 121, {
        "modules.json": modules(("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense")),
        "sentence_bert_config.json": {"max_seq_length": 40, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 16,
            "document_length": 30, "attend_to_expansion_tokens": False, "skiplist_words": list(".,:!&"), "do_query_expansion": True},
    })
    linear(path, 32, 20, 122, "1_Dense", use_residual=False)
    late_golden(path)
    t = byte_bpe("[CLS]", "[SEP]", "[PAD]")
    t[0].add_special_tokens(["[PAD]", "[MASK]"])
    t[0].add_tokens(["[Q] ", "[D] "])
    t[1]["mask_token"] = "[MASK]"
    path = make("pylate-modernbert", transformers.ModernBertModel(transformers.ModernBertConfig(
        **OTHER, **sized(t), pad_token_id=t[0].token_to_id("[PAD]"), bos_token_id=None, eos_token_id=None, max_position_embeddings=128, local_attention=48)), t, 123, {
        "modules.json": modules(("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense"), ("2_Dense", "pylate.models.Dense.Dense")),
        "config_sentence_transformers.json": {
            "model_type": "ColBERT", "prompts": {"query": "", "document": "hen "}, "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 24,
            "document_length": 60, "attend_to_expansion_tokens": False, "do_query_expansion": True},
    }, max_length=100)
    linear(path, 24, 40, 124, "1_Dense")
    linear(path, 40, 12, 125, "2_Dense")
    late_golden(path)


def native():
    t = wordpiece()
    path = make("multi-vector", transformers.BertModel(transformers.BertConfig(**OTHER, **sized(t), max_position_embeddings=64)), t, 131, {
        "modules.json": modules(("", "sentence_transformers.base.modules.transformer.Transformer"), ("1_Dense", "sentence_transformers.base.modules.dense.Dense"),
                                ("2_MultiVectorMask", "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"),
                                ("3_Normalize", "sentence_transformers.base.modules.normalize.Normalize")),
        "sentence_bert_config.json": {"transformer_task": "feature-extraction", "document_length": 36, "query_expansion": {"strategy": "min", "attend": True, "token": "hen", "length": 12}},
        "config_sentence_transformers.json": {"model_type": "MultiVectorEncoder", "prompts": {"query": "search query: ", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "maxsim"},
        "2_MultiVectorMask/config.json": {"skiplist_words": ["a", "the", "nothing"], "skiplist_tasks": ["query", "document"], "keep_only_token_ids": None},
        "3_Normalize/config.json": {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"},
    }, max_length=48)
    linear(path, 24, 16, 132, "1_Dense", module_input_name="token_embeddings", module_output_name="token_embeddings")
    late_golden(path)


def stanford():
    vocab, specials = wordpiece()
    model = base.json.loads(vocab.to_str())
    for piece in ("[unused0]", "[unused1]"):
        model["model"]["vocab"][piece] = len(model["model"]["vocab"])
    t = (base.tokenizers.Tokenizer.from_str(base.json.dumps(model)), specials)

    def inline(state):
        rng = np.random.Generator(np.random.PCG64(142))
        out = {"bert." + k: v for k, v in state.items()}
        return out | {"linear.weight": torch.from_numpy(rng.standard_normal((24, 32)) / 6).float()}

    late_golden(make("stanford", transformers.BertModel(transformers.BertConfig(**SMALL, **sized(t), max_position_embeddings=64)), t, 141, {
        "artifact.metadata": {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_token": "[Q]", "doc_token": "[D]", "dim": 24, "similarity": "cosine",
                              "query_maxlen": 20, "doc_maxlen": 33, "mask_punctuation": True, "attend_to_mask_tokens": False},
    }, architectures=["HF_ColBERT"], rename=inline))


GROUPS = {f.__name__: f for f in (splade, bge, pylate, native, stanford)}


def main(names):
    for package, version in base.VERSIONS.items():
        found = base.importlib.metadata.version(package).split("+")[0]
        assert found == version, f"{package} is {found}, not {version}"
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in names or GROUPS:
        GROUPS[name]()
    total = sum(f.stat().st_size for f in HERE.rglob("*") if f.is_file())
    print(f"{total:,} bytes")
    assert total <= LIMIT


if __name__ == "__main__":
    main(sys.argv[1:])
