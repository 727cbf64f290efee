"""Trains the starter model sentences on the pairs of pkg/starter/corpus.

    glossa corpus sentences --seed 1 --bytes 150000000 > sentences.txt
    python .ci/sentences/train.py --text sentences.txt --out DIR

torch 2.15.0, transformers 5.23.0, tokenizers 0.23.3; all threads. Writes a directory as
sentence-transformers saves one: a BERT whose hidden states are averaged and normalised.

The loss is that of van den Oord et al. 2018 (InfoNCE) in both directions: of all texts of a
batch, each text's partner has to be the nearest, by the whole vector and by its beginnings
(Matryoshka, Kusupati et al. 2022). Texts of the same meaning are no negatives of each other.
Half of a batch is drawn from a few scenes, so that a text's partner differs from its
negatives in details, not only in what it is about.
"""

import argparse
import json
import os
import random
import time

import numpy
import tokenizers
import torch
import transformers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = 6000
WIDTH = 128
PREFIXES = {128: 1.0, 64: 0.5, 32: 0.5}  # widths of the vectors, and their weights in the loss
CONTEXT = 128
SCALE = 20.0
SCENES = 16  # that half a batch is drawn from
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789àáâãäåæçèéêëìíîïñòóôõöøœßùúûüýÿ.,;:!?'\"()-%€$£&/+*=#@_<>[]{}|\\^~`°–—…’‘“”"


def read(path):
    """Gives the meanings and both texts of each pair."""
    with open(path, encoding="utf-8") as f:
        return list(zip(*(line.rstrip("\n").split("\t") for line in f)))


def pieces(texts):
    """Trains lower-case pieces of words."""
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    t.normalizer = tokenizers.normalizers.BertNormalizer()
    t.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(texts, tokenizers.trainers.WordPieceTrainer(
        vocab_size=PIECES, special_tokens=SPECIAL, initial_alphabet=list(LETTERS), show_progress=False,
    ))
    t.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    t.decoder = tokenizers.decoders.WordPiece()
    return t


class Texts:
    """Token ids of many texts in one array."""

    def __init__(self, texts, t):
        ids, self.begin = [], numpy.zeros(len(texts) + 1, dtype=numpy.int64)
        for from_ in range(0, len(texts), 50_000):
            part = [e.ids[:CONTEXT] for e in t.encode_batch(texts[from_ : from_ + 50_000])]
            self.begin[from_ + 1 : from_ + len(part) + 1] = self.begin[from_] + numpy.cumsum([len(p) for p in part])
            ids.append(numpy.fromiter((i for p in part for i in p), dtype=numpy.int32))
        self.ids = numpy.concatenate(ids)

    def padded(self, rows):
        """Gives ids and mask of the rows, each of shape (rows, longest)."""
        lengths = self.begin[rows + 1] - self.begin[rows]
        out = numpy.zeros((len(rows), lengths.max()), dtype=numpy.int64)
        for i, (row, n) in enumerate(zip(rows, lengths)):
            out[i, :n] = self.ids[self.begin[row] : self.begin[row] + n]
        return torch.from_numpy(out), torch.from_numpy(numpy.arange(out.shape[1])[None] < lengths[:, None])


def new_model(vocab):
    torch.manual_seed(1)
    return transformers.BertModel(transformers.BertConfig(
        vocab_size=vocab, hidden_size=WIDTH, num_hidden_layers=3, num_attention_heads=4, intermediate_size=4 * WIDTH,
        max_position_embeddings=CONTEXT, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.04,
        pad_token_id=0,
    ), add_pooling_layer=False)


def embed(model, batch):
    """Averages the hidden states of each row: (rows, WIDTH), not yet normalised."""
    ids, mask = batch
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask[..., None]
    return hidden.sum(1) / mask.sum(1, keepdim=True)


