"""Writes the models of this directory, tiny and random, and golden.json in each: the
embeddings that sentence-transformers computes of them in float32.

    /tmp/goldens/bin/python pkg/engine/testdata/encoders/encoder_goldens.py [bert ...]

The environment is that of .ci/goldens.txt. The models are made by transformers' classes, the
files of sentence-transformers are written here, in the forms of old and new versions.
"""

import base64
import importlib.metadata
import json
import math
import os
import pathlib
import shutil
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers import PreTrainedTokenizerFast
from transformers.modeling_outputs import BaseModelOutput

HERE = pathlib.Path(__file__).parent
VERSIONS = {"torch": "2.15.0", "transformers": "5.23.0", "tokenizers": "0.23.3", "sentence-transformers": "6.2.0"}
LIMIT = 1_500_000  # bytes of all models
TEXTS = [
    "the red hen sees a cat",
    "Cats, dogs & HENS: seven of them!",
    "é",
    "a",
    "the cat and the dog and the hen and the cow " * 4,
    "  two   spaces ",
]
WORDS = "the red hen sees a cat cats dog dogs hens seven of them and cow two spaces query : search document title none text".split()
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def wordpiece(first="[CLS]", last="[SEP]", lowercase=True, unk="[UNK]", pad="[PAD]", letters=None):
    letters = [chr(c) for c in range(33, 127)] if letters is None else list(letters)
    vocab = {}
    for piece in [pad, unk, first, last, "[MASK]"] + letters + ["##" + c for c in letters if c.isalnum()] + WORDS + ["##s", "Cats", "HE"]:
        vocab.setdefault(piece, len(vocab))
    t = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token=unk, max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    around(t, first, last)
    return t, dict(cls_token=first, sep_token=last, unk_token=unk, pad_token=pad, mask_token="[MASK]")


def around(t, first, last):
    specials = [s for s in (first, last) if s]
    t.add_special_tokens(specials)
    single = ([first] if first else []) + ["$A"] + ([last] if last else [])
    t.post_processor = processors.TemplateProcessing(
        single=" ".join(single), special_tokens=[(s, t.token_to_id(s)) for s in specials])


def byte_bpe(first="<s>", last="</s>", pad="<pad>"):
    vocab = {s: i for i, s in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])}
    for c in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab.setdefault(c, len(vocab))
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t"), ("h", "e"), ("he", "n"), ("Ġ", "a")]
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    t = tokenizers.Tokenizer(models.BPE(vocab, merges))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    around(t, first, last)
    return t, dict(cls_token="<s>", sep_token="</s>", eos_token="</s>", unk_token="<unk>", pad_token=pad, mask_token="<mask>")


def unigram():
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [("▁" + w, -3.0 - i / 7) for i, w in enumerate(WORDS)] + [("▁", -2.0), ("s", -4.0)]
    pieces += [(chr(c), -6.0 - c / 100) for c in range(33, 127) if chr(c) != "s"]
    t = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=3))
    t.normalizer = normalizers.Sequence([normalizers.NFKC()])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    around(t, "<s>", "</s>")
    return t, dict(cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>")


def deberta_pieces():
    pieces = [(s, 0.0) for s in ("[PAD]", "[CLS]", "[SEP]", "[UNK]")]
    pieces += [("▁" + w, -3.0 - i / 7) for i, w in enumerate(WORDS)] + [("▁", -2.0), ("s", -4.0)] + [(c, -6.0 - i / 100) for i, c in enumerate("abcdehinortw:&!,")]
    t = transformers.DebertaV2Tokenizer(vocab=pieces)
    return t._tokenizer, dict(cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]")


def randomise(model, seed, embed=0.5, norm=0.5):
    rng = np.random.Generator(np.random.PCG64(seed))
    tables = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if id(p) in tables:
                value = (1.5 if "relative" in name else embed) * rng.standard_normal(p.shape)
            elif p.dim() == 2:
                value = 1.4 * rng.standard_normal(p.shape) / p.shape[1] ** 0.5
            elif name.endswith("bias"):
                value = 0.3 * rng.standard_normal(p.shape)
            else:
                value = 1 + rng.uniform(-norm, norm, p.shape)
            p.copy_(torch.from_numpy(value).bfloat16().float())  # as the files store it


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def compact(path):
    path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False, separators=(",", ":")) + "\n")


