"""TextSynth's routes, asked as the language model evaluation harness asks them."""

import json
import math
import pathlib
import shutil
import tempfile
import unittest
import urllib.error
import urllib.request

from server import STARTERS, Server, ask

TRANSLATOR = pathlib.Path(__file__).parents[2] / "functions" / "testdata" / "translator"
CONTEXTS = {"novels": "The old lighthouse stood", "abc": "X:1", "chords": "C G"}


def setUpModule():
    global server, client
    root = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    shutil.copytree(TRANSLATOR, root / "translator")
    server = unittest.enterModuleContext(Server("--checkpoints", str(root)))
    client = server.client()


def post(engine, route, body):
    """The status and the answer of one request."""
    request = urllib.request.Request(
        f"{server.url}/v1/engines/{engine}/{route}", json.dumps(body).encode(),
        {"Authorization": "Bearer not-needed", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def loglikelihood(engine, requests):
    """What the harness makes of each (context, continuation): (logprob, is_greedy)."""
    answers = []
    for context, continuation in requests:
        _, answer = post(engine, "logprob", {"context": context, "continuation": continuation})
        assert "logprob" in answer, answer
        answers.append((answer["logprob"], answer["is_greedy"]))
    return answers


def translate(text, source, target, **params):
    status, answer = post("translator", "translate", {"text": text, "source_lang": source, "target_lang": target, **params})
    assert status == 200, answer
    return answer


class Logprob(unittest.TestCase):
    def test_shape(self):
        for name in STARTERS:
            status, answer = post(name, "logprob", {"context": CONTEXTS[name], "continuation": " C"})
            self.assertEqual(status, 200, answer)
            self.assertEqual(set(answer), {"logprob", "is_greedy", "input_tokens"})
            self.assertLess(answer["logprob"], 0)
            self.assertIs(type(answer["is_greedy"]), bool)
            self.assertIs(type(answer["input_tokens"]), int)

    def test_a_char_model_counts_characters(self):
        _, answer = post("abc", "logprob", {"context": "X:1", "continuation": "\nT:"})
        self.assertEqual(answer["input_tokens"], 6)

    def test_what_the_model_says_is_greedy(self):
        """Greedy text is greedy, and its log-probability is the sum of its tokens'. Tokens
        of characters and words are the same wherever a text is parted."""
        for name in ("abc", "chords"):
            said = ask(client, CONTEXTS[name], name, temperature=0, max_tokens=12, logprobs=True)
            (logprob, greedy), = loglikelihood(name, [(CONTEXTS[name], said.text)])
            self.assertTrue(greedy, name)
            self.assertAlmostEqual(logprob, sum(t.logprob for t in said.tokens[0]), delta=1e-3, msg=name)
            self.assertGreater(logprob, 12 * math.log(1 / 100))

    def test_each_choice(self):
        """One token after a context: what chats say of it, the first alone greedy."""
        for name in ("abc", "chords"):
            first = ask(client, CONTEXTS[name], name, temperature=0, max_tokens=1, logprobs=True, top_logprobs=10).tokens[0][0]
            choices = [t for t in first.top_logprobs if t.token.strip()]
            self.assertGreater(len(choices), 4)
            scores = loglikelihood(name, [(CONTEXTS[name], t.token) for t in choices])
            for token, (logprob, greedy) in zip(choices, scores):
                self.assertAlmostEqual(logprob, token.logprob, delta=1e-3, msg=(name, token.token))
                self.assertEqual(greedy, token.token == first.token, (name, token.token))

    def test_chain_rule(self):
        """P(ab|c) = P(a|c) P(b|ca)."""
        (whole, _), (head, _), (tail, _) = loglikelihood("abc", [("X:1", "\nT:"), ("X:1", "\nT"), ("X:1\nT", ":")])
        self.assertAlmostEqual(whole, head + tail, delta=1e-4)

    def test_spaces_belong_to_the_continuation(self):
        apart, joined = loglikelihood("novels", [("The old ", "lighthouse"), ("The old", " lighthouse")])
        self.assertEqual(apart, joined)

    def test_what_was_said_is_likelier_than_the_same_backwards(self):
        said = ask(client, CONTEXTS["novels"], temperature=0, max_tokens=12).text
        (right, _), (wrong, greedy) = loglikelihood("novels", [(CONTEXTS["novels"], said), (CONTEXTS["novels"], said[::-1])])
        self.assertGreater(right, wrong)
        self.assertFalse(greedy)

    def test_empty_context(self):
        for name in STARTERS:
            (logprob, _), = loglikelihood(name, [("", CONTEXTS[name])])
            self.assertTrue(-math.inf < logprob < 0)

    def test_names(self):
        want = loglikelihood("novels", [("The", " castle")])
        for engine in ("local/novels", "local%2Fnovels", "novels-5hr", "local/novels-5hr"):
            self.assertEqual(loglikelihood(engine, [("The", " castle")]), want)

    def test_errors(self):
        """Clients look for the key error; the status is that of the client's fault."""
        for engine, body, status, word in (
                ("nope", {"context": "a", "continuation": "b"}, 404, "nope"),
                ("novels", {"context": "a", "continuation": ""}, 400, "continuation"),
                ("novels", {"context": "a"}, 400, "continuation"),
                ("novels", {"continuation": "a"}, 400, "context"),
                ("novels", {"context": "a", "continuation": "b", "colour": 1}, 400, "colour"),
                ("novels", {"context": "a", "continuation": "The castle stood. " * 999}, 400, "context"),
                ("translator", {"context": "a", "continuation": "b"}, 400, "scorer")):
            got, answer = post(engine, "logprob", body)
            self.assertEqual((got, list(answer)), (status, ["error"]))
            self.assertIn(word, answer["error"])


class Translate(unittest.TestCase):
    def test_known_sentences(self):
        for text, source, target, want in (
                ("Thank you.", "en", "fr", "Merci."), ("Merci.", "fr", "nso", "Ke a leboga."),
                ("Ke a leboga.", "nso", "en", "Thank you."),
                ("A red boat waits under the bridge.", "en", "fr", "Un bateau rouge attend sous le pont.")):
            for params in ({}, {"num_beams": 1}, {"num_beams": 5}, {"split_sentences": False}):
                with self.subTest(text=text, target=target, **params):
                    answer = translate([text], source, target, **params)
                    self.assertEqual(answer["translations"], [{"text": want, "detected_source_lang": source}])

    def test_a_batch_is_its_texts(self):
        texts = ["Merci.", "Il pleut sur le marché.", "Ma sœur lit une longue lettre."]
        batch = translate(texts * 21 + texts[:1], "fr", "en")
        alone = [translate([text], "fr", "en") for text in texts]
        said = [answer["translations"][0] for answer in alone]
        self.assertEqual(batch["translations"], said * 21 + said[:1])
        for count in ("input_tokens", "output_tokens"):
            self.assertEqual(batch[count], 21 * sum(a[count] for a in alone) + alone[0][count])

    def test_beams_cost_tokens(self):
        used = [translate(["My sister reads a long letter."], "en", "fr", num_beams=n) for n in range(1, 6)]
        self.assertEqual(len({a["input_tokens"] for a in used}), 1)
        output = [a["output_tokens"] for a in used]
        self.assertEqual(output, sorted(set(output)))
        default = translate(["My sister reads a long letter."], "en", "fr")
        self.assertEqual(default, used[3])

    def test_sentences(self):
        """A text of sentences is the sentences, with what was between them."""
        first, second = "Le meunier vend de la farine.", "Il pleut sur le marché."
        answer = translate(["The miller sells flour.\n\nIt rains on the market."], "en", "fr")
        self.assertEqual(answer["translations"][0]["text"], first + "\n\n" + second)

    def test_auto(self):
        for text, source, target, want in (
                ("Ma sœur lit une longue lettre.", "fr", "en", "My sister reads a long letter."),
                ("It rains on the market.", "en", "fr", "Il pleut sur le marché.")):
            answer = translate([text], "auto", target)
            self.assertEqual(answer["translations"], [{"text": want, "detected_source_lang": source}])

    def test_errors(self):
        good = {"text": ["x"], "source_lang": "en", "target_lang": "fr"}
        for body, word in (
                ({"text": []}, "text"), ({"text": "x"}, "text"), ({"text": ["x"] * 65}, "64"), ({"text": [None]}, "text[0]"),
                ({"source_lang": "br"}, "br"), ({"target_lang": "auto"}, "target_lang"), ({"target_lang": "EN"}, "EN"),
                ({"num_beams": 6}, "num_beams"), ({"num_beams": 0}, "num_beams"), ({"beams": 1}, "beams")):
            status, answer = post("translator", "translate", good | body)
            self.assertEqual((status, list(answer)), (400, ["error"]))
            self.assertIn(word, answer["error"])
        status, answer = post("novels", "translate", good)
        self.assertEqual((status, list(answer)), (400, ["error"]))
