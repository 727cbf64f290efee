"""Goldens of the encoder-decoder models, with beam search."""

import copy
import itertools
import json

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

import common
import vocabularies
from common import Catch, check_logits, check_parameters, close, directory, random_parameters, write

class M2M100:
    """Sources begin with a language, targets with the end and a language. Words follow the first four tokens."""
    eos = start = 2
    pad, first, made_up, languages = 1, 4, 8, 100
    forced = False

    @classmethod
    def language(cls, rng, pieces):
        return [int(rng.integers(pieces, pieces + cls.languages))]


class NLLB(M2M100):
    """A token behind the languages is a mask."""
    made_up, languages = 1, 202


class Marian:
    """Targets begin with the padding, which is the last token, and end with the end, if that is forced."""
    eos, first, made_up = 0, 2, 0

    def __init__(self, vocab, forced):
        self.start = self.pad = vocab - 1
        self.forced = forced

    @staticmethod
    def language(rng, pieces):
        return []


def forward(model, source, target, mask=None):
    """Logits (B, T, V), the encoder's output, and both stacks' states."""
    source, target = (torch.as_tensor(np.atleast_2d(x)) for x in (source, target))
    base = getattr(model, "model", model)
    stacks = [getattr(stack, "layers", None) or stack.block for stack in (base.encoder, base.decoder)]
    with torch.no_grad(), Catch(stacks[0]) as encoder, Catch(stacks[1]) as decoder:
        out = model(source, attention_mask=mask, decoder_input_ids=target, use_cache=False)
    return out.logits, out.encoder_last_hidden_state, encoder, decoder


def text(k, rng, pieces, count):
    """A source: a language, pieces, the end."""
    return [*k.language(rng, pieces), *rng.integers(k.first, pieces, count).tolist(), k.eos]


def padded(k, rows):
    width = max(map(len, rows))
    ids = torch.tensor([row + [k.pad] * (width - len(row)) for row in rows])
    return ids, (ids != k.pad).long()


def check_sensitive(model, source, target):
    """The logits depend on every parameter but the biases of keys, on the order of the
    source and of the target."""
    want = forward(model, source, target)[0]
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("k_proj.bias"):
                continue
            kept = p.clone()
            p.copy_(kept.roll(1, 0))
            got = forward(model, source, target)[0]
            p.copy_(kept)
            assert (got - want).abs().max() > 0.02, name
    for which in range(2):
        other = [list(source), list(target)]
        other[which][2], other[which][3] = other[which][3], other[which][2]
        assert (forward(model, *other)[0][0, -1] - want[0, -1]).abs().max() > 0.02


def teacher(k, model, rng, pieces, name):
    """States and logits under teacher forcing: one text, a padded batch, long texts."""
    source = text(k, rng, pieces, 9)
    target = [k.start, *[pieces + 17][:k.made_up], *rng.integers(k.first, pieces, 8).tolist()]
    check_sensitive(model, source, target)
    logits, output, encoder, decoder = forward(model, source, target)
    check_logits(logits, name)
    out = {"source.ids": torch.tensor(source), "ids": torch.tensor(target), "logits": logits[0], "encoder.output": output[0]}
    out |= {f"encoder.hidden.{i}": h[0] for i, h in enumerate(encoder)}
    out |= {f"hidden.{i}": h[0] for i, h in enumerate(decoder)}
    rows = [text(k, rng, pieces, n) for n in (6, 2, 4)]
    ids, mask = padded(k, rows)
    targets = torch.tensor([[k.start, *[pieces + 3 * i][:k.made_up], *rng.integers(k.first, pieces, 4)] for i in range(len(rows))])
    logits = forward(model, ids, targets, mask)[0]
    check_logits(logits, name + " batch")
    alone = torch.cat([forward(model, s, t)[0] for s, t in zip(rows, targets)])
    close(logits, alone, 2e-4, name + " batch")
    out |= {"batch.source.ids": ids, "batch.source.mask": mask, "batch.ids": targets, "batch.logits": logits}
    source = text(k, rng, pieces, 238)
    target = [k.start, *[pieces + min(60, getattr(k, "languages", 61) - 1)][:k.made_up], *rng.integers(k.first, pieces, 198).tolist()]
    logits = forward(model, source, target)[0][:, -4:]
    check_logits(logits, name + " long")
    out |= {"long.source.ids": torch.tensor(source), "long.ids": torch.tensor(target), "long.logits": logits[0]}
    double = copy.deepcopy(model).double()
    common.WORST[name] = max(
        close(forward(double, *(out[a] for a in pair))[0][0][-len(out[want]):], out[want], 2e-5, name)
        for pair, want in ((("source.ids", "ids"), "logits"), (("long.source.ids", "long.ids"), "long.logits")))
    return out


