"""The language model evaluation harness's own client of TextSynth, against what its
numbers must be: a text's log-probability is the sum of its characters'."""

import json
import os
import re
import unittest
import urllib.request

from server import Server

os.environ["TEXTSYNTH_API_SECRET_KEY"] = "not-needed"

from lm_eval.models.textsynth import TextSynthLM  # noqa: E402 - reads the key

TUNE = "X:1\nT:The Kettle\nM:3/4\nL:1/8\nK:G"
# (context, choices) of a model of characters.
QUESTIONS = [
    (TUNE, ["\nB2", "\nKK", "||"]), ("X:1\nT:The ", ["Old", "tt:", "\n\n\n"]), ("X:1", ["\nT:", "X:1", " 11"]),
    ("X:1\nT:The Kettle\nM:", ["3/4\n", "4444", "ABCD"]), ("", ["X:1", "|||"])]


def setUpModule():
    global server, lm
    server = unittest.enterModuleContext(Server())
    lm = client("abc")


def client(engine):
    lm = TextSynthLM(engine=engine)
    lm.api_url = server.url
    return lm


def post(route, body):
    """One request without the harness."""
    request = urllib.request.Request(f"{server.url}/v1/engines/abc/{route}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def logprob(context, continuation):
    answer = post("logprob", {"context": context, "continuation": continuation})
    return answer["logprob"], answer["is_greedy"], answer["num_tokens"]


def by_character(context, continuation):
    """The same the long way, character by character. Spaces at the end of a context belong
    to what follows, so that they go with the next character."""
    head = context.rstrip()
    total, greedy, count = 0, True, 0
    for piece in re.findall(r"\s*\S|\s+$", context[len(head):] + continuation):
        value, likeliest, tokens = logprob(head, piece)
        total, greedy, count, head = total + value, greedy and likeliest, count + tokens, head + piece
    return total, greedy, count


class Loglikelihood(unittest.TestCase):
    def test_numbers(self):
        requests = [(context, choice) for context, choices in QUESTIONS for choice in choices if context]
        said = {context: post("completions", {"prompt": context, "temperature": 0, "max_tokens": 20})["text"]
                for context, _ in QUESTIONS if context == context.rstrip()}
        requests += [(context, text) for context, text in said.items() if context]
        got = lm.loglikelihood(requests, disable_tqdm=True)
        self.assertEqual(len(got), len(requests))
        for (context, choice), (value, is_greedy) in zip(requests, got):
            with self.subTest(context=context, choice=choice):
                want, want_greedy, tokens = by_character(context, choice)
                self.assertAlmostEqual(value, want, delta=1e-4)
                self.assertEqual(is_greedy, want_greedy)
                self.assertEqual(is_greedy, choice.strip() != "" and said.get(context, "").startswith(choice))
                self.assertEqual(logprob(context, choice), (value, is_greedy, tokens))

    def test_choices(self):
        """The first choice of each question is the one that a model of tunes makes."""
        right = 0
        for context, choices in QUESTIONS:
            scores = [value for value, _ in lm.loglikelihood([(context, c) for c in choices], disable_tqdm=True)]
            right += scores.index(max(scores)) == 0
        self.assertEqual(right, len(QUESTIONS))

    def test_an_error_is_seen(self):
        with self.assertRaises(AssertionError), self.assertLogs("lm_eval", "ERROR"):
            lm.loglikelihood([("X:1", "")], disable_tqdm=True)


class GenerateUntil(unittest.TestCase):
    def test_texts_are_greedy_and_end_before_the_stop(self):
        requests = [(TUNE, {"until": ["\n"]}), ("X:1\nT:The", {"until": ["|", "\nK:"]}), ("X:1\nT:A", {"until": "\nM:"})]
        texts = lm.generate_until(requests, disable_tqdm=True)
        for (context, args), text in zip(requests, texts):
            with self.subTest(context=context):
                until = [args["until"]] if isinstance(args["until"], str) else args["until"]
                self.assertTrue(text)
                self.assertFalse([stop for stop in until if stop in text])
                self.assertTrue(logprob(context, text)[1])
                self.assertTrue([stop for stop in until if logprob(context, text + stop)[1]])

    def test_without_a_stop_to_the_end(self):
        """256 tokens are more than the context has left."""
        text, = lm.generate_until([(TUNE, {"until": ["no tune says this"]})], disable_tqdm=True)
        self.assertGreater(len(text), 100)
        self.assertTrue(logprob(TUNE, text[:200])[1])

    def test_every_model(self):
        for engine in ("novels", "chords", "local/abc"):
            text, = client(engine).generate_until([("The", {"until": ["."]})], disable_tqdm=True)
            self.assertIs(type(text), str)

    def test_an_error_is_seen(self):
        with self.assertRaises(AssertionError), self.assertLogs("lm_eval", "ERROR"):
            client("nope").generate_until([("x", {"until": ["."]})], disable_tqdm=True)