def loss_of(a, b, same):
    """The loss of a batch; same tells the pairs of equal meaning, of shape (rows, rows)."""
    total, target = 0.0, torch.arange(len(a))
    for width, weight in PREFIXES.items():
        x, y = (torch.nn.functional.normalize(v[:, :width], dim=-1) for v in (a, b))
        cross = (SCALE * x @ y.T).masked_fill(same, -1e4)
        own = [(SCALE * v @ v.T).masked_fill(same | torch.eye(len(v), dtype=torch.bool), -1e4) for v in (x, y)]
        for logits in (torch.cat([cross, own[0]], 1), torch.cat([cross.T, own[1]], 1)):
            total = total + weight * torch.nn.functional.cross_entropy(logits, target)
    return total / (2 * sum(PREFIXES.values()))


class Batches:
    """Draws batches: half at random, half from a few scenes."""

    def __init__(self, meanings, size):
        self.size, self.rng = size, numpy.random.default_rng(1)
        self.codes = numpy.unique(numpy.array(meanings), return_inverse=True)[1]
        scenes = numpy.unique(numpy.array([m.split("/", 1)[0] for m in meanings]), return_inverse=True)[1]
        order = numpy.argsort(scenes, kind="stable")
        self.scenes = numpy.split(order, numpy.flatnonzero(numpy.diff(scenes[order])) + 1)

    def draw(self):
        """Gives the rows of a batch, and which of them mean the same as which others."""
        rows = [self.rng.integers(len(self.codes), size=self.size // 2)]
        for i in self.rng.choice(len(self.scenes), SCENES, replace=False):
            rows.append(self.rng.choice(self.scenes[i], self.size // 2 // SCENES))
        rows = numpy.unique(numpy.concatenate(rows))
        codes = torch.from_numpy(self.codes[rows])
        same = codes[:, None] == codes[None]
        same.fill_diagonal_(False)
        return rows, same


def save(model, t, out):
    """Writes the model in float16; the training keeps its own float32 weights."""
    half = transformers.BertModel(model.config, add_pooling_layer=False)
    half.load_state_dict(model.state_dict())
    half.to(torch.float16).save_pretrained(out)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
        model_max_length=CONTEXT, do_lower_case=True,
    ).save_pretrained(out)
    kinds = [("", "models.Transformer"), ("1_Pooling", "models.Pooling"), ("2_Normalize", "models.Normalize")]
    write(out, "modules.json", [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers." + kind} for i, (path, kind) in enumerate(kinds)])
    write(out, "sentence_bert_config.json", {"max_seq_length": CONTEXT, "do_lower_case": False})
    write(out, "1_Pooling/config.json", {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True})


def write(out, name, value):
    path = os.path.join(out, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def compact(out):
    """Writes tokenizer.json without spaces."""
    path = os.path.join(out, "tokenizer.json")
    with open(path, encoding="utf-8") as f:
        value = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--text", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--peak", type=float, default=1.5e-3)
    p.add_argument("--warmup", type=int, default=300)
    p.add_argument("--save", type=float, default=240, help="seconds")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    meanings, left, right = read(a.text)
    t = pieces(random.Random(1).sample(left + right, min(400_000, 2 * len(left))))
    t.save(os.path.join(a.out, "tokenizer.json"))
    left, right, batches = Texts(left, t), Texts(right, t), Batches(meanings, a.batch)
    model = new_model(t.get_vocab_size())
    print(f"{len(meanings)} pairs, {t.get_vocab_size()} pieces, {sum(x.numel() for x in model.parameters())} parameters", flush=True)
    decay = [x for x in model.parameters() if x.dim() == 2]
    rest = [x for x in model.parameters() if x.dim() != 2]
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=0, betas=(0.9, 0.98), foreach=True)
    begin = saved = time.time()
    model.train()
    for step in range(a.steps):
        for g in optimiser.param_groups:
            g["lr"] = a.peak * min((step + 1) / a.warmup, (a.steps - step) / (a.steps - a.warmup))
        rows, same = batches.draw()
        loss = loss_of(embed(model, left.padded(rows)), embed(model, right.padded(rows)), same)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 50 == 0:
            print(f"{time.time() - begin:.0f} s, step {step}, loss {loss.item():.4f}", flush=True)
        if time.time() - saved > a.save:
            save(model, t, a.out)
            saved = time.time()
    save(model, t, a.out)
    compact(a.out)


if __name__ == "__main__":
    main()
