"""Aleph Alpha's routes, driven by the first version of its client, 1.0.0."""

import math
import tempfile
import unittest

import requests

import golden
from alephalpha import PROMPTS, embeddings, first_client, golden_run, pool
from server import STARTERS, Server


def setUpModule():
    global server, client, v1
    root = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    golden_run(root)
    server = unittest.enterModuleContext(Server("--checkpoints", root))
    v1 = first_client()
    client = v1.AlephAlphaClient(server.url, token="not-needed")


class Service(unittest.TestCase):
    def test_version_and_health(self):
        self.assertTrue(client.get_version().startswith("1."))
        self.assertEqual(requests.get(server.url + "/health").text, "Ok")

    def test_unknown_path(self):
        for method in ("GET", "POST"):
            answer = requests.request(method, server.url + "/there/is/nothing")
            self.assertEqual(answer.status_code, 404)
            self.assertEqual(answer.json()["error"], f"no such path: {method} /there/is/nothing; GET /docs lists all")

    def test_no_logins(self):
        with self.assertRaises(ValueError):
            v1.AlephAlphaClient(server.url, email="a@example.org", password="secret")

    def test_models(self):
        models = {m["name"]: m for m in client.available_models()}
        for name in STARTERS:
            self.assertIs(type(models[name]["description"]), str)
            self.assertIn("cloud", models[name]["hostings"])
            self.assertEqual(models[name]["max_context_size"], server.config(name)["blockSize"])