def generate(k, model, sources, language, settings, every=False):
    """What generate returns for a batch: for each source its hypotheses, best first, as
    (tokens, score); greedy search has no scores."""
    ids, mask = padded(k, sources)
    settings = dict(settings)
    count = settings["num_beams"] if every else 1
    if settings["num_beams"] == 1:  # which ignores the others
        settings = {key: settings[key] for key in ("num_beams", "max_length")} | {"early_stopping": False, "length_penalty": 1.0}
    got = model.generate(
        ids, attention_mask=mask, forced_bos_token_id=language, do_sample=False, num_return_sequences=count,
        output_scores=True, return_dict_in_generate=True, **settings,
    )
    scores = getattr(got, "sequences_scores", None)
    scores = [None] * len(got.sequences) if scores is None else scores.tolist()
    pairs = list(zip((strip(k, tokens) for tokens in got.sequences.tolist()), scores))
    return [pairs[i * count:(i + 1) * count] for i in range(len(sources))]


def strip(k, tokens):
    """Without the padding behind the end."""
    while tokens[-1] == k.pad:
        tokens = tokens[:-1]
    return tokens


def grid(beams, stops, lengths, penalties):
    """All combinations, and greedy search at each length."""
    keys = ("num_beams", "early_stopping", "max_length", "length_penalty")
    searches = itertools.product([b for b in beams if b > 1], stops, lengths, penalties)
    return [{"num_beams": 1, "max_length": n} for n in lengths] + [dict(zip(keys, s)) for s in searches]


def disturbed(model, seed, size=3e-6):
    """The model with other rounding errors: searches which these change are too close
    to be asked of anyone."""
    rng = np.random.Generator(np.random.PCG64(seed))
    model = copy.deepcopy(model)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(torch.from_numpy(1 + size * rng.standard_normal(p.shape)))
    return model


def tokens_of(results):
    return [[tokens for tokens, _ in hypotheses] for hypotheses in results]


def cases(k, model, witnesses, sources, language, settings):
    """The golden searches of a batch, or None if one of them is too close to call, or
    finds a made-up word: other programs may know that these do not exist."""
    out = []
    for one in settings:
        every = one.get("early_stopping") is True and one["length_penalty"] == 1.0
        want = generate(k, model, sources, language, one, every)
        if max(sum(sum(tokens_of(want), []), [])) >= model.config.vocab_size - k.made_up and k.made_up:
            return None
        for witness in witnesses:
            got = generate(k, witness, sources, language, one, every)
            if tokens_of(got) != tokens_of(want):
                return None
            for a, b in zip(sum(want, []), sum(got, [])):
                assert a[1] is None or abs(a[1] - b[1]) < 1e-4
        results = [[{"tokens": t} | ({} if s is None else {"score": round(s, 7)}) for t, s in h] for h in want]
        out.append(one | {"sources": sources, "results": results} | ({"language": language} if language else {}))
    return out


def best(found, **settings):
    """The best tokens of the cases with these settings, as a set."""
    match = [c for c in found if all(c.get(k) == v for k, v in settings.items())]
    return {json.dumps([h[0]["tokens"] for h in c["results"]]) for c in match}


def telling(found):
    """Whether the number of beams, when to stop and the penalty of length matter."""
    beams = len(best(found, max_length=LENGTHS[1], early_stopping=True, length_penalty=1.0)) >= 3
    stops = any(len(best(found, num_beams=b, max_length=LENGTHS[1], length_penalty=1.0)) > 1 for b in range(2, 6))
    penalties = any(len(best(found, num_beams=b, early_stopping=False, max_length=LENGTHS[1])) > 1 for b in range(2, 6))
    return beams, stops, penalties


def ended(k, found):
    """Whether no hypothesis was cut off."""
    return all(h["tokens"][-1] == k.eos for c in found for hypotheses in c["results"] for h in hypotheses)


LENGTHS = 7, 24
TRIES = 300
GRID = grid(range(1, 6), (True, False, "never"), LENGTHS, (1.0, 2.0))
FULL = [s for s in GRID if s["max_length"] == LENGTHS[1]]
USUAL = grid(range(1, 6), (True,), LENGTHS[1:], (1.0,))
PART = grid((1, 2, 4, 5), (True, False), LENGTHS[1:], (1.0,))


