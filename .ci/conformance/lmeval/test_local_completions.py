"""The language model evaluation harness's client of OpenAI's completions, on a small
GPT-2, against a forward pass of the same weights in numpy."""

import json
import logging
import os
import pathlib
import shutil
import tempfile
import unittest

import numpy
from safetensors.numpy import load_file

os.environ["HF_HUB_OFFLINE"] = "1"

from lm_eval.api.instance import Instance  # noqa: E402 - reads the environment
from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: E402
from lm_eval.utils import check_remote_tokenizer_support  # noqa: E402

from server import Server  # noqa: E402

logging.getLogger("lm_eval").setLevel(logging.ERROR)
SOURCE = pathlib.Path(__file__).parents[3] / "pkg/engine/arch/testdata/gpt2"
# (context, choices)
QUESTIONS = [
    ("The capital of France is", [" Paris", " London", "!"]), ("2 + 2 =", [" 4", " 5"]), ("a", ["b", "bc", "aaaaaa"]),
    ("Häuser für", [" Mäuse", " €"]), ("A longer context, so that a batch holds texts of unlike lengths:", [" yes", " no"])]
CONTEXT = 256
ENDED = [39, 68, 75]  # one copy of the model ends texts after it


def setUpModule():
    global server, weights, config
    config = json.loads((SOURCE / "config.json").read_text())
    weights = {k.removeprefix("transformer."): v.astype(numpy.float64) for k, v in load_file(SOURCE / "model.safetensors").items()}
    dir = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    copy(pathlib.Path(dir, "gpt2"), config["eos_token_id"])
    copy(pathlib.Path(dir, "ends"), int(logprobs(ENDED)[-1].argmax()))
    server = unittest.enterModuleContext(Server("--checkpoints", dir))


def copy(model, end):
    """The model with an end token, which is no part of the weights."""
    model.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SOURCE / name, model)
    for name in ("config.json", "generation_config.json"):
        values = json.loads((SOURCE / name).read_text())
        (model / name).write_text(json.dumps(values | {"eos_token_id": end}))


def harness(**options):
    return LocalCompletionsAPI(**{
        "model": "gpt2", "base_url": server.url + "/v1/completions", "tokenizer": str(SOURCE), "tokenizer_backend": "huggingface",
        "max_length": CONTEXT, "max_retries": 1, "batch_size": 4, **options})


def logprobs(ids):
    """Log-probabilities (position, vocabulary) of what follows each token (Radford et al. 2019)."""
    def linear(x, name):
        return x @ weights[name + ".weight"] + weights[name + ".bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + config["layer_norm_epsilon"])
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    n, heads = len(ids), config["n_head"]
    x = weights["wte.weight"][ids] + weights["wpe.weight"][:n]
    for layer in range(config["n_layer"]):
        h = f"h.{layer}."
        q, k, v = (part.reshape(n, heads, -1).transpose(1, 0, 2) for part in numpy.split(linear(norm(x, h + "ln_1"), h + "attn.c_attn"), 3, -1))
        scores = q @ k.transpose(0, 2, 1) / numpy.sqrt(q.shape[-1])
        scores = numpy.where(numpy.tri(n, dtype=bool), scores, -numpy.inf)
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(n, -1)
        x = x + linear(mixed, h + "attn.c_proj")
        up = linear(norm(x, h + "ln_2"), h + "mlp.c_fc")
        x = x + linear(0.5 * up * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (up + 0.044715 * up**3))), h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ weights["wte.weight"].T
    return logits - numpy.logaddexp.reduce(logits, -1, keepdims=True)


def direct(context, continuation):
    """(sum of the continuation's log-probabilities, whether each token is the likeliest)"""
    ids = context + continuation
    table = logprobs(ids)[len(context) - 1:-1]
    return table[range(len(continuation)), continuation].sum(), (table.argmax(-1) == continuation).all()


