"""Tiny tokenizers: byte-level BPE of a few characters and pairs, and M2M100's, Marian's
and NLLB's."""

import io
import json

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import M2M100Tokenizer, MarianTokenizer, MBart50Tokenizer, NllbTokenizer
from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

CHARACTERS = sorted(pre_tokenizers.ByteLevel.alphabet())  # one for each byte
LETTERS = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'-"
PAIRS = [
    "t h", "th e", "Ġ a", "i n", "e r", "Ġ the", "o n", "Ġ t", "a n", "r e", "Ġ s", "an d", "Ġ w", "Ġ o", "in g",
    "o u", "e n", "Ġ b", "i t", "Ġ m", "e s", "Ġ and", "Ġ f", "h e", "o r", "Ġ in", "a t", "Ġ d", "l l", "o f",
]
TEXTS = ["the fox and the hen", "It'S then's", " in it", "Anna SAID, 10,000 fools\nor 7?", "\n\n  the\n", ""]


def vocabulary(count):
    """Characters and the pairs that are merged, count of them."""
    merges = [tuple(p.split()) for p in PAIRS[:count - len(CHARACTERS)]]
    tokens = [*CHARACTERS, *map("".join, merges)]
    assert len(tokens) == len(set(tokens)) == count
    return {t: i for i, t in enumerate(tokens)}, merges