def beams(k, model, rng, pieces, singles):
    """Searches that are clear and tell settings apart, one source at a time and as
    padded batches. Of several sources the first is one whose hypotheses all end, so that
    any larger max_length finds the same."""
    witnesses = [disturbed(model, 1), copy.deepcopy(model).double()]
    found, sources = [], []
    for _ in range(TRIES):
        source = text(k, rng, pieces, int(rng.integers(2, 12)))
        language = (k.language(rng, pieces) or [None])[0]
        usual = cases(k, model, [], [source], language, USUAL) or []
        least = 3 if len(sources) == singles // 2 else 2
        if len(best(usual)) < least or singles > 1 and not sources and not ended(k, usual):
            continue
        if sum(telling(cases(k, model, [], [source], language, FULL) or [])) < least:
            continue
        if got := cases(k, model, witnesses, [source], language, GRID):
            sources.append(source)
            found += got
        if len(sources) == singles:
            break
    batches = 0
    for _ in range(TRIES):
        rows = [text(k, rng, pieces, n) for n in (9, 2, 5)]
        if got := cases(k, model, witnesses, rows, pieces + 40 + batches if k.made_up else None, PART):
            found += got
            batches += 1
        if batches == 2:
            break
    assert len(sources) == singles and batches == 2, (len(sources), batches)
    ends = [h["tokens"][-1] == k.eos for c in found for hypotheses in c["results"] for h in hypotheses]
    mixed = [len({h["tokens"][-1] == k.eos for h in hypotheses}) > 1 for c in found for hypotheses in c["results"]]
    assert all(ends) if k.forced else 0.1 < np.mean(ends) < 0.98 and sum(mixed) >= 1, (np.mean(ends), sum(mixed))
    return found


def make(name, config, seed, embed, lean, pieces, singles, words=None, k=M2M100):
    path = directory(name)
    model = M2M100ForConditionalGeneration(config).eval()
    rng = random_parameters(model, seed, embed, ["model.decoder.layer_norm.weight"])
    with torch.no_grad():  # the end is likely, as the norm's bias is in every state; made-up words are not
        bias = model.model.decoder.layer_norm.bias
        model.model.shared.weight[k.eos] += lean * bias / bias.norm()
        model.model.shared.weight[-k.made_up:] *= 0.1
    check_parameters(model)
    model.generation_config.update(num_beams=5, max_length=200, early_stopping=True)
    finish(k, name, path, model, rng, pieces, singles, words)


def finish(k, name, path, model, rng, pieces, singles, words):
    model.save_pretrained(path)
    model, info = AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager", output_loading_info=True)
    assert not any(info.values()), info
    tensors = teacher(k, model.eval(), rng, pieces, name)
    texts = words(path, pieces) if words else []
    write(path, tensors, {"model_type": model.config.model_type, "texts": texts, "searches": beams(k, model, rng, pieces, singles)})


def m2m_100():
    make("m2m_100", M2M100Config(
        vocab_size=160, d_model=20, encoder_layers=2, decoder_layers=3, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=60, decoder_ffn_dim=44, max_position_embeddings=256,
    ), 303, 0.4, 2.2, 52, 3, vocabularies.save_m2m)
    make("m2m_100-gelu", M2M100Config(
        vocab_size=128, d_model=20, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=4, encoder_ffn_dim=60, decoder_ffn_dim=52, max_position_embeddings=256,
        scale_embedding=False, activation_function="gelu",
    ), 305, 0.5, 3.7, 20, 1)


def nllb():
    make("nllb", M2M100Config(
        vocab_size=255, d_model=20, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=40,
        decoder_ffn_dim=44, max_position_embeddings=256,
    ), 342, 0.5, 3.2, 52, 1, vocabularies.save_nllb, NLLB)


def make_marian(name, vocab, seed, lean, pieces, singles, words=None, forced=True, **rest):
    """The norm's bias of the last layer is in every state, so the end is likely. The bias of logits is not zero."""
    path = directory(name)
    model = MarianMTModel(MarianConfig(
        vocab_size=vocab, pad_token_id=vocab - 1, decoder_start_token_id=vocab - 1, bos_token_id=0, eos_token_id=0, forced_eos_token_id=None, d_model=20,
        encoder_layers=2, encoder_ffn_dim=60, max_position_embeddings=256, scale_embedding=True, **rest)).eval()
    rng = random_parameters(model, seed, 0.5, [f"model.decoder.layers.{rest['decoder_layers'] - 1}.final_layer_norm.weight"])
    with torch.no_grad():
        bias = model.model.decoder.layers[-1].final_layer_norm.bias
        model.model.shared.weight[0] += lean * bias / bias.norm()
        model.final_logits_bias.copy_(torch.from_numpy(0.3 * rng.standard_normal((1, vocab))))
        model.final_logits_bias[0, -1] += 4  # the padding would often be written
    check_parameters(model)
    model.generation_config.update(
        num_beams=4, max_length=200, bad_words_ids=[[vocab - 1]], decoder_start_token_id=vocab - 1,
        **{"forced_eos_token_id": 0, "renormalize_logits": True} if forced else {"early_stopping": True})
    finish(Marian(vocab, forced), name, path, model, rng, pieces, singles, words)


def marian():
    make_marian("marian", 37, 411, 2.6, 36, 2, vocabularies.save_marian, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
                decoder_ffn_dim=44, activation_function="swish")
    make_marian("marian-gelu", 48, 433, 2.6, 47, 1, None, False, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4,
                decoder_ffn_dim=52, activation_function="gelu", num_beams=4)