class LocalCompletions(unittest.TestCase):
    def check(self, got, want):
        self.assertEqual(len(got), len(want))
        for (value, greedy), (direct_value, direct_greedy) in zip(got, want):
            self.assertAlmostEqual(value, direct_value, delta=1e-4 * max(1, abs(direct_value)))
            self.assertEqual(greedy, direct_greedy)

    def test_loglikelihood(self):
        pairs = [(context, choice) for context, choices in QUESTIONS for choice in choices]
        requests = [Instance("loglikelihood", {}, pair, 0) for pair in pairs]
        for options in ({}, {"batch_size": 1}, {"num_concurrent": 3}, {"tokenized_requests": False}):
            with self.subTest(options=options):
                lm = harness(**options)
                want = [direct(*lm._encode_pair(*pair)) for pair in pairs]
                self.check(lm.loglikelihood(requests, disable_tqdm=True), want)

    def test_greedy_continuations_are_known_as_such(self):
        """With the continuation that the model itself gives, up to its end token and after it."""
        lm, requests, want = harness(), [], []
        for context, _ in QUESTIONS:
            ids = lm.tok_encode(context)
            text, whole = [], ids
            for _ in range(12):
                text.append(int(logprobs(whole)[-1].argmax()))
                whole = ids + text
                requests.append(((context, str(text)), ids, list(text)))
                want.append(direct(ids, text))
        self.assertTrue(all(greedy for _, greedy in want))
        self.check(lm._loglikelihood_tokens(requests), want)

    def test_before_the_end_token(self):
        """The harness drops the token that was generated, which must be there even if it is the end."""
        _, answer = server.json("POST", "/v1/completions", {"model": "ends", "prompt": ENDED, "temperature": 0})
        self.assertEqual([(c["text"], c["finish_reason"]) for c in answer["choices"]], [("", "stop")])
        got = harness(model="ends")._loglikelihood_tokens([(("", ""), ENDED[:1], ENDED[1:])])
        self.check(got, [direct(ENDED[:1], ENDED[1:])])

    def test_rolling(self):
        lm = harness()
        text = "The quick brown fox jumps over the lazy dog."
        got = lm.loglikelihood_rolling([Instance("loglikelihood_rolling", {}, (text,), 0)], disable_tqdm=True)
        ids = lm.tok_encode(text)
        value, _ = direct([lm.prefix_token_id], ids)
        self.assertAlmostEqual(got[0], value, delta=1e-4 * abs(value))

    def test_generate(self):
        stops = ["\n\n", "Q:", "###", "</s>", "\nclass", "\ndef"]
        requests = [Instance("generate_until", {}, (context, {"until": stops, "max_gen_toks": 9}), 0) for context, _ in QUESTIONS]
        for options in ({}, {"num_concurrent": 3}):
            lm = harness(**options)
            for (context, _), got in zip(QUESTIONS, lm.generate_until(requests, disable_tqdm=True)):
                ids = lm.tok_encode(context)
                for _ in range(9):
                    ids.append(int(logprobs(ids)[-1].argmax()))
                text = lm.tokenizer.decode(ids[len(lm.tok_encode(context)):])
                self.assertEqual(got, min((text.partition(stop)[0] for stop in [*stops, lm.eos_string]), key=len))

    def test_remote_tokenizer(self):
        """The server's own tokenizer, below the path of one of its models."""
        base = server.url + "/vllm/gpt2/v1/completions"
        self.assertTrue(check_remote_tokenizer_support(base))
        self.assertFalse(check_remote_tokenizer_support(server.url + "/v1/completions", max_retries=1))  # of which model?
        pairs = [(context, choice) for context, choices in QUESTIONS for choice in choices]
        own, lm = harness(), LocalCompletionsAPI(model="gpt2", base_url=base, max_length=CONTEXT, max_retries=1, batch_size=4)  # auto
        self.assertEqual(lm.tokenizer_backend, "remote")
        self.assertEqual((lm.eos_string, lm.eot_token_id, lm.prefix_token_id), (own.eos_string, own.eot_token_id, own.prefix_token_id))
        for pair in pairs:
            self.assertEqual(lm._encode_pair(*pair), own._encode_pair(*pair))
            ids = lm.tok_encode(pair[0])
            self.assertEqual(lm.decode_batch([ids]), [pair[0]])
        requests = [Instance("loglikelihood", {}, pair, 0) for pair in pairs]
        self.check(lm.loglikelihood(requests, disable_tqdm=True), [direct(*own._encode_pair(*pair)) for pair in pairs])
        text = "The quick brown fox jumps over the lazy dog."
        rolling = [Instance("loglikelihood_rolling", {}, (text,), 0)]
        self.assertEqual(lm.loglikelihood_rolling(rolling, disable_tqdm=True), own.loglikelihood_rolling(rolling, disable_tqdm=True))
        until = [Instance("generate_until", {}, (context, {"until": ["Q:"], "max_gen_toks": 9}), 0) for context, _ in QUESTIONS]
        self.assertEqual(lm.generate_until(until, disable_tqdm=True), own.generate_until(until, disable_tqdm=True))
