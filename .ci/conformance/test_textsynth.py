"""TextSynth's routes, asked as their clients ask them: the language model evaluation
harness (its own class is in lmeval), and those that read a stream line by line or a
chunk at a time."""

import base64
import json
import math
import pathlib
import shutil
import socket
import tempfile
import unittest
import urllib.error
import urllib.request

from server import STARTERS, Server, ask

TRANSLATOR = pathlib.Path(__file__).parents[2] / "functions" / "testdata" / "translator"
CONTEXTS = {"novels": "The old lighthouse stood", "abc": "X:1", "chords": "C G", "forms": "\n\nHilda is"}


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
    """The harness's result of each (context, continuation): (logprob, is_greedy)."""
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


def complete(engine, prompt, **params):
    status, answer = post(engine, "completions", {"prompt": prompt, **params})
    assert status == 200, answer
    return answer


def chunks(engine, body):
    """The chunks of a stream as they are on the wire (RFC 9112, 7.1)."""
    data = json.dumps(body).encode()
    head = f"POST /v1/engines/{engine}/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s, s.makefile("rb") as wire:
        s.sendall(head.encode() + data)
        status = wire.readline()
        assert b" 200 " in status, status
        headers = {}
        while (line := wire.readline()) != b"\r\n":
            key, value = line.decode().split(":", 1)
            headers[key.lower()] = value.strip()
        assert headers["transfer-encoding"] == "chunked", headers
        while size := int(wire.readline(), 16):
            yield wire.read(size)
            assert wire.readline() == b"\r\n"


def stream(engine, prompt, **params):
    """The answers of a stream; each must be one chunk with its line feeds, on one line."""
    answers = []
    for chunk in chunks(engine, {"prompt": prompt, "stream": True, **params}):
        assert chunk.endswith(b"}\n\n") and chunk.count(b"\n") == 2, chunk
        answers.append(json.loads(chunk[:-2]))
    return answers