class Complete(unittest.TestCase):
    def test_defaults(self):
        for name in STARTERS:
            answer = client.complete(name, PROMPTS[name])
            self.assertEqual(set(answer), {"id", "model_version", "completions", "num_tokens_prompt_total", "num_tokens_generated"})
            self.assertIs(type(answer["id"]), str)
            self.assertTrue(answer["model_version"].startswith(name))
            completion, = answer["completions"]
            self.assertEqual(set(completion), {"completion", "finish_reason"})  # the rest was not asked for
            self.assertEqual(completion["finish_reason"], "maximum_tokens")
            self.assertEqual(answer["num_tokens_generated"], 64)
            self.assertEqual(client.complete(name, PROMPTS[name])["completions"], answer["completions"])

    def test_golden(self):
        """The checkpoint whose logits are known."""
        answer = client.complete("golden", "a", maximum_tokens=1, log_probs=3, tokens=True)["completions"][0]
        self.assertEqual((answer["completion"], answer["completion_tokens"]), ("\n", ["\n"]))
        probs, = answer["log_probs"]
        self.assertEqual(set(probs), set(golden.VOCAB))
        for token, want in zip(golden.VOCAB, golden.logprobs()):
            self.assertAlmostEqual(probs[token], want, delta=1e-5)
        self.assertEqual(client.complete("golden", "a")["completions"][0]["completion"], golden.GREEDY_OF_A)

    def test_empty_prompt_and_tokens(self):
        answer = client.complete("novels", maximum_tokens=7, tokens=True)
        completion, = answer["completions"]
        self.assertEqual(len(completion["completion_tokens"]), 7)
        self.assertEqual("".join(completion["completion_tokens"]), completion["completion"])
        self.assertEqual(answer["num_tokens_prompt_total"], 1)

    def test_log_probs(self):
        for name in STARTERS:
            for k in (0, 1, 5):
                completion, = client.complete(name, PROMPTS[name], maximum_tokens=9, log_probs=k, tokens=True)["completions"]
                self.assertEqual(len(completion["log_probs"]), 9)
                for token, probs in zip(completion["completion_tokens"], completion["log_probs"]):
                    self.assertEqual(len(probs), max(1, k))
                    self.assertEqual(probs[token], max(probs.values()))  # greedy
                    self.assertLessEqual(sum(map(math.exp, probs.values())), 1 + 1e-9)
                    for p in probs.values():
                        self.assertIs(type(p), float)

    def test_random(self):
        """Each of the three makes a choice random, and n gives different texts."""
        greedy = client.complete("novels", PROMPTS["novels"], maximum_tokens=20)["completions"][0]["completion"]
        for params in ({"temperature": 1.0}, {"temperature": None, "top_k": 20}, {"temperature": None, "top_p": 0.95}):
            texts = [c["completion"] for c in client.complete("novels", PROMPTS["novels"], maximum_tokens=20, n=4, **params)["completions"]]
            self.assertEqual(len(texts), 4)
            self.assertGreater(len({greedy, *texts}), 2, params)
        for params in ({"temperature": None, "top_k": 1}, {"temperature": 0.0, "top_k": 0, "top_p": 0.0}, {"temperature": None, "top_p": 1e-9}):
            texts = {c["completion"] for c in client.complete("novels", PROMPTS["novels"], maximum_tokens=20, n=3, **params)["completions"]}
            self.assertEqual(texts, {greedy}, params)

    def test_best_of(self):
        answer = client.complete("novels", PROMPTS["novels"], maximum_tokens=8, n=3, best_of=9, temperature=1.0, log_probs=0)
        means = []
        for completion in answer["completions"]:
            probs = [p for token in completion["log_probs"] for p in token.values()]
            means.append(sum(probs) / len(probs))
        self.assertEqual(len(means), 3)
        self.assertEqual(means, sorted(means, reverse=True))
        one = client.complete("novels", PROMPTS["novels"], maximum_tokens=8)
        self.assertEqual(answer["num_tokens_prompt_total"], 9 * one["num_tokens_prompt_total"])
        self.assertEqual(answer["num_tokens_generated"], 9 * 8)

    def test_stop_sequences(self):
        whole = client.complete("novels", PROMPTS["novels"], maximum_tokens=60)["completions"][0]["completion"]
        stop = whole.split()[4]
        answer = client.complete("novels", PROMPTS["novels"], maximum_tokens=60, stop_sequences=["@@", stop])["completions"][0]
        self.assertEqual(answer["finish_reason"], "stop_sequence_reached")
        self.assertEqual(answer["completion"], whole[:whole.index(stop)])

    def test_penalties(self):
        """Logits -0.605, -0.260, -0.663 after "ab", whose tokens are the second and the third."""
        def said(**params):
            return client.complete("golden", "ab", maximum_tokens=1, **params)["completions"][0]["completion"]
        prompt = {"repetition_penalties_include_prompt": True}
        self.assertEqual(said(), "a")
        for penalty in ("presence_penalty", "frequency_penalty"):
            self.assertEqual(said(**{penalty: 0.4}), "a")  # there is no completion yet
            self.assertEqual(said(**{penalty: 0.4}, **prompt), "\n")  # -0.660
            self.assertEqual(said(**{penalty: 0.3}, **prompt), "a")  # -0.560
            self.assertEqual(said(**{penalty: 0.4}, use_multiplicative_presence_penalty=True, **prompt), "a")  # -0.260 * 1.4
            self.assertEqual(said(**{penalty: 1.4}, use_multiplicative_presence_penalty=True, **prompt), "\n")  # -0.260 * 2.4

    def test_penalties_reach_completions(self):
        def tokens(**params):
            return client.complete("novels", PROMPTS["novels"], maximum_tokens=40, tokens=True, **params)["completions"][0]["completion_tokens"]
        self.assertLess(len(set(tokens())), 40)
        self.assertEqual(len(set(tokens(presence_penalty=1000.0))), 40)
        self.assertEqual(len(set(tokens(frequency_penalty=1000.0))), 40)

    def test_logit_bias(self):
        """Version 1.0.0 itself refuses every bias, so this one is sent by hand."""
        ids = client.tokenize("novels", PROMPTS["novels"])["token_ids"]
        answer = requests.post(server.url + "/complete", json={
            "model": "novels", "prompt": "The", "maximum_tokens": 3, "tokens": True, "logit_bias": {str(ids[-1]): 1000}}).json()
        self.assertEqual(answer["completions"][0]["completion"], client.detokenize("novels", [ids[-1]] * 3)["result"])