def make(name, model, tokenizer, seed, modules, limit=None, config=None, settings=None, old=None, cases=(), pad_left=False, max_length=None, embed=0.5, tiny=False, published=None):
    """modules: (name, settings, state) of those after the transformer. published: rewrites the files as others publish them."""
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    randomise(model, seed, embed)
    model.eval().bfloat16().save_pretrained(path)
    t, specials = tokenizer
    fast = PreTrainedTokenizerFast(tokenizer_object=t, **specials)
    fast.save_pretrained(path)
    if tiny:
        compact(path / "tokenizer.json")
    tokenizer_config = {"tokenizer_class": "PreTrainedTokenizerFast", **specials, **({"model_max_length": max_length} if max_length else {}), **({"padding_side": "left"} if pad_left else {})}
    write(path / "tokenizer_config.json", tokenizer_config)
    if old:
        old(path)
    (path / "generation_config.json").unlink(missing_ok=True)
    described = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for i, (kind, values, state) in enumerate(modules, 1):
        described.append({"idx": i, "name": str(i), "path": f"{i}_{kind}", "type": f"sentence_transformers.models.{kind}"})
        (path / f"{i}_{kind}").mkdir()
        if values is not None:
            write(path / f"{i}_{kind}" / "config.json", values)
        if state:
            save_file(state, path / f"{i}_{kind}" / "model.safetensors")
    if modules:
        write(path / "modules.json", described)
    if limit is not None:
        write(path / "sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": False, **(settings or {})})
    if config:
        write(path / "config_sentence_transformers.json", config)
    golden(path, cases)
    if published:
        published(path)


