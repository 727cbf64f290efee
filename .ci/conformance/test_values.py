"""Values of completions: tokens, streams, stops, seeds, log-probabilities."""

import collections
import math
import unittest

from server import STARTERS, Server, ask, counts, stream

PROMPTS = {"novels": "The old lighthouse stood", "abc": "X:1", "chords": "C G", "forms": "\n\nHilda is"}


def setUpModule():
    global server, client
    server = unittest.enterModuleContext(Server())
    client = server.client()


class Models(unittest.TestCase):
    def test_list_and_retrieve(self):
        ids = [m.id for m in client.models.list().data]
        self.assertEqual(len(ids), len(set(ids)))
        for name in STARTERS:
            self.assertIn(name, ids)
            model = client.models.retrieve(name)
            self.assertEqual((model.id, model.object), (name, "model"))
            self.assertGreater(model.created, 0)

    def test_alias(self):
        greedy = {"temperature": 0, "max_tokens": 12}
        for alias, name in (("novels-5hr", "novels"), ("chords-run", "chords"), ("local/abc", "abc")):
            self.assertIn(client.models.retrieve(alias).id, (alias, name))
            self.assertEqual(ask(client, PROMPTS[name], alias, **greedy).text,
                             ask(client, PROMPTS[name], name, **greedy).text)


class Tokens(unittest.TestCase):
    def test_stream_equals_whole(self):
        for name in STARTERS:
            for params in ({"temperature": 0}, {"temperature": 1, "seed": 7}, {"seed": 8, "top_p": 0.9}):
                with self.subTest(model=name, **params):
                    whole = ask(client, PROMPTS[name], name, max_tokens=40, **params)
                    parts = stream(client, PROMPTS[name], name, max_tokens=40, **params)
                    self.assertEqual(whole.texts, parts.texts)
                    self.assertEqual(whole.finishes, parts.finishes)
                    self.assertEqual(counts(whole.usage), counts(parts.usage))
                    self.assertTrue(whole.text)

    def test_max_tokens_is_exact(self):
        for name in STARTERS:
            for n in (1, 2, 17):
                with self.subTest(model=name, n=n):
                    for answer in (ask(client, PROMPTS[name], name, max_tokens=n, temperature=0, logprobs=True),
                                   stream(client, PROMPTS[name], name, max_completion_tokens=n, temperature=0, logprobs=True)):
                        self.assertEqual(answer.usage.completion_tokens, n)
                        self.assertEqual(answer.finish, "length")
                        self.assertEqual(len(answer.tokens[0]), n)
                        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + n)

    def test_a_char_model_counts_characters(self):
        text = ask(client, PROMPTS["abc"], "abc", max_tokens=30, temperature=0).text
        self.assertEqual(len(text), 30)
        again = ask(client, text, "abc", max_tokens=1)
        self.assertEqual(again.usage.prompt_tokens, 30)

    def test_context_full_is_no_error(self):
        for name in STARTERS:
            context = server.config(name)["blockSize"]
            for params in ({}, {"max_tokens": 100_000}):
                with self.subTest(model=name, **params):
                    answer = stream(client, PROMPTS[name], name, **params)
                    self.assertEqual(answer.finish, "stop")
                    self.assertLessEqual(answer.usage.total_tokens, context)
                    self.assertGreater(answer.usage.completion_tokens, 1)


class Messages(unittest.TestCase):
    greedy = {"temperature": 0, "max_tokens": 20}

    def test_contents_are_joined_by_newlines(self):
        turns = [{"role": r, "content": c} for r, c in (("system", "One."), ("user", "Two."), ("assistant", "Three"))]
        self.assertEqual(ask(client, turns, **self.greedy).text, ask(client, "One.\nTwo.\nThree", **self.greedy).text)

    def test_content_parts(self):
        parts = [{"role": "user", "content": [{"type": "text", "text": "The old"}, {"type": "text", "text": "house"}]}]
        self.assertEqual(ask(client, parts, **self.greedy).text, ask(client, "The old\nhouse", **self.greedy).text)

    def test_path_alias(self):
        self.assertEqual(ask(server.client(path=""), "The castle", **self.greedy).text,
                         ask(client, "The castle", **self.greedy).text)


class Sampling(unittest.TestCase):
    def test_seeds(self):
        def text(seed):
            return ask(client, "The castle", seed=seed, temperature=1, max_tokens=40).text
        texts = [text(seed) for seed in range(5)]
        self.assertEqual(texts, [text(seed) for seed in range(5)])
        self.assertEqual(len(set(texts)), 5)

    def test_greedy_is_the_limit(self):
        greedy = ask(client, "The castle", temperature=0, max_tokens=40).text
        self.assertEqual(greedy, ask(client, "The castle", temperature=0, max_tokens=40).text)
        self.assertEqual(greedy, ask(client, "The castle", temperature=1, top_p=1e-9, max_tokens=40).text)

    def test_three_choices(self):
        params = {"seed": 3, "temperature": 1, "max_tokens": 30}
        whole, parts = ask(client, "The castle", n=3, **params), stream(client, "The castle", n=3, **params)
        self.assertEqual(sorted(whole.texts), [0, 1, 2])
        self.assertEqual(len(set(whole.texts.values())), 3)
        self.assertEqual(whole.texts, parts.texts)
        self.assertEqual(whole.finishes, parts.finishes)
        alone = ask(client, "The castle", **params)
        self.assertEqual(whole.text, alone.text)
        self.assertEqual(whole.usage.prompt_tokens, alone.usage.prompt_tokens)
        self.assertEqual(whole.usage.completion_tokens, 90)
        self.assertEqual(counts(whole.usage), counts(parts.usage))

    def test_penalties(self):
        def kinds(**params):
            answer = ask(client, PROMPTS["abc"], "abc", temperature=0, max_tokens=60, logprobs=True, **params)
            return len(collections.Counter(t.token for t in answer.tokens[0]))
        self.assertGreater(kinds(frequency_penalty=2), kinds())
        self.assertGreater(kinds(presence_penalty=2), kinds(presence_penalty=-2))