class Completions(unittest.TestCase):
    def test_shape(self):
        for name in STARTERS:
            answer = complete(name, CONTEXTS[name], max_tokens=8)
            self.assertEqual(set(answer), {"text", "reached_end", "finish_reason", "input_tokens", "output_tokens", "total_tokens"})
            self.assertIs(type(answer["text"]), str)
            self.assertIs(answer["reached_end"], True)
            self.assertEqual((answer["output_tokens"], answer["finish_reason"]), (8, "length"))
            self.assertEqual(answer["total_tokens"], answer["input_tokens"] + 8)

    def test_what_chats_say(self):
        """One engine: the same parameters give the same text in every protocol."""
        for name in STARTERS:
            for params in ({"temperature": 0}, {"temperature": 0.7, "seed": 11}, {"temperature": 1.3, "seed": 12, "presence_penalty": 1.5},
                           {"seed": 13, "temperature": 1, "frequency_penalty": 2}, {"seed": 2**31 - 1, "temperature": 1, "top_p": 0.5}):
                with self.subTest(model=name, **params):
                    want = ask(client, CONTEXTS[name], name, max_tokens=30, **params)
                    got = complete(name, CONTEXTS[name], max_tokens=30, **{"top_p": 1, **params})
                    self.assertEqual((got["text"], got["output_tokens"]), (want.text, want.usage.completion_tokens))

    def test_defaults(self):
        written = {"max_tokens": 100, "temperature": 1, "top_k": 40, "top_p": 0.9, "n": 1, "typical_p": 1, "presence_penalty": 0,
                   "frequency_penalty": 0, "repetition_penalty": 1, "stop": None, "logit_bias": {}, "stream": False}
        default = complete("novels", "The", seed=5)
        self.assertEqual(default, complete("novels", "The", seed=5, **written))
        for key, other in (("max_tokens", 50), ("temperature", 3), ("top_k", 2), ("top_p", 0.1), ("typical_p", 0.1), ("presence_penalty", 2),
                           ("frequency_penalty", 2), ("repetition_penalty", 3), ("stop", "e"), ("logit_bias", {"1": -100, "2": -100, "3": 100})):
            self.assertNotEqual(default, complete("novels", "The", seed=5, **{key: other}), key)

    def test_greedy(self):
        greedy = complete("abc", CONTEXTS["abc"], temperature=0)
        for params in ({"top_k": 1}, {"top_p": 0}, {"top_k": 1, "temperature": 9}, {"top_p": 0, "seed": 3}):
            self.assertEqual(complete("abc", CONTEXTS["abc"], **params), greedy, params)
        (_, is_greedy), = loglikelihood("abc", [(CONTEXTS["abc"], greedy["text"])])
        self.assertTrue(is_greedy)

    def test_seed(self):
        texts = [complete("novels", "The", seed=seed)["text"] for seed in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        self.assertGreater(len({complete("novels", "The", seed=0)["text"] for _ in range(3)}), 1)

    def test_n(self):
        for n in range(2, 17, 7):
            answer = complete("novels", "The", n=n, seed=3, max_tokens=10)
            self.assertEqual((len(answer["text"]), len(answer["finish_reason"])), (n, n))
            self.assertEqual(answer["output_tokens"], 10 * n)
            self.assertEqual(answer["text"][0], complete("novels", "The", seed=3, max_tokens=10)["text"])
            self.assertEqual(len(set(answer["text"])), n)

    def test_prompts(self):
        prompts = ["The old", "A ship", ""]
        answer = complete("novels", prompts, seed=3, max_tokens=10)
        alone = [complete("novels", prompt, seed=3, max_tokens=10) for prompt in prompts]
        self.assertEqual(answer["text"], [a["text"] for a in alone])
        for key in ("input_tokens", "output_tokens", "total_tokens"):
            self.assertEqual(answer[key], sum(a[key] for a in alone))
        self.assertEqual(complete("novels", prompts[:1], seed=3, max_tokens=10)["text"], answer["text"][:1])
        pairs = complete("novels", prompts, n=2, seed=3, max_tokens=10)
        self.assertEqual(pairs["text"][::2], answer["text"])

    def test_stop(self):
        whole = complete("novels", "The old", temperature=0)["text"]
        for stop in (".", ["."], [whole[20:30]], ["no", "such", whole[10:40], "text", "here"]):
            answer = complete("novels", "The old", temperature=0, stop=stop)
            first = min(whole.find(s) for s in ([stop] if isinstance(stop, str) else stop) if s in whole)
            self.assertEqual((answer["text"], answer["finish_reason"]), (whole[:first], "stop"))
            self.assertEqual("".join(a["text"] for a in stream("novels", "The old", temperature=0, stop=stop)), whole[:first])

    def test_logit_bias(self):
        _, answer = post("abc", "tokenize", {"text": "|"})
        bar, = answer["tokens"]
        self.assertIn("|", complete("abc", CONTEXTS["abc"], temperature=0)["text"])
        self.assertNotIn("|", complete("abc", CONTEXTS["abc"], temperature=0, logit_bias={str(bar): -100})["text"])
        self.assertEqual(complete("abc", CONTEXTS["abc"], seed=1, max_tokens=9, logit_bias={str(bar): 100})["text"], "|" * 9)

    def test_a_long_prompt_loses_its_head(self):
        tune = complete("abc", CONTEXTS["abc"], temperature=0, max_tokens=200)["text"]
        long = tune + tune
        answer = complete("abc", long, temperature=0, max_tokens=20)
        self.assertIs(answer["truncated_prompt"], True)
        kept = answer["input_tokens"]
        self.assertLess(kept, 256)
        tail = complete("abc", long[-kept:], temperature=0, max_tokens=20)
        self.assertNotIn("truncated_prompt", tail)
        self.assertEqual((answer["text"], kept), (tail["text"], tail["input_tokens"]))
        last = stream("abc", long, temperature=0, max_tokens=20)[-1]
        self.assertIs(last["truncated_prompt"], True)

    def test_lengths(self):
        nothing = complete("abc", "X:1", max_tokens=0)
        self.assertEqual((nothing["text"], nothing["output_tokens"], nothing["finish_reason"]), ("", 0, "length"))
        full = complete("abc", "X:1", max_tokens=100_000)
        self.assertEqual((full["total_tokens"], full["finish_reason"]), (256, "length"))

    def test_errors(self):
        """Clients check the key error; the status is that of a client error."""
        for engine, body, status, word in (
                ("nope", {}, 404, "nope"), ("novels", {"prompt": None}, 400, "prompt"), ("novels", {"prompt": []}, 400, "prompt"),
                ("novels", {"n": 17}, 400, "n:"), ("novels", {"top_k": 0}, 400, "top_k"), ("novels", {"top_p": 2}, 400, "top_p"),
                ("novels", {"typical_p": -1}, 400, "typical_p"), ("novels", {"stop": list("abcdef")}, 400, "stop"),
                ("novels", {"logit_bias": {"999999": 1}}, 400, "logit_bias"), ("novels", {"logit_bias": {"1": 101}}, 400, "logit_bias"),
                ("novels", {"presence_penalty": 3}, 400, "presence_penalty"), ("novels", {"seed": 2**31}, 400, "seed"),
                ("novels", {"schema": {"type": "object"}}, 400, "schema"), ("novels", {"grammar": ""}, 400, "grammar"),
                ("novels", {"messages": []}, 400, "messages"), ("translator", {}, 400, "translates")):
            for streamed in (False, True):
                got, answer = post(engine, "completions", {"prompt": "x", "stream": streamed, **body})
                self.assertEqual((got, list(answer)), (status, ["error"]), body)
                self.assertIn(word, answer["error"])


class Stream(unittest.TestCase):
    def test_is_the_answer(self):
        for name in STARTERS:
            answers = stream(name, CONTEXTS[name], seed=4)
            whole = complete(name, CONTEXTS[name], seed=4)
            self.assertGreater(len(answers), 50)
            self.assertEqual("".join(a["text"] for a in answers), whole["text"])
            for answer in answers[:-1]:
                self.assertEqual((set(answer), answer["reached_end"]), ({"text", "reached_end"}, False))
            self.assertEqual(answers[-1] | {"text": whole["text"]}, whole)

    def test_n(self):
        answers = stream("novels", "The", n=3, seed=4, max_tokens=20)
        texts = ["".join(row) for row in zip(*(a["text"] for a in answers))]
        whole = complete("novels", "The", n=3, seed=4, max_tokens=20)
        self.assertEqual(texts, whole["text"])
        self.assertEqual(answers[-1]["finish_reason"], ["length"] * 3)

    def test_lines(self):
        """Most clients read lines and skip the empty ones."""
        body = json.dumps({"prompt": "X:1", "stream": True, "max_tokens": 20}).encode()
        _, headers, answer = server.raw("POST", "/v1/engines/abc/completions", body)
        lines = answer.decode().split("\n")
        self.assertEqual(lines[1::2], [""] * (len(lines) // 2))
        self.assertEqual(len([json.loads(line) for line in lines if line]), 20)
        self.assertTrue(headers["Content-Type"].startswith("application/json"))


class Tokenize(unittest.TestCase):
    def test_tokens(self):
        for name in STARTERS:
            said = complete(name, CONTEXTS[name], temperature=0, max_tokens=30)
            status, answer = post(name, "tokenize", {"text": CONTEXTS[name] + said["text"], "token_content_type": "base64"})
            self.assertEqual((status, set(answer)), (200, {"tokens", "token_content"}))
            self.assertEqual(b"".join(map(base64.b64decode, answer["token_content"])).decode(), CONTEXTS[name] + said["text"])
            for params in ({}, {"token_content_type": "none"}, {"token_content_type": None}):
                self.assertEqual(post(name, "tokenize", {"text": CONTEXTS[name] + said["text"], **params}), (200, {"tokens": answer["tokens"]}))

    def test_count(self):
        for name in STARTERS:
            _, answer = post(name, "tokenize", {"text": CONTEXTS[name]})
            self.assertEqual(len(answer["tokens"]), complete(name, CONTEXTS[name], max_tokens=0)["input_tokens"])
        self.assertEqual(post("abc", "tokenize", {"text": ""}), (200, {"tokens": []}))

    def test_free(self):
        """It counts no usage, other requests do."""
        def used():
            _, _, text = server.raw("GET", "/metrics")
            return [line for line in text.decode().splitlines() if "tokens_total" in line and not line.startswith("#")]
        before = used()
        post("novels", "tokenize", {"text": "The castle"})
        self.assertEqual(used(), before)
        self.assertTrue(before)
        complete("novels", "The castle", max_tokens=1)
        self.assertNotEqual(used(), before)

    def test_errors(self):
        for engine, body, status, word in (
                ("nope", {"text": "a"}, 404, "nope"), ("novels", {}, 400, "text"), ("novels", {"text": ["a"]}, 400, "text"),
                ("novels", {"text": "a", "token_content_type": "hex"}, 400, "token_content_type"), ("novels", {"text": "a", "colour": 1}, 400, "colour")):
            got, answer = post(engine, "tokenize", body)
            self.assertEqual((got, list(answer)), (status, ["error"]))
            self.assertIn(word, answer["error"])


class Logprob(unittest.TestCase):
    def test_shape(self):
        for name in STARTERS:
            status, answer = post(name, "logprob", {"context": CONTEXTS[name], "continuation": " C"})
            self.assertEqual(status, 200, answer)
            self.assertEqual(set(answer), {"logprob", "is_greedy", "input_tokens", "num_tokens"})
            self.assertLess(answer["logprob"], 0)
            self.assertIs(type(answer["is_greedy"]), bool)
            self.assertIs(type(answer["input_tokens"]), int)

    def test_a_char_model_counts_characters(self):
        _, answer = post("abc", "logprob", {"context": "X:1", "continuation": "\nT:"})
        self.assertEqual((answer["input_tokens"], answer["num_tokens"]), (6, 3))

    def test_what_the_model_says_is_greedy(self):
        """Greedy text is greedy, and its log-probability is the sum of its tokens'. Tokens
        of characters and words are the same wherever a text is parted."""
        for name in ("abc", "chords", "forms"):
            said = ask(client, CONTEXTS[name], name, temperature=0, max_tokens=12, logprobs=True)
            (logprob, greedy), = loglikelihood(name, [(CONTEXTS[name], said.text)])
            self.assertTrue(greedy, name)
            self.assertAlmostEqual(logprob, sum(t.logprob for t in said.tokens[0]), delta=1e-3, msg=name)
            self.assertGreater(logprob, 12 * math.log(1 / 100))

    def test_each_choice(self):
        """One token after a context: log-probabilities as in chats, only the first is greedy."""
        for name in ("abc", "chords", "forms"):
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
        """Clients check the key error; the status is that of a client error."""
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
        """A text of several sentences is their translations with the original separators."""
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