def golden(path, cases):
    st = SentenceTransformer(str(path), device="cpu", model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"})
    out = []
    for case in [{}] + list(cases):
        case = {"texts": TEXTS, **case}
        cut = case.get("dimensions")
        unit = st[-1].__class__.__name__ == "Normalize"
        vectors = st.encode(case["texts"], prompt_name=case.get("prompt"), truncate_dim=cut, normalize_embeddings=bool(cut and unit), batch_size=4)
        alone = np.concatenate([st.encode([t], prompt_name=case.get("prompt"), truncate_dim=cut, normalize_embeddings=bool(cut and unit)) for t in case["texts"]])
        assert vectors.dtype == np.float32 and np.isfinite(vectors).all()
        worst = np.abs(vectors - alone).max()
        assert worst < 5e-6, f"{path.name}: {worst} from padding alone"
        names = st.prompts.get(case.get("prompt") or st.default_prompt_name or "", "") or ""
        tokens = [len(st.tokenizer(names + t, truncation=True, max_length=st.max_seq_length)["input_ids"]) for t in case["texts"]]
        out.append({**case, "tokens": tokens, "width": vectors.shape[1], "vectors": base64.b64encode(vectors.astype("<f4").tobytes()).decode()})
    write(path / "golden.json", out)
    print(f"{path.name:20} {sum(f.stat().st_size for f in path.rglob('*') if f.is_file()):8,} bytes, {st.max_seq_length} tokens, width {out[0]['width']}, size {np.abs(vectors).mean():.3f}")


def pooling(width, **modes):
    return ("Pooling", {"word_embedding_dimension": width, **{f"pooling_mode_{k}": v for k, v in modes.items()}}, None)


def dense(i, o, seed, activation, bias=True):
    rng = np.random.Generator(np.random.PCG64(seed))
    state = {"linear.weight": torch.from_numpy(rng.standard_normal((o, i)) / i**0.5).float()}
    if bias:
        state["linear.bias"] = torch.from_numpy(0.3 * rng.standard_normal(o)).float()
    return ("Dense", {"in_features": i, "out_features": o, "bias": bias, "activation_function": "torch.nn.modules." + activation}, state)


TINY = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
NORMALIZE = ("Normalize", None, None)
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
OTHER = dict(hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40)


def sized(tokenizer):
    return dict(vocab_size=tokenizer[0].get_vocab_size() + 3)  # the last rows are padding


def bert():
    t = wordpiece()
    make("bert", transformers.BertModel(transformers.BertConfig(**SMALL, **sized(t), max_position_embeddings=64)), t, 1, [
        pooling(32, cls_token=False, mean_tokens=True, max_tokens=False), NORMALIZE], limit=24,
        config={"prompts": {"query": "search query: ", "document": ""}, "default_prompt_name": None},
        cases=[{"prompt": "query"}, {"dimensions": 12}])
    t = wordpiece(lowercase=False)

    def old(path):  # the names of the first checkpoints
        state = load_file(path / "model.safetensors")
        state = {"bert." + k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v for k, v in state.items()}
        save_file(state, path / "model.safetensors", {"format": "pt"})

    make("bert-modes", transformers.BertModel(transformers.BertConfig(
        **OTHER, **sized(t), max_position_embeddings=48, type_vocab_size=1, hidden_act="gelu_new", layer_norm_eps=1e-5)), t, 2, [
        ("Pooling", {"embedding_dimension": 24, "pooling_mode": ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"], "include_prompt": False}, None),
        dense(144, 20, 3, "activation.Tanh"), dense(20, 30, 4, "linear.Identity", bias=False)], max_length=48, limit=40, settings={"do_lower_case": True}, old=old,
        config={"prompts": {"ask": "Search: "}, "default_prompt_name": "ask"}, cases=[{"prompt": "ask", "dimensions": 7}])


def bare():
    t = wordpiece()
    make("bert-bare", transformers.BertModel(transformers.BertConfig(**OTHER, **sized(t), max_position_embeddings=40)), t, 5, [])


def distilbert():
    t = wordpiece()
    make("distilbert", transformers.DistilBertModel(transformers.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=48, **sized(t), max_position_embeddings=64)), t, 6, [
        pooling(32, mean_tokens=True), NORMALIZE], limit=40)
    t = wordpiece(lowercase=False)

    def masked(path):  # as the authors' checkpoint, with the head of its training
        state = {"distilbert." + k: v for k, v in load_file(path / "model.safetensors").items()}
        head = {"vocab_transform.weight": torch.zeros(24, 24), "vocab_layer_norm.weight": torch.ones(24), "vocab_projector.bias": torch.zeros(9)}
        save_file({**state, **head}, path / "model.safetensors", {"format": "pt"})

    make("distilbert-masked", transformers.DistilBertModel(transformers.DistilBertConfig(
        dim=24, n_layers=3, n_heads=3, hidden_dim=40, activation="relu", sinusoidal_pos_embds=True, **sized(t), max_position_embeddings=48)), t, 7, [
        pooling(24, cls_token=True)], old=masked, max_length=48)


def roberta():
    t = byte_bpe()
    make("roberta", transformers.RobertaModel(transformers.RobertaConfig(
        **SMALL, **sized(t), max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)), t, 11, [
        pooling(32, cls_token=False, mean_tokens=True)], limit=80)
    t = unigram()
    make("xlm-roberta", transformers.XLMRobertaModel(transformers.XLMRobertaConfig(
        **OTHER, **sized(t), max_position_embeddings=70, type_vocab_size=2, pad_token_id=1)), t, 12, [
        pooling(24, cls_token=True), NORMALIZE], max_length=64)


def mpnet():
    t = wordpiece("<s>", "</s>", unk="[UNK]", pad="<pad>")
    long = {"texts": ["the cat and the dog, " * 45, "a hen"]}
    make("mpnet", transformers.MPNetModel(transformers.MPNetConfig(**SMALL, **sized(t), max_position_embeddings=260, pad_token_id=1)), t, 21, [
        pooling(32, mean_tokens=True), NORMALIZE], limit=250, cases=[long])
    make("mpnet-eps", transformers.MPNetModel(transformers.MPNetConfig(
        **OTHER, **sized(t), max_position_embeddings=100, pad_token_id=0, layer_norm_eps=1e-5, hidden_act="relu")), t, 22, [
        pooling(24, weightedmean_tokens=True)], limit=90)


def modernbert():
    t = byte_bpe("[CLS]", "[SEP]", "[PAD]")
    t[0].add_special_tokens(["[PAD]"])
    shape = dict(pad_token_id=t[0].token_to_id("[PAD]"), cls_token_id=t[0].token_to_id("[CLS]"), sep_token_id=t[0].token_to_id("[SEP]"), bos_token_id=None, eos_token_id=None)
    def old(path):
        c = json.loads((path / "config.json").read_text())
        for k in ("layer_types", "rope_parameters"):
            c.pop(k)
        write(path / "config.json", c | {"global_rope_theta": 700.0, "local_rope_theta": 40.0, "global_attn_every_n_layers": 3})
    make("modernbert", transformers.ModernBertModel(transformers.ModernBertConfig(
        **SMALL | {"num_hidden_layers": 5}, **sized(t), **shape, max_position_embeddings=256, local_attention=12)), t, 31, [
        pooling(32, cls_token=True), NORMALIZE], old=old, max_length=200)
    make("modernbert-types", transformers.ModernBertModel(transformers.ModernBertConfig(
        **OTHER, **sized(t), **shape, max_position_embeddings=200, local_attention=9, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 900.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}},
        norm_bias=True, attention_bias=True, hidden_activation="silu", norm_eps=1e-4)), t, 32, [pooling(24, max_tokens=True)])