class Stop(unittest.TestCase):
    def test_cut_before_the_stop(self):
        for name in STARTERS:
            answer = ask(client, PROMPTS[name], name, temperature=0, max_tokens=40, logprobs=True)
            tokens = [t.token for t in answer.tokens[0]]
            # A piece of one token, and one that reaches across three.
            for stop in (answer.text[20:22], answer.text[len("".join(tokens[:6])) - 1:][:len(tokens[6]) + 2]):
                want = answer.text[:answer.text.index(stop)]
                for how in (ask, stream):
                    with self.subTest(model=name, stop=stop, how=how.__name__):
                        got = how(client, PROMPTS[name], name, temperature=0, max_tokens=40, stop=["\x00never", stop])
                        self.assertEqual((got.text, got.finish), (want, "stop"))
                        self.assertLessEqual(got.usage.completion_tokens, 40)


class Logprobs(unittest.TestCase):
    def test_sorted_and_normal(self):
        for name in STARTERS:
            for how in (ask, stream):
                with self.subTest(model=name, how=how.__name__):
                    answer = how(client, PROMPTS[name], name, temperature=0, max_tokens=15, logprobs=True, top_logprobs=5)
                    for token in answer.tokens[0]:
                        top = [t.logprob for t in token.top_logprobs]
                        self.assertEqual(len(top), 5)
                        self.assertEqual(top, sorted(top, reverse=True))
                        self.assertEqual((token.token, token.logprob), (token.top_logprobs[0].token, top[0]))
                        self.assertLessEqual(sum(map(math.exp, top)), 1 + 1e-6)
                        self.assertTrue(0 < math.exp(token.logprob) <= 1)
                    spelt = b"".join(bytes(t.bytes) for t in answer.tokens[0])
                    self.assertEqual(spelt.decode(), answer.text)

    def test_raw_whatever_the_temperature(self):
        cold = ask(client, "The castle", temperature=0, max_tokens=1, logprobs=True, top_logprobs=10).tokens[0][0]
        hot = ask(client, "The castle", temperature=2, max_tokens=1, logprobs=True, top_logprobs=10).tokens[0][0]
        self.assertEqual(cold.top_logprobs, hot.top_logprobs)

    def test_none_unless_asked(self):
        response = client.chat.completions.create(
            model="novels", messages=[{"role": "user", "content": "The castle"}], max_tokens=2)
        self.assertIsNone(response.choices[0].logprobs)


class LogitBias(unittest.TestCase):
    def test_forced(self):
        """+100 on each token in turn shows the whole vocabulary of the char model."""
        seen = set()
        for token in range(server.config("abc")["vocabSize"]):
            answer = ask(client, PROMPTS["abc"], "abc", temperature=0, max_tokens=3, logit_bias={str(token): 100})
            self.assertEqual(answer.text, answer.text[:1] * 3)
            seen.add(answer.text[:1])
        self.assertEqual(len(seen), server.config("abc")["vocabSize"])

    def test_banned(self):
        """-100 on the likeliest token leaves the second likeliest."""
        first = ask(client, PROMPTS["abc"], "abc", temperature=0, max_tokens=1, logprobs=True, top_logprobs=2)
        best, second = (t.token for t in first.tokens[0][0].top_logprobs)
        banned = {}
        for token in range(server.config("abc")["vocabSize"]):
            bias = {str(token): -100}
            banned[token] = ask(client, PROMPTS["abc"], "abc", temperature=0, max_tokens=1, logit_bias=bias).text
        self.assertEqual(collections.Counter(banned.values()), {best: len(banned) - 1, second: 1})


class Chunks(unittest.TestCase):
    def chunks(self, **params):
        return list(client.chat.completions.create(
            model="novels", messages=[{"role": "user", "content": "The castle"}], max_tokens=5, stream=True, **params))

    def test_shape(self):
        chunks = self.chunks()
        self.assertEqual(len({(c.id, c.created, c.model, c.object) for c in chunks}), 1)
        self.assertTrue(chunks[0].id.startswith("chatcmpl-"))
        self.assertEqual(chunks[0].object, "chat.completion.chunk")
        first = chunks[0].choices[0].delta
        self.assertEqual((first.role, first.content), ("assistant", ""))

    def test_usage_on_the_last_choice(self):
        chunks = self.chunks()
        self.assertTrue(all(c.choices for c in chunks))
        self.assertEqual([c.usage is None for c in chunks], [True] * (len(chunks) - 1) + [False])
        self.assertEqual(chunks[-1].choices[0].finish_reason, "length")
        self.assertEqual(chunks[-1].usage.completion_tokens, 5)

    def test_include_usage(self):
        chunks = self.chunks(stream_options={"include_usage": True})
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(counts(chunks[-1].usage), counts(self.chunks()[-1].usage))
        self.assertTrue(all(c.choices and c.usage is None for c in chunks[:-1]))