def tokenizer(count, specials, nfc=False, first=False):
    """specials have the ids after the others, or before them (first)."""
    vocab, merges = vocabulary(count)
    if first:
        vocab = {t: i + len(specials) for t, i in vocab.items()}
        vocab = {t: i for i, t in enumerate(specials)} | vocab
    t = Tokenizer(models.BPE(vocab, merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    if nfc:
        t.normalizer = normalizers.NFC()
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return t


def save(path, t, config):
    """tokenizer.json and tokenizer_config.json; what they mean for TEXTS."""
    t.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return expect(t)


def expect(t):
    return [{"text": x, "ids": t.encode(x).ids, "plain": t.encode(x, add_special_tokens=False).ids} for x in TEXTS]


def save_files(path, count):
    """vocab.json and merges.txt."""
    vocab, merges = vocabulary(count)
    vocab["<|endoftext|>"] = count
    (path / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False) + "\n")
    lines = ["#version: 0.2", *map(" ".join, merges), ""]
    (path / "merges.txt").write_text("\n".join(lines))
    return expect(tokenizer(count, []))


def pieces(count):
    """sentencepiece's BPE: the unknown, then pairs by score, then letters."""
    joined = [p.replace(" ", "").replace("Ġ", "▁") for p in PAIRS[:count - 1 - len(LETTERS)]]
    out = [("<unk>", 0.0, "UNKNOWN"), *((p, -float(i), "NORMAL") for i, p in enumerate(joined))]
    out += [(c, -100.0 - i, "NORMAL") for i, c in enumerate(LETTERS)]
    assert len(out) == count
    return out


def expect_pieces(count, before):
    """What sentencepiece makes of TEXTS, with before in front of each."""
    proto = sentencepiece_model_pb2.ModelProto()
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    for piece, score, kind in [*pieces(count), ("<s>", 0, "CONTROL"), ("</s>", 0, "CONTROL")]:
        proto.pieces.add(piece=piece, score=score, type=getattr(kinds, kind))
    proto.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.BPE
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.remove_extra_whitespaces = False
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    texts = [t for t in TEXTS if "\n" not in t and t] + ["  two  spaces ", "THE-END"]
    out = [{"text": t, "plain": processor.encode(t)} for t in texts]
    return [t | {"ids": [before, *t["plain"]]} for t in out]


SPACED = ["<pad>", "<eos>", "<bos>", "<unk>", "<turn|>"]


def spaced(count):
    """Gemma 4's BPE: special tokens, characters, a few bytes, two line feeds, and pairs that are merged."""
    letters = [c for c in LETTERS if c.islower() or c in "▁.,'-"]
    bytes = [f"<0x{b:02X}>" for b in "öä".encode()[:2] + "ä".encode()[1:]]
    tokens = [*SPACED, *letters, *bytes, "\n", "\n\n"]
    merges = [tuple(p.replace("Ġ", "▁").split()) for p in PAIRS[:count - len(tokens)]]
    tokens += map("".join, merges)
    assert len(tokens) == len(set(tokens)) == count
    return tokens, [*merges, ("\n", "\n")]


def expect_spaced(count):
    """What tokenizers makes of texts, with <bos> before them."""
    tokens, merges = spaced(count)
    t = Tokenizer(models.BPE({piece: i for i, piece in enumerate(tokens)}, merges, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPACED])
    texts = [TEXTS[0], TEXTS[2], *TEXTS[4:], "  in\n\n\n\n the - sch\u00f6n", "it's, \u00e4 ."]
    plain = [t.encode(text).ids for text in texts]
    return [{"text": text, "ids": [SPACED.index("<bos>"), *ids], "plain": ids} for text, ids in zip(texts, plain)]


def unigrams(count):
    """sentencepiece's Unigram model as T5 has it: the padding, the end, the unknown, letters, and likelier pairs."""
    special = [("<pad>", 0.0, "CONTROL"), ("</s>", 0.0, "CONTROL"), ("<unk>", 0.0, "UNKNOWN")]
    letters = [("▁", -5.0, "NORMAL"), *((c, -6.0 - i / 8, "NORMAL") for i, c in enumerate(LETTERS) if c.islower() or c in ".,")]
    joined = [p.replace(" ", "").replace("Ġ", "▁") for p in PAIRS[:count - len(special) - len(letters)]]
    out = special + letters + [(p, -3.0 - i / 4, "NORMAL") for i, p in enumerate(joined)]
    assert len(out) == count == len({p for p, _, _ in out}), len(out)
    return out


def unigram_model(pieces):
    proto = sentencepiece_model_pb2.ModelProto()
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    for piece, score, kind in pieces:
        proto.pieces.add(piece=piece, score=score, type=getattr(kinds, kind))
    proto.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    proto.normalizer_spec.name = "identity"
    return proto


def save_unigrams(path, count, texts):
    """A model of sentencepiece, and what it makes of texts with the end behind each."""
    proto = unigram_model(unigrams(count))
    for name, value in {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}.items():
        setattr(proto.trainer_spec, name, value)
    path.write_bytes(proto.SerializeToString())
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [{"text": t, "ids": processor.encode(t) + [1], "plain": processor.encode(t)} for t in texts]


def save_m2m(path, count):
    """vocab.json of count entries and sentencepiece.bpe.model; what M2M100Tokenizer makes
    of them. The words of the training text are few, so that their pieces are."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the fox and the hen", "in it they sat", "and then he ran on", "a hen, a fox."] * 20),
        model_writer=model, vocab_size=count - 1, model_type="bpe", character_coverage=1.0, num_threads=1,
        minloglevel=2, normalization_rule_name="identity")
    (path / "sentencepiece.bpe.model").write_bytes(model.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    known = ["<s>", "<pad>", "</s>", "<unk>", *(pieces.id_to_piece(i) for i in range(3, len(pieces)))]
    assert len(known) == count, len(known)
    (path / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(known)}, ensure_ascii=False) + "\n")
    out = []
    for language, text in (("en", "the fox sat on a hen"), ("fr", "  and then,  he ran."), ("zu", "It ran 7"), ("yo", "")):
        t = M2M100Tokenizer(str(path / "vocab.json"), str(path / "sentencepiece.bpe.model"), src_lang=language)
        ids = t(text).input_ids
        out.append({"text": text, "language": language, "ids": ids, "decoded": t.decode(ids[1:-1])})
    return out


def train(sentences, count):
    """A sentencepiece model of few words."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 20), model_writer=model, vocab_size=count, model_type="unigram", character_coverage=1.0, num_threads=1,
        minloglevel=2, hard_vocab_limit=False)
    return model.getvalue()


def save_mbart(path, count):
    """sentencepiece.bpe.model, whose count pieces have fairseq's ids, and what sentencepiece makes of texts in languages that follow these."""
    proto = unigram_model([("<unk>", 0.0, "UNKNOWN"), ("<s>", 0.0, "CONTROL"), ("</s>", 0.0, "CONTROL"), *unigrams(count - 1)[3:]])
    (path / "sentencepiece.bpe.model").write_bytes(proto.SerializeToString())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MBart50Tokenizer"}) + "\n")
    out = []
    for language, text in (("en_XX", "the fox sat on a hen"), ("de_DE", "  and then,  he ran."), ("sl_SI", "It 7"), ("ar_AR", "")):
        ids = [FAIRSEQ_LANGUAGE_CODES.index(language) + count, *(3 if i == 0 else i + 1 for i in pieces.encode(text)), 2]
        out.append({"text": text, "language": language, "ids": ids, "decoded": "<unk>" if 3 in ids else pieces.decode(pieces.encode(text))})
    return out


