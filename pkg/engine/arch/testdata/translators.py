"""Goldens of the encoder-decoder models, with beam search."""

import copy
import itertools
import json

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, M2M100Config, M2M100ForConditionalGeneration

import common
import vocabularies
from common import Catch, check_logits, check_parameters, close, directory, random_parameters, write

EOS = START = 2
PAD = 1
LANGUAGES = 100
MADEUP = 8


def forward(model, source, target, mask=None):
    """Logits (B, T, V), the encoder's output, and both stacks' states."""
    source, target = (torch.as_tensor(np.atleast_2d(x)) for x in (source, target))
    base = model.model
    with torch.no_grad(), Catch(base.encoder.layers) as encoder, Catch(base.decoder.layers) as decoder:
        out = model(source, attention_mask=mask, decoder_input_ids=target, use_cache=False)
    return out.logits, out.encoder_last_hidden_state, encoder, decoder


def text(rng, pieces, count):
    """A source: a language, pieces, the end."""
    return [int(rng.integers(pieces, pieces + LANGUAGES)), *rng.integers(4, pieces, count).tolist(), EOS]


def padded(rows):
    width = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    return ids, (ids != PAD).long()


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


def teacher(model, rng, pieces, name):
    """States and logits under teacher forcing: one text, a padded batch, long texts."""
    source = text(rng, pieces, 9)
    target = [START, pieces + 17, *rng.integers(4, pieces, 8).tolist()]
    check_sensitive(model, source, target)
    logits, output, encoder, decoder = forward(model, source, target)
    check_logits(logits, name)
    out = {"source.ids": torch.tensor(source), "ids": torch.tensor(target), "logits": logits[0], "encoder.output": output[0]}
    out |= {f"encoder.hidden.{i}": h[0] for i, h in enumerate(encoder)}
    out |= {f"hidden.{i}": h[0] for i, h in enumerate(decoder)}
    rows = [text(rng, pieces, n) for n in (6, 2, 4)]
    ids, mask = padded(rows)
    targets = torch.tensor([[START, pieces + 3 * i, *rng.integers(4, pieces, 4)] for i in range(len(rows))])
    logits = forward(model, ids, targets, mask)[0]
    check_logits(logits, name + " batch")
    alone = torch.cat([forward(model, s, t)[0] for s, t in zip(rows, targets)])
    close(logits, alone, 2e-4, name + " batch")
    out |= {"batch.source.ids": ids, "batch.source.mask": mask, "batch.ids": targets, "batch.logits": logits}
    source = text(rng, pieces, 238)
    target = [START, pieces + 60, *rng.integers(4, pieces, 198).tolist()]
    logits = forward(model, source, target)[0][:, -4:]
    check_logits(logits, name + " long")
    out |= {"long.source.ids": torch.tensor(source), "long.ids": torch.tensor(target), "long.logits": logits[0]}
    double = copy.deepcopy(model).double()
    common.WORST[name] = max(
        close(forward(double, *(out[a] for a in pair))[0][0][-len(out[want]):], out[want], 2e-5, name)
        for pair, want in ((("source.ids", "ids"), "logits"), (("long.source.ids", "long.ids"), "long.logits")))
    return out


def generate(model, sources, language, settings, every=False):
    """What generate returns for a batch: for each source its hypotheses, best first, as
    (tokens, score); greedy search has no scores."""
    ids, mask = padded(sources)
    settings = dict(settings)
    count = settings["num_beams"] if every else 1
    if settings["num_beams"] == 1:  # which ignores the others
        settings = {k: settings[k] for k in ("num_beams", "max_length")} | {"early_stopping": False, "length_penalty": 1.0}
    got = model.generate(
        ids, attention_mask=mask, forced_bos_token_id=language, do_sample=False, num_return_sequences=count,
        output_scores=True, return_dict_in_generate=True, **settings,
    )
    scores = getattr(got, "sequences_scores", None)
    scores = [None] * len(got.sequences) if scores is None else scores.tolist()
    pairs = list(zip(map(strip, got.sequences.tolist()), scores))
    return [pairs[i * count:(i + 1) * count] for i in range(len(sources))]


def strip(tokens):
    """Without the padding behind the end."""
    while tokens[-1] == PAD:
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