class Evaluate(unittest.TestCase):
    metrics = {"log_probability", "log_perplexity", "log_perplexity_per_token", "log_perplexity_per_character",
               "correct_greedy", "token_count", "character_count", "completion"}

    def test_metrics(self):
        for name in STARTERS:
            said = client.complete(name, PROMPTS[name], maximum_tokens=6, log_probs=0)["completions"][0]
            answer = client.evaluate(name, said["completion"], prompt=PROMPTS[name])
            self.assertEqual(set(answer), {"id", "model_version", "message", "result", "num_tokens_prompt_total"})
            self.assertIsNone(answer["message"])
            result = answer["result"]
            self.assertEqual(set(result), self.metrics)
            for metric in ("log_probability", "log_perplexity", "log_perplexity_per_token", "log_perplexity_per_character"):
                self.assertIs(type(result[metric]), float)
            self.assertEqual(result["character_count"], len(said["completion"]))
            self.assertEqual(result["log_perplexity"], -result["log_probability"])
            self.assertAlmostEqual(result["log_perplexity_per_token"], result["log_perplexity"] / result["token_count"])
            self.assertAlmostEqual(result["log_perplexity_per_character"], result["log_perplexity"] / result["character_count"])
            if name != "novels":  # whose text may be parted otherwise when it is read again
                self.assertIs(result["correct_greedy"], True)
                self.assertEqual((result["token_count"], result["completion"]), (6, said["completion"]))
                want = sum(p for token in said["log_probs"] for p in token.values())
                self.assertAlmostEqual(result["log_probability"], want, delta=1e-3)

    def test_golden(self):
        for token, want in zip(golden.VOCAB, golden.logprobs()):
            result = client.evaluate("golden", token, prompt="a")["result"]
            self.assertAlmostEqual(result["log_probability"], want, delta=1e-5)
            self.assertEqual((result["token_count"], result["character_count"], result["completion"]), (1, 1, "\n"))
            self.assertIs(result["correct_greedy"], token == "\n")

    def test_empty_prompt(self):
        result = client.evaluate("abc", "X:1")["result"]
        self.assertEqual((result["token_count"], result["character_count"]), (3, 3))
        self.assertLess(result["log_probability"], 0)


class Embed(unittest.TestCase):
    pooling = ["mean", "max", "last_token", "abs_max"]

    def near(self, got, want):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertIs(type(a), float)
            self.assertAlmostEqual(a, b, delta=1e-5 * max(1, abs(b)))

    def test_golden(self):
        answer = client.embed("golden", "ab\n", None, [0], tokens=True)
        self.assertEqual(set(answer), {"id", "model_version", "message", "embeddings", "tokens", "num_tokens_prompt_total"})
        self.assertEqual((answer["tokens"], answer["num_tokens_prompt_total"]), (["a", "b", "\n"], 3))
        for got, want in zip(answer["embeddings"]["layer_0"], embeddings("ab\n"), strict=True):
            self.near(got, want)

    def test_layers_and_poolings(self):
        for name in STARTERS:
            config, prompt = server.config(name), PROMPTS[name]
            depth = config["nLayer"]
            tokens = client.embed(name, prompt, None, list(range(depth + 1)))
            self.assertIsNone(tokens["tokens"])
            self.assertEqual(set(tokens["embeddings"]), {f"layer_{i}" for i in range(depth + 1)})
            pooled = client.embed(name, prompt, self.pooling, list(range(-1, -depth - 2, -1)))["embeddings"]
            self.assertEqual(set(pooled), set(tokens["embeddings"]))
            for layer, rows in tokens["embeddings"].items():
                self.assertEqual(len(rows), tokens["num_tokens_prompt_total"])
                self.assertEqual({len(row) for row in rows}, {config["nEmbd"]})
                want = pool(rows)
                self.assertEqual(list(pooled[layer]), self.pooling)
                for p in self.pooling:
                    self.near(pooled[layer][p], want[p])


class Tokens(unittest.TestCase):
    def test_tokenize(self):
        self.assertEqual(client.tokenize("golden", "ab\n"), {"tokens": ["a", "b", "\n"], "token_ids": [1, 2, 0]})
        self.assertEqual(client.tokenize("golden", "ab", tokens=False), {"token_ids": [1, 2]})
        self.assertEqual(client.tokenize("golden", "ab", token_ids=False), {"tokens": ["a", "b"]})
        self.assertEqual(client.tokenize("chords", "C G")["tokens"], ["C", "G"])  # words, as the vocabulary has them

    def test_there_and_back(self):
        for name in STARTERS:
            answer = client.tokenize(name, PROMPTS[name])
            self.assertEqual(len(answer["tokens"]), len(answer["token_ids"]))
            self.assertEqual(client.detokenize(name, answer["token_ids"]), {"result": PROMPTS[name]})