def save_mbart_json(path, count):
    """tokenizer.json of the same kind, and what MBart50Tokenizer makes of texts."""
    special = [(t, 0.0) for t in ("<s>", "<pad>", "</s>", "<unk>")]
    known = special + [(p, s) for p, s, _ in unigrams(count - 1)[3:]]
    t = MBart50Tokenizer(vocab=known + [(code, 0.0) for code in FAIRSEQ_LANGUAGE_CODES] + [("<mask>", 0.0)], src_lang="en_XX")
    t.save_pretrained(path)
    out = []
    for language, text in (("en_XX", "the fox sat on a hen"), ("zh_CN", "and then, he ran."), ("fr_XX", "")):
        t.src_lang = language
        ids = t(text).input_ids
        out.append({"text": text, "language": language, "ids": ids, "decoded": t.decode(ids[1:-1], skip_special_tokens=True)})
    return out


def save_marian(path, count):
    """vocab.json of count entries and the padding, source.spm and target.spm; what MarianTokenizer makes of them."""
    known = ["</s>", "<unk>", ">>deu<<", ">>nld<<"]
    for name, sentences in (("source.spm", ["the fox and the hen", "in it they sat", "a hen, a fox."]),
                            ("target.spm", ["der Fuchs und die Henne", "sie sitzt im Fuchs", "eine Henne, ein Fuchs."])):
        model = train(sentences, 32)
        (path / name).write_bytes(model)
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        known += [p for p in (pieces.id_to_piece(i) for i in range(3, len(pieces))) if p not in known]
    known.remove("x")  # a piece that the dictionary lacks
    known = [*known[:count - 1], "7"]  # and a word that no model has
    assert len(known) == count, len(known)
    (path / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate([*known, "<pad>"])}, ensure_ascii=False) + "\n")
    settings = {"source_lang": "eng", "target_lang": "deu", "tokenizer_class": "MarianTokenizer"}
    (path / "tokenizer_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    t = MarianTokenizer(*(str(path / name) for name in ("source.spm", "target.spm", "vocab.json")), source_lang="eng", target_lang="deu")
    out = []
    for language, text in (("", "the fox sat on a hen"), ("deu", "  and  then, 7"), ("nld", "the Fox ran 7 x 77"), ("", "</s> >>deu<< hen"), ("", "")):
        ids = t(f">>{language}<< {text}" if language else text.replace("</s>", "< /s>")).input_ids
        out.append({"text": text.replace("</s>", "< /s>"), "language": language, "ids": ids, "decoded": t.decode(ids[bool(language):], skip_special_tokens=True)})
    for text in ("die Henne, der Fuchs", "eine Katze sitzt", " ein  Fuchs."):
        ids = t(text_target=text).input_ids
        out.append({"target": ids, "decoded": t.decode(ids, skip_special_tokens=True)})
    return out


def save_nllb(path, count):
    """tokenizer.json of count tokens, the languages and the mask; what NllbTokenizer makes of it."""
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyzIt7,."]
    pairs = [p.replace("Ġ", "▁") for p in PAIRS if set(p.replace("Ġ", "▁")) <= {*letters, " "}]
    vocab, merges = ["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys(letters)], []
    for pair in pairs:
        a, b = pair.split()
        if a in vocab and b in vocab and a + b not in vocab and len(vocab) < count:
            merges.append((a, b))
            vocab.append(a + b)
    assert len(vocab) == count, len(vocab)
    t = NllbTokenizer(vocab={p: i for i, p in enumerate(vocab)}, merges=merges)
    t.save_pretrained(path)
    out = []
    for language, text in (("eng_Latn", "the fox sat on a hen"), ("zho_Hant", "  and then,  it ran."), ("fra_Latn", "It 7 </s> é fra_Latn"), ("yor_Latn", "")):
        t.src_lang = language
        ids = t(text.replace("</s>", "< /s>").replace("fra_Latn", "fra_ Latn")).input_ids
        out.append({"text": text.replace("</s>", "< /s>").replace("fra_Latn", "fra_ Latn"), "language": language, "ids": ids,
                    "decoded": t.decode(ids[1:-1], skip_special_tokens=True)})
    return out