def cases(model, witnesses, sources, language, settings):
    """The golden searches of a batch, or None if one of them is too close to call, or
    finds a made-up word: other programs may know that these do not exist."""
    out = []
    for one in settings:
        every = one.get("early_stopping") is True and one["length_penalty"] == 1.0
        want = generate(model, sources, language, one, every)
        if max(sum(sum(tokens_of(want), []), [])) >= model.config.vocab_size - MADEUP:
            return None
        for witness in witnesses:
            got = generate(witness, sources, language, one, every)
            if tokens_of(got) != tokens_of(want):
                return None
            for a, b in zip(sum(want, []), sum(got, [])):
                assert a[1] is None or abs(a[1] - b[1]) < 1e-4
        results = [[{"tokens": t} | ({} if s is None else {"score": round(s, 7)}) for t, s in h] for h in want]
        out.append(one | {"sources": sources, "language": language, "results": results})
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


def ended(found):
    """Whether no hypothesis was cut off."""
    return all(h["tokens"][-1] == EOS for c in found for hypotheses in c["results"] for h in hypotheses)


LENGTHS = 7, 24
TRIES = 300
GRID = grid(range(1, 6), (True, False, "never"), LENGTHS, (1.0, 2.0))
FULL = [s for s in GRID if s["max_length"] == LENGTHS[1]]
USUAL = grid(range(1, 6), (True,), LENGTHS[1:], (1.0,))
PART = grid((1, 2, 4, 5), (True, False), LENGTHS[1:], (1.0,))


def beams(model, rng, pieces, singles):
    """Searches that are clear and tell settings apart, one source at a time and as
    padded batches. Of several sources the first is one whose hypotheses all end, so that
    any larger max_length finds the same."""
    witnesses = [disturbed(model, 1), copy.deepcopy(model).double()]
    found, sources = [], []
    for _ in range(TRIES):
        source = text(rng, pieces, int(rng.integers(2, 12)))
        language = pieces + int(rng.integers(0, LANGUAGES))
        usual = cases(model, [], [source], language, USUAL) or []
        least = 3 if len(sources) == singles // 2 else 2
        if len(best(usual)) < least or singles > 1 and not sources and not ended(usual):
            continue
        if sum(telling(cases(model, [], [source], language, FULL) or [])) < least:
            continue
        if got := cases(model, witnesses, [source], language, GRID):
            sources.append(source)
            found += got
        if len(sources) == singles:
            break
    batches = 0
    for _ in range(TRIES):
        rows = [text(rng, pieces, n) for n in (9, 2, 5)]
        if got := cases(model, witnesses, rows, pieces + 40 + batches, PART):
            found += got
            batches += 1
        if batches == 2:
            break
    assert len(sources) == singles and batches == 2, (len(sources), batches)
    ends = [h["tokens"][-1] == EOS for c in found for hypotheses in c["results"] for h in hypotheses]
    mixed = [len({h["tokens"][-1] == EOS for h in hypotheses}) > 1 for c in found for hypotheses in c["results"]]
    assert 0.1 < np.mean(ends) < 0.98 and sum(mixed) >= 1, (np.mean(ends), sum(mixed))
    return found


def make(name, config, seed, embed, lean, pieces, singles, words=None):
    path = directory(name)
    model = M2M100ForConditionalGeneration(config).eval()
    rng = random_parameters(model, seed, embed, ["model.decoder.layer_norm.weight"])
    with torch.no_grad():  # the end is likely, as the norm's bias is in every state; made-up words are not
        bias = model.model.decoder.layer_norm.bias
        model.model.shared.weight[EOS] += lean * bias / bias.norm()
        model.model.shared.weight[-MADEUP:] *= 0.1
    check_parameters(model)
    model.generation_config.update(num_beams=5, max_length=200, early_stopping=True)
    model.save_pretrained(path)
    model, info = AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager", output_loading_info=True)
    assert not any(info.values()), info
    tensors = teacher(model.eval(), rng, pieces, name)
    texts = words(path, pieces) if words else []
    write(path, tensors, {"model_type": "m2m_100", "texts": texts, "searches": beams(model, rng, pieces, singles)})


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