class Errors(unittest.TestCase):
    def refused(self, exception, word, call, *args, **params):
        with self.assertRaises(exception) as caught:
            call(*args, **params)
        status, body = caught.exception.args
        self.assertLessEqual({"error"}, set(body))
        self.assertIn(word, body["error"])
        return status

    def test_unknown_model(self):
        for call, args in ((client.complete, ["x"]), (client.evaluate, ["x"]), (client.embed, ["x", ["mean"], [0]]),
                           (client.tokenize, ["x"]), (client.detokenize, [[1]])):
            self.assertEqual(self.refused(RuntimeError, "luminous", call, "luminous", *args), 404)

    def test_too_long(self):
        long = "abc" * 4000
        self.refused(ValueError, "context", client.complete, "abc", long)
        self.refused(ValueError, "context", client.evaluate, "abc", long)
        self.refused(ValueError, "context", client.evaluate, "abc", "x", prompt=long)
        self.refused(ValueError, "context", client.embed, "abc", long, ["mean"], [0])

    def test_hosting(self):
        self.refused(ValueError, "hosting", client.complete, "abc", "x", hosting="moon")

    def test_layers(self):
        self.refused(ValueError, "layers", client.embed, "abc", "x", ["mean"], [99])
        self.refused(ValueError, "layers", client.embed, "abc", "x", ["mean"], [-99])

    def test_bodies(self):
        """Requests that the client itself rejects: always 400 and JSON."""
        for path, body in (
                ("complete", {}), ("complete", {"model": "abc"}), ("complete", {"model": "abc", "logit_bias": {1: 1}}),
                ("complete", {"model": "abc", "prompt": "x", "maximum_tokens": -1}), ("complete", {"model": "abc", "prompt": 1}),
                ("complete", {"model": "abc", "prompt": "x", "temperature": "hot"}), ("complete", {"model": "abc", "prompt": "x", "top_p": 2}),
                ("complete", {"model": "abc", "prompt": "x", "best_of": 1, "n": 1}), ("complete", {"model": "abc", "prompt": "x", "log_probs": -1}),
                ("complete", {"model": "abc", "prompt": "x", "logit_bias": {"99999999": 1}}),
                ("embed", {}), ("embed", {"model": "abc", "prompt": "", "layers": [0]}), ("embed", {"model": "abc", "prompt": "x", "layers": []}),
                ("embed", {"model": "abc", "prompt": "x", "layers": [0], "pooling": ["sum"]}),
                ("evaluate", {}), ("evaluate", {"model": "abc", "prompt": "x", "completion_expected": ""}),
                ("tokenize", {}), ("detokenize", {}), ("detokenize", {"model": "abc", "token_ids": [99999]})):
            with self.subTest(path=path, body=body):
                answer = requests.post(f"{server.url}/{path}", json=body)
                self.assertEqual(answer.status_code, 400, answer.text)
                self.assertTrue(answer.json()["error"])


class Keys(unittest.TestCase):
    def test_token(self):
        with Server("--auth", env={"GLOSSA_KEYS": "client:the-token,monitor:the-monitor"}) as guarded:
            allowed = v1.AlephAlphaClient(guarded.url, token="the-token")
            self.assertEqual(len(allowed.complete("abc", "X:", maximum_tokens=3, tokens=True)["completions"][0]["completion_tokens"]), 3)
            denied = v1.AlephAlphaClient(guarded.url, token="wrong")  # the version is public
            with self.assertRaises(PermissionError) as caught:
                denied.complete("abc", "X:")
            self.assertEqual(caught.exception.args[0], 401)
            monitor = v1.AlephAlphaClient(guarded.url, token="the-monitor")
            self.assertTrue(monitor.available_models())
            with self.assertRaises(RuntimeError) as caught:
                monitor.complete("abc", "X:")
            self.assertEqual(caught.exception.args[0], 403)
            answer = requests.get(guarded.url + "/nothing")
            self.assertEqual(answer.status_code, 404)
            self.assertEqual(answer.json()["error"], "no such path: GET /nothing; GET /docs lists all")