def nomic():
    t = wordpiece()
    make("nomic", transformers.NomicBertModel(transformers.NomicBertConfig(
        **SMALL, **sized(t), max_position_embeddings=128, rope_parameters={"rope_type": "default", "rope_theta": 100.0})), t, 41, [
        pooling(32, mean_tokens=True), NORMALIZE], limit=100, config={"prompts": {"search_query": "search query: "}}, cases=[{"prompt": "search_query", "dimensions": 16}])

    def new(path):  # the names that transformers has in memory
        state = load_file(path / "model.safetensors")
        out = {}
        for k, v in state.items():
            for a, b in (("encoder.layers", "layers"), ("emb_ln", "embeddings.LayerNorm"), ("attn.out_proj", "self_attn.o_proj"), ("fc11", "up_proj"), ("fc12", "gate_proj"),
                         ("fc2", "down_proj"), ("norm1", "post_attention_layernorm"), ("norm2", "post_mlp_layernorm")):
                k = k.replace(a, b)
            if "attn.Wqkv" in k:
                for n, part in zip("qkv", v.chunk(3)):
                    out[k.replace("attn.Wqkv", f"self_attn.{n}_proj")] = part.contiguous()
            else:
                out[k] = v
        save_file(out, path / "model.safetensors", {"format": "pt"})
    make("nomic-names", transformers.NomicBertModel(transformers.NomicBertConfig(
        **OTHER, **sized(t), max_position_embeddings=90, layer_norm_eps=1e-5, type_vocab_size=1)), t, 42, [pooling(24, cls_token=True)], old=new)


def tiny(*args, **kwargs):
    make(*args, tiny=True, **kwargs)


def few(*rest, **changes):
    """A tokenizer of fewer tokens."""
    return wordpiece(*rest, letters="abcdehinorstw:&!,", **changes)


def electra():
    t = few()
    tiny("electra", transformers.ElectraModel(transformers.ElectraConfig(**TINY, **sized(t), embedding_size=12, max_position_embeddings=48)), t, 71, [
        pooling(16, mean_tokens=True), NORMALIZE], limit=40)


def gte():
    t = few()
    factor, theta = 4.0, 50.0

    def published(path):  # as the authors have it: NTK scaling is a larger base and another factor
        c = json.loads((path / "config.json").read_text())
        c.pop("rope_parameters")
        write(path / "config.json", c | {"model_type": "new", "architectures": ["NewModel"], "position_embedding_type": "rope", "layer_norm_type": "layer_norm",
                                         "rope_theta": theta, "rope_scaling": {"type": "ntk", "factor": factor}, "pack_qkv": True, "unpad_inputs": False})

    tiny("gte", transformers.GteModel(transformers.GteConfig(**TINY, **sized(t), max_position_embeddings=64, type_vocab_size=0, rope_parameters={
        "rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / 8)})), t, 72, [pooling(16, cls_token=True)], published=published)


def deberta():
    t = deberta_pieces()
    tiny("deberta", transformers.DebertaV2Model(transformers.DebertaV2Config(
        **TINY, **sized(t), max_position_embeddings=64, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], max_relative_positions=-1,
        position_biased_input=False, norm_rel_ebd="layer_norm", share_att_key=False)), t, 73, [pooling(16, mean_tokens=True)], limit=60)


def albert():
    t = few()
    tiny("albert", transformers.AlbertModel(transformers.AlbertConfig(
        **TINY | {"num_hidden_layers": 5}, **sized(t), num_hidden_groups=2, embedding_size=12, max_position_embeddings=48)), t, 75, [pooling(16, mean_tokens=True)], limit=40)


class JinaV2Config(transformers.BertConfig):
    model_type = "jina_v2"  # the authors' files say bert


class JinaV2(transformers.PreTrainedModel):
    """jina-embeddings-v2 by the formulas of its authors, whose code is not in transformers: BERT with ALiBi on
    both sides and gated blocks."""

    config_class = JinaV2Config

    def __init__(self, config):
        super().__init__(config)
        w, f, D = config.hidden_size, config.intermediate_size, nn.ModuleDict
        norm = lambda: nn.LayerNorm(w, eps=config.layer_norm_eps)
        self.embeddings = D({"word_embeddings": nn.Embedding(config.vocab_size, w), "token_type_embeddings": nn.Embedding(config.type_vocab_size, w), "LayerNorm": norm()})
        layer = lambda: D({
            "attention": D({"self": D({n: nn.Linear(w, w) for n in ("query", "key", "value")}), "output": D({"dense": nn.Linear(w, w), "LayerNorm": norm()})}),
            "mlp": D({"gated_layers": nn.Linear(w, 2 * f, bias=False), "wo": nn.Linear(f, w), "layernorm": norm()})})
        self.encoder = D({"layer": nn.ModuleList(layer() for _ in range(config.num_hidden_layers))})
        self.post_init()

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, **_):
        e, heads = self.embeddings, self.config.num_attention_heads
        x = e["LayerNorm"](e["word_embeddings"](input_ids) + e["token_type_embeddings"].weight[0])
        b, n, w = x.shape
        at = torch.arange(n)
        bias = -slopes(heads)[:, None, None] * (at[:, None] - at[None, :]).abs()
        if attention_mask is not None:
            bias = bias + (1 - attention_mask[:, None, None, :]) * torch.finfo(torch.float32).min
        split = lambda y: y.view(b, n, heads, -1).transpose(1, 2)
        for layer in self.encoder["layer"]:
            a, m = layer["attention"], layer["mlp"]
            q, k, v = (split(a["self"][name](x)) for name in ("query", "key", "value"))
            p = torch.softmax(q @ k.transpose(2, 3) / (w // heads) ** 0.5 + bias, -1)
            x = a["output"]["LayerNorm"](a["output"]["dense"]((p @ v).transpose(1, 2).reshape(b, n, w)) + x)
            gate, up = m["gated_layers"](x).chunk(2, -1)
            x = m["layernorm"](m["wo"](nn.functional.gelu(gate) * up) + x)
        return BaseModelOutput(last_hidden_state=x)


def slopes(heads):
    """Press et al. 2022: powers of 2**(-8/n) for the largest power of two n, then every second one of those for 2n."""
    n = 2 ** math.floor(math.log2(heads))
    powers = lambda n: [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return torch.tensor(powers(n) + powers(2 * n)[0::2][: heads - n])


def jina_v2():
    t = few()

    def published(path):
        c = json.loads((path / "config.json").read_text())
        write(path / "config.json", c | {"model_type": "bert", "architectures": ["JinaBertModel"], "position_embedding_type": "alibi", "feed_forward_type": "geglu", "emb_pooler": "mean"})

    tiny("jina-v2", JinaV2(JinaV2Config(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, **sized(t), max_position_embeddings=64)), t, 77, [
        pooling(24, mean_tokens=True)], limit=60, published=published)


class NomicMoEConfig(transformers.BertConfig):
    model_type = "nomic_moe"  # the authors' files say nomic_bert


class NomicMoE(transformers.PreTrainedModel):
    """nomic-embed-text-v2-moe by the formulas of its authors, whose code is not in transformers."""

    config_class = NomicMoEConfig

    def __init__(self, config):
        super().__init__(config)
        w, f, e, D = config.hidden_size, config.intermediate_size, config.num_experts, nn.ModuleDict
        norm = lambda: nn.LayerNorm(w, eps=config.layer_norm_eps)
        self.embeddings = D({"word_embeddings": nn.Embedding(config.vocab_size, w), "token_type_embeddings": nn.Embedding(config.type_vocab_size, w)})
        self.emb_ln = norm()

        def experts():
            m = D({"mlp": nn.Module()})
            for name in ("w1", "w2"):
                m["mlp"].register_parameter(name, nn.Parameter(torch.zeros(e * f, w)))
            m.register_buffer("bias", torch.zeros(w))
            return m

        mlp = lambda i: D({"router": D({"layer": nn.Linear(w, e, bias=False)}), "experts": experts()}) if i % 2 else D({"fc1": nn.Linear(w, f), "fc2": nn.Linear(f, w)})
        self.encoder = D({"layers": nn.ModuleList(D({"attn": D({"Wqkv": nn.Linear(w, 3 * w), "out_proj": nn.Linear(w, w)}), "norm1": norm(), "mlp": mlp(i), "norm2": norm()})
                                                  for i in range(config.num_hidden_layers))})
        self.post_init()

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, **_):
        c, heads = self.config, self.config.num_attention_heads
        x = self.emb_ln(self.embeddings["word_embeddings"](input_ids) + self.embeddings["token_type_embeddings"].weight[0])
        b, n, w = x.shape
        d = w // heads
        angles = torch.arange(n)[:, None] * c.rotary_emb_base ** (-torch.arange(0, d, 2) / d)
        cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
        turn = lambda y: y * cos + torch.cat([-y[..., d // 2:], y[..., : d // 2]], -1) * sin
        bias = 0 if attention_mask is None else (1 - attention_mask[:, None, None, :]) * torch.finfo(torch.float32).min
        for layer in self.encoder["layers"]:
            q, k, v = (y.view(b, n, heads, d).transpose(1, 2) for y in layer["attn"]["Wqkv"](x).chunk(3, -1))
            p = torch.softmax(turn(q) @ turn(k).transpose(2, 3) / d**0.5 + bias, -1)
            x = layer["norm1"](layer["attn"]["out_proj"]((p @ v).transpose(1, 2).reshape(b, n, w)) + x)
            m = layer["mlp"]
            if "fc1" in m:
                y = m["fc2"](nn.functional.gelu(m["fc1"](x)))
            else:
                weights, chosen = torch.softmax(m["router"]["layer"](x), -1).topk(c.moe_top_k, -1)
                w1, w2 = (getattr(m["experts"]["mlp"], name).view(c.num_experts, -1, w) for name in ("w1", "w2"))
                each = torch.einsum("bnef,efw->bnew", nn.functional.gelu(torch.einsum("bnw,efw->bnef", x, w1)), w2)
                y = m["experts"].bias + (each.gather(2, chosen[..., None].expand(-1, -1, -1, w)) * weights[..., None]).sum(2)
            x = layer["norm2"](y + x)
        return BaseModelOutput(last_hidden_state=x)


def nomic_moe():
    t = few()

    def published(path):
        c = json.loads((path / "config.json").read_text())
        write(path / "config.json", {
            "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "activation_function": "gelu", "causal": False, "expert_choice_router": False, "ffn_div": 1,
            "layer_norm_epsilon": c["layer_norm_eps"], "mlp_fc1_bias": True, "mlp_fc2_bias": True, "moe_every_n_layers": 2, "moe_normalize_expert_weights": False,
            "moe_top_k": c["moe_top_k"], "n_embd": c["hidden_size"], "n_head": c["num_attention_heads"], "n_inner": c["intermediate_size"], "n_layer": c["num_hidden_layers"],
            "n_positions": 2048, "num_experts": c["num_experts"], "num_shared_experts": 0, "prenorm": False, "qkv_proj_bias": True, "rotary_emb_base": c["rotary_emb_base"],
            "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "type_vocab_size": 1, "use_rms_norm": False,
            "vocab_size": c["vocab_size"]})

    tiny("nomic-moe", NomicMoE(NomicMoEConfig(**TINY | {"num_hidden_layers": 3}, **sized(t), type_vocab_size=1, layer_norm_eps=1e-5, num_experts=4, moe_top_k=2, rotary_emb_base=100.0)), t, 78, [
        pooling(16, mean_tokens=True), NORMALIZE], limit=60, published=published)


def eurobert():
    t = byte_bpe()
    tiny("eurobert", transformers.EuroBertModel(transformers.EuroBertConfig(
        **TINY, **sized(t), num_key_value_heads=1, max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        bos_token_id=0, eos_token_id=2, pad_token_id=1, mask_token_id=4)), t, 79, [pooling(16, mean_tokens=True)], limit=60)


def jina():
    t = few()
    tiny("jina", transformers.JinaEmbeddingsV3Model(transformers.JinaEmbeddingsV3Config(
        **TINY, **sized(t), max_position_embeddings=66, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 100.0})), t, 76, [
        pooling(16, mean_tokens=True), NORMALIZE], limit=40)


ROPES = {"full_attention": {"rope_type": "default", "rope_theta": 5000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}


def gemma():
    t = byte_bpe("<s>", "</s>")
    shape = dict(bos_token_id=0, eos_token_id=2, pad_token_id=1, use_bidirectional_attention=True)
    make("embeddinggemma", transformers.Gemma3TextModel(transformers.Gemma3TextConfig(
        **SMALL | {"num_hidden_layers": 7}, **sized(t), **shape, num_key_value_heads=1, head_dim=8, sliding_window=12, query_pre_attn_scalar=16, max_position_embeddings=256,
        rope_parameters=ROPES)), t, 51, [
        pooling(32, mean_tokens=True), dense(32, 64, 52, "linear.Identity", bias=False), dense(64, 32, 53, "linear.Identity", bias=False), NORMALIZE], limit=200,
        config={"prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}}, cases=[{"prompt": "query"}, {"prompt": "document", "dimensions": 8}], embed=0.1)
    make("embeddinggemma-odd", transformers.Gemma3TextModel(transformers.Gemma3TextConfig(
        **OTHER, **sized(t), **shape, num_key_value_heads=3, head_dim=16, sliding_window=6, query_pre_attn_scalar=8, max_position_embeddings=200,
        layer_types=["full_attention", "sliding_attention", "sliding_attention"], rope_parameters=ROPES)), t, 54, [pooling(24, mean_tokens=True)], embed=0.1)


def causal():
    t = byte_bpe(None, "</s>")
    make("qwen3", transformers.Qwen3Model(transformers.Qwen3Config(
        **SMALL, **sized(t), num_key_value_heads=2, head_dim=16, max_position_embeddings=256, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        bos_token_id=None, eos_token_id=2, pad_token_id=1)), t, 61, [
        pooling(32, lasttoken=True), NORMALIZE], config={"prompts": {"query": "Instruct: search\nQuery:", "document": ""}}, cases=[{"prompt": "query"}, {"dimensions": 16}], pad_left=True, max_length=120)
    t = byte_bpe("<s>", "</s>")
    make("mistral", transformers.MistralModel(transformers.MistralConfig(
        **OTHER, **sized(t), num_key_value_heads=1, head_dim=8, max_position_embeddings=256, sliding_window=9, rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        bos_token_id=0, eos_token_id=2, pad_token_id=1)), t, 62, [pooling(24, lasttoken=True), NORMALIZE], limit=70)


GROUPS = {f.__name__: f for f in (bert, bare, distilbert, roberta, mpnet, modernbert, nomic, gemma, causal, electra, gte, deberta, albert, jina, jina_v2, nomic_moe, eurobert)}


for kind in (JinaV2, NomicMoE):
    transformers.AutoConfig.register(kind.config_class.model_type, kind.config_class)
    transformers.AutoModel.register(kind.config_class, kind)


def main(names):
    for package, version in VERSIONS.items():
        found = importlib.metadata.version(package).split("+")[0]
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
