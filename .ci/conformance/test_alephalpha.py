"""Aleph Alpha's routes, driven by today's client."""

import asyncio
import math
import os
import pathlib
import shutil
import tempfile
import unittest

from aleph_alpha_client import (
    AsyncClient, BatchSemanticEmbeddingRequest, ChatRequest, Client, CompletionRequest, DetokenizationRequest, EmbeddingRequest, EvaluationRequest, ExplanationRequest, Image,
    Message, Prompt, SemanticEmbeddingRequest, SemanticRepresentation, Text, TextControl, TokenizationRequest, Tokens)
from aleph_alpha_client.chat import ChatStreamChunk, FinishReason, Role, StreamOptions, Usage
from aleph_alpha_client.chat import ToolCall
from aleph_alpha_client.completion import CompletionSummary, StreamChunk, StreamSummary
from aleph_alpha_client.embedding import InstructableEmbeddingRequest
from aleph_alpha_client.explanation import (
    CustomGranularity, ExplanationPostprocessing, PromptGranularity, TargetGranularity, TargetPromptItemExplanation, TextPromptItemExplanation,
    TokenPromptItemExplanation)
from aleph_alpha_client.prompt import ControlTokenOverlap
from aleph_alpha_client.translation import TranslationRequest

from alephalpha import LOGITS_OF_AB, PROMPTS, embeddings, golden_run, logprob_of, pool
from server import ENCODERS, STARTERS, VISION, Server, ask

TRANSLATOR = pathlib.Path(__file__).parents[2] / "functions/testdata/translator"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def setUpModule():
    global server, client, chat
    root = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    golden_run(root)
    shutil.copytree(TRANSLATOR, pathlib.Path(root, "translator"))
    shutil.copytree(ENCODERS / "bert", pathlib.Path(root, "encoder"))
    server = unittest.enterModuleContext(Server("--checkpoints", root))
    client = Client(token="not-needed", host=server.url, total_retries=0)
    chat = server.client()


def complete(model, prompt=None, **params):
    prompt = Prompt.from_text(PROMPTS[model] if prompt is None else prompt) if not isinstance(prompt, Prompt) else prompt
    return client.complete(CompletionRequest(prompt, **params), model)


def streamed(model, prompt, **params):
    """The items of a stream."""
    async def items():
        async with AsyncClient(token="not-needed", host=server.url, total_retries=0) as c:
            request = CompletionRequest(Prompt.from_text(prompt), **params)
            return [item async for item in c.complete_with_streaming(request, model)]
    return asyncio.run(items())


class Service(unittest.TestCase):
    def test_version(self):
        client.validate_version()

        async def validate():
            async with AsyncClient(token="x", host=server.url) as c:
                await c.validate_version()
                return await c.models()
        self.assertEqual([m["name"] for m in asyncio.run(validate())], [m["name"] for m in client.models()])

    def test_nice_tags_and_hosting(self):
        want = complete("abc", maximum_tokens=5).completions
        kind = Client(token="x", host=server.url + "/", nice=True, tags=["test"], hosting="cloud", total_retries=0)
        self.assertEqual(kind.complete(CompletionRequest(Prompt.from_text(PROMPTS["abc"]), maximum_tokens=5), "abc").completions, want)
        elsewhere = Client(token="x", host=server.url, hosting="aleph-alpha", total_retries=0)
        with self.assertRaisesRegex(ValueError, "hosting"):
            elsewhere.complete(CompletionRequest(Prompt.from_text("x")), "abc")


class Complete(unittest.TestCase):
    def test_the_same_as_chats(self):
        """One engine behind two protocols: texts, log-probabilities, counts."""
        for name in STARTERS:
            with self.subTest(model=name):
                said = ask(chat, PROMPTS[name], name, temperature=0, max_tokens=15, logprobs=True, top_logprobs=3)
                answer = complete(name, maximum_tokens=15, log_probs=3, tokens=True)
                completion, = answer.completions
                self.assertEqual(completion.completion, said.text)
                self.assertEqual(completion.finish_reason, "maximum_tokens")
                self.assertEqual(answer.num_tokens_prompt_total, said.usage.prompt_tokens)
                self.assertEqual(answer.num_tokens_generated, 15)
                self.assertEqual(completion.completion_tokens, [t.token for t in said.tokens[0]])
                for probs, token in zip(completion.log_probs, said.tokens[0], strict=True):
                    want = {t.token: t.logprob for t in token.top_logprobs}
                    self.assertEqual(set(probs), set(want))
                    for key, p in want.items():
                        self.assertAlmostEqual(probs[key], p, delta=1e-9)

    def test_items_are_one_prompt(self):
        for name in STARTERS:
            text = PROMPTS[name]
            ids = client.tokenize(TokenizationRequest(text, tokens=False, token_ids=True), name).token_ids
            want = complete(name, maximum_tokens=9)
            for prompt in (Prompt([Text.from_text(text[:2]), Text.from_text(text[2:])]), Prompt.from_tokens(ids),
                           Prompt([Tokens.from_token_ids(ids[:1]), Tokens.from_token_ids(ids[1:])])):
                self.assertEqual(complete(name, prompt, maximum_tokens=9), want)

    def test_to_the_end_of_the_context(self):
        for name in STARTERS:
            answer = complete(name)  # without maximum_tokens
            self.assertEqual(answer.num_tokens_prompt_total + answer.num_tokens_generated, server.config(name)["blockSize"])

    def test_totals_of_all_candidates(self):
        one = complete("abc", maximum_tokens=4).num_tokens_prompt_total
        for params, candidates in (({"n": 3}, 3), ({"n": 2, "best_of": 5}, 5), ({"best_of": 4}, 4)):
            answer = complete("abc", maximum_tokens=4, temperature=1.0, **params)
            self.assertEqual(len(answer.completions), params.get("n", 1))
            self.assertEqual((answer.num_tokens_prompt_total, answer.num_tokens_generated), (candidates * one, candidates * 4))

    def test_penalties_have_forms_of_their_own(self):
        """Logits -0.605, -0.260, -0.663 after "ab": what becomes of the second decides."""
        for presence, frequency, multiplied, want in (
                (0.4, 0.0, (False, False), "\n"), (0.4, 0.0, (True, False), "a"), (0.4, 0.0, (False, True), "\n"),
                (0.0, 0.4, (False, False), "\n"), (0.0, 0.4, (True, False), "\n"), (0.0, 0.4, (False, True), "a"),
                (0.4, 0.3, (True, False), "\n"),  # -0.364 - 0.3
                (0.4, 0.3, (False, True), "\n"),  # -0.338 - 0.4
                (0.4, 0.3, (True, True), "a")):  # -0.473
            answer = complete("golden", "ab", maximum_tokens=1, repetition_penalties_include_prompt=True, presence_penalty=presence,
                              frequency_penalty=frequency, use_multiplicative_presence_penalty=multiplied[0],
                              use_multiplicative_frequency_penalty=multiplied[1])
            self.assertEqual(answer.completions[0].completion, want, (presence, frequency, multiplied))

    def test_logit_bias(self):
        plain = complete("abc", maximum_tokens=6, tokens=True).completions[0]
        ids = client.tokenize(TokenizationRequest(plain.completion, False, True), "abc").token_ids
        banned = complete("abc", maximum_tokens=6, tokens=True, logit_bias={i: -1e9 for i in set(ids)}).completions[0]
        self.assertFalse(set(banned.completion_tokens) & set(plain.completion_tokens))
        forced = complete("abc", maximum_tokens=6, logit_bias={ids[0]: 1e9}).completions[0]
        self.assertEqual(forced.completion, plain.completion[0] * 6)

    def test_echo(self):
        for name in STARTERS:
            plain = complete(name, maximum_tokens=5, log_probs=1, tokens=True)
            echo = complete(name, maximum_tokens=5, log_probs=1, tokens=True, echo=True)
            n = plain.num_tokens_prompt_total
            self.assertEqual(echo.completions[0].completion, PROMPTS[name] + plain.completions[0].completion)
            self.assertEqual(echo.completions[0].completion_tokens[n:], plain.completions[0].completion_tokens)
            self.assertEqual(len(echo.completions[0].log_probs), n + 5)
            self.assertEqual(echo.completions[0].log_probs[0], {})

    def test_stop_sequences(self):
        answer = complete("abc", "X:1\nT:", maximum_tokens=60, stop_sequences=["\n"]).completions[0]
        self.assertEqual(answer.finish_reason, "stop_sequence_reached")
        self.assertNotIn("\n", answer.completion)


class Stream(unittest.TestCase):
    def test_a_stream_is_the_whole(self):
        for name in STARTERS:
            for params in ({}, {"n": 2}, {"log_probs": 2, "tokens": True}, {"stop_sequences": ["e", "G"]}, {"echo": True}):
                with self.subTest(model=name, **params):
                    whole = complete(name, maximum_tokens=20, **params)
                    items = streamed(name, PROMPTS[name], maximum_tokens=20, **params)
                    self.assertIsInstance(items[-1], CompletionSummary)
                    self.assertEqual(items[-1].num_tokens_generated, whole.num_tokens_generated)
                    self.assertEqual(items[-1].num_tokens_prompt_total, whole.num_tokens_prompt_total)
                    for index, want in enumerate(whole.completions):
                        chunks = [i for i in items if isinstance(i, StreamChunk) and i.index == index]
                        ends = [i for i in items if isinstance(i, StreamSummary) and i.index == index]
                        self.assertEqual("".join(c.completion for c in chunks), want.completion)
                        self.assertEqual([e.finish_reason for e in ends], [want.finish_reason])
                        self.assertEqual(ends[0].model_version, whole.model_version)
                        if "tokens" in params:
                            self.assertEqual([t for c in chunks for t in c.completion_tokens], want.completion_tokens)
                            self.assertEqual([p for c in chunks for p in c.log_probs], want.log_probs)
                    self.assertGreater(len(items), 3)

    def test_refused(self):
        for word, params in (("temperature", {"temperature": 3.0}), ("best_of", {"best_of": 1})):
            with self.assertRaisesRegex(ValueError, word):
                streamed("abc", "x", **params)


class Evaluate(unittest.TestCase):
    def evaluate(self, model, prompt, expected):
        return client.evaluate(EvaluationRequest(Prompt.from_text(prompt), completion_expected=expected), model)

    def test_the_same_as_an_echo(self):
        """The log-probability is that of the tokens when the whole text is echoed."""
        for name, prompt, expected in (("abc", "X:1\nT:", "The Kettle\nM:3/4"), ("chords", "C G", " Am F C"), ("novels", "The old", " lighthouse stood by the sea.")):
            echo = complete(name, prompt + expected, maximum_tokens=0, echo=True, log_probs=1, tokens=True).completions[0]
            answer = self.evaluate(name, prompt, expected)
            result, n = answer.result, answer.result["token_count"]
            own = list(zip(echo.completion_tokens, echo.log_probs))[-n:]
            self.assertEqual("".join(t for t, _ in own), expected)
            self.assertAlmostEqual(result["log_probability"], sum(p[t] for t, p in own), delta=1e-4)
            self.assertEqual(result["completion"], "".join(max(p, key=p.get) for _, p in own))
            self.assertEqual(result["correct_greedy"], result["completion"] == expected)
            self.assertEqual(answer.num_tokens_prompt_total, len(echo.completion_tokens))

    def test_chain_rule(self):
        whole, head, tail = (self.evaluate("abc", p, e).result["log_probability"] for p, e in (("X:1", "\nT:"), ("X:1", "\nT"), ("X:1\nT", ":")))
        self.assertAlmostEqual(whole, head + tail, delta=1e-4)

    def test_golden(self):
        for token, text in enumerate("\nab"):
            self.assertAlmostEqual(self.evaluate("golden", "ab", text).result["log_probability"], logprob_of(LOGITS_OF_AB, token), delta=1e-5)

    def test_no_scorer(self):
        with self.assertRaisesRegex(ValueError, "MISSING_CAPABILITY"):
            self.evaluate("phrases", "a", "b")


class Semantic(unittest.TestCase):
    def embed(self, text, representation, **params):
        request = SemanticEmbeddingRequest(Prompt.from_text(text), representation, **params)
        return client.semantic_embed(request, "encoder").embedding

    def test_representations_choose_the_prompts(self):
        query, plain, document = (self.embed("the red hen", r) for r in (
            SemanticRepresentation.Query, SemanticRepresentation.Symmetric, SemanticRepresentation.Document))
        self.assertNotEqual(query, plain)
        self.assertEqual(document, plain)  # this model's documents have no prompt
        openai = chat.embeddings.create(
            model="encoder", input="the red hen", extra_body={"prompt_name": "query"}, encoding_format="float").data[0].embedding
        for a, b in zip(self.embed("the red hen", SemanticRepresentation.Query, normalize=True), openai, strict=True):
            self.assertAlmostEqual(a, b, 6)

    def test_compressed(self):
        whole = self.embed("the red hen", SemanticRepresentation.Query)
        cut = self.embed("the red hen", SemanticRepresentation.Query, compress_to_size=8, normalize=True)
        length = sum(x * x for x in whole[:8]) ** 0.5
        for a, b in zip(cut, whole, strict=False):
            self.assertAlmostEqual(a, b / length, 6)
        self.assertEqual((len(whole), len(cut)), (32, 8))
        with self.assertRaisesRegex(ValueError, "compress_to_size"):
            self.embed("x", SemanticRepresentation.Query, compress_to_size=128)

    def test_batches(self):
        texts = ["a cat", "the red hen", "hens"] * 50  # of which the client makes two requests
        request = BatchSemanticEmbeddingRequest([Prompt.from_text(t) for t in texts], SemanticRepresentation.Document)
        answer = client.batch_semantic_embed(request, "encoder")
        self.assertEqual(len(answer.embeddings), 150)
        self.assertEqual(answer.embeddings[1], self.embed("the red hen", SemanticRepresentation.Document))
        with self.assertRaisesRegex(ValueError, "must not be empty"):
            client.batch_semantic_embed(BatchSemanticEmbeddingRequest([Prompt.from_text("")], SemanticRepresentation.Query), "encoder")


class Embed(unittest.TestCase):
    def embed(self, model, prompt, layers, pooling, **params):
        return client.embed(EmbeddingRequest(Prompt.from_text(prompt), layers=layers, pooling=pooling, **params), model)

    def test_golden(self):
        answer = self.embed("golden", "ba", [0], ["mean", "max", "last_token", "abs_max"], tokens=True)
        self.assertEqual((answer.tokens, answer.num_tokens_prompt_total), (["b", "a"], 2))
        for p, want in pool(embeddings("ba")).items():
            for got, x in zip(answer.embeddings["layer_0", p], want, strict=True):
                self.assertAlmostEqual(got, x, delta=1e-6)

    def test_last_layer_and_normalize(self):
        for name in STARTERS:
            depth = server.config(name)["nLayer"]
            plain = self.embed(name, PROMPTS[name], [-1], ["mean"]).embeddings
            self.assertEqual(set(plain), {(f"layer_{depth}", "mean")})
            unit = self.embed(name, PROMPTS[name], [depth], ["mean"], normalize=True).embeddings
            vector, own = plain[f"layer_{depth}", "mean"], unit[f"layer_{depth}", "mean"]
            length = math.sqrt(sum(x * x for x in vector))
            self.assertGreater(length, 0)
            for a, b in zip(own, vector, strict=True):
                self.assertAlmostEqual(a, b / length, delta=1e-6)


class Tokenize(unittest.TestCase):
    def test_there_and_back(self):
        for name in STARTERS:
            made = client.tokenize(TokenizationRequest(PROMPTS[name], tokens=True, token_ids=True), name)
            self.assertEqual(len(made.tokens), len(made.token_ids))
            self.assertEqual(client.detokenize(DetokenizationRequest(made.token_ids), name).result, PROMPTS[name])
            self.assertIsNone(client.tokenize(TokenizationRequest("x", tokens=True, token_ids=False), name).token_ids)


class Tokenizer(unittest.TestCase):
    def test_the_same_tokens(self):
        """The tokenizer that is downloaded, in Hugging Face's library, is the server's."""
        for name in ("abc", "forms", "golden"):
            own = client.tokenizer(name)
            for text in (PROMPTS.get(name, "ab"), "The Kettle\n\nü € zzz  aaaa", ""):
                made = client.tokenize(TokenizationRequest(text, tokens=True, token_ids=True), name)
                with self.subTest(model=name, text=text):
                    self.assertEqual((own.encode(text).ids, own.encode(text).tokens), (made.token_ids, made.tokens))
                    self.assertEqual(own.decode(made.token_ids), client.detokenize(DetokenizationRequest(made.token_ids), name).result)

    def test_no_such_file(self):
        for name in ("novels", "chords", "translator"):  # merges that have no such form, words, SentencePiece
            with self.assertRaisesRegex(ValueError, "MISSING_CAPABILITY"):
                client.tokenizer(name)


class Translate(unittest.TestCase):
    def test_translate(self):
        answer = client.translate(TranslationRequest("translator", "Thank you.", "fr"))
        self.assertIsInstance(answer.translation, str)
        self.assertGreater(answer.score, 0)
        self.assertLessEqual(answer.score, 1)
        self.assertGreater(answer.num_tokens_prompt_total, 0)
        with self.assertRaisesRegex(ValueError, "target_language"):
            client.translate(TranslationRequest("translator", "Thank you.", "tlh"))


class Explain(unittest.TestCase):
    """The requests of the client's own suite, without its images."""
    PROMPT = Prompt([Text.from_text("The Kettle###The Fiddle###"), Tokens.from_token_ids([5, 6, 7])])

    def score(self, prompt, target):
        return client.evaluate(EvaluationRequest(prompt, completion_expected=target), "abc").result["log_probability"]

    def test_a_score_is_a_difference(self):
        request = ExplanationRequest(self.PROMPT, " Kettle", prompt_granularity=CustomGranularity("###"), control_factor=0.1,
                                     control_token_overlap=ControlTokenOverlap.Partial, control_log_additive=True)
        explanation, = client.explain(request, "abc").with_text_from_prompt(request).explanations
        self.assertEqual(explanation.target, " Kettle")
        text, tokens, target = explanation.items
        self.assertEqual([s.text for s in text.scores], ["The Kettle", "The Fiddle"])
        self.assertEqual((len(tokens.scores), target.scores), (3, []))
        whole = self.score(self.PROMPT, " Kettle")
        without = self.score(Prompt([Text.from_text("The Kettle###"), Tokens.from_token_ids([5, 6, 7])]), " Kettle")
        self.assertAlmostEqual(text.scores[1].score, whole - without, delta=1e-4)
        without = self.score(Prompt([Text.from_text("The Kettle###The Fiddle###"), Tokens.from_token_ids([5, 7])]), " Kettle")
        self.assertAlmostEqual(tokens.scores[1].score, whole - without, delta=1e-4)

    def test_tokens_of_the_target(self):
        for granularity in (None, "word", *PromptGranularity):
            request = ExplanationRequest(self.PROMPT, "ab|", target_granularity=TargetGranularity.Token, normalize=True,
                                         postprocessing=ExplanationPostprocessing.Absolute, prompt_granularity=granularity)
            explanations = client.explain(request, "abc").with_text_from_prompt(request).explanations
            self.assertEqual([e.target for e in explanations], ["a", "b", "|"])
            for i, e in enumerate(explanations):
                self.assertEqual([type(item) for item in e.items], [TextPromptItemExplanation, TokenPromptItemExplanation, TargetPromptItemExplanation])
                self.assertEqual(len(e.items[2].scores), i)
                scores = [s.score if isinstance(s.score, float) else s.score.score for item in e.items for s in item.scores]
                self.assertEqual((min(scores), max(scores)), (0.0, 1.0))

    def test_async(self):
        async def explain():
            async with AsyncClient(token="x", host=server.url) as c:
                return await c.explain(ExplanationRequest(Prompt.from_text("An apple a day"), " keeps"), "novels")
        self.assertTrue(asyncio.run(explain()).explanations)


class Chat(unittest.TestCase):
    """/chat/completions is the route of the OpenAI protocol."""

    def request(self, **params):
        return ChatRequest(model="novels", messages=[Message(Role.User, PROMPTS["novels"])], maximum_tokens=12, temperature=0.0, **params)

    def test_chat(self):
        answer = client.chat(self.request(), "novels")
        self.assertEqual(answer.message.content, complete("novels", maximum_tokens=12).completions[0].completion)
        self.assertEqual(answer.finish_reason, FinishReason.Length)

    def test_stream(self):
        async def items():
            async with AsyncClient(token="x", host=server.url) as c:
                return [i async for i in c.chat_with_streaming(self.request(stream_options=StreamOptions(include_usage=True)), "novels")]
        items = asyncio.run(items())
        self.assertEqual("".join(i.content for i in items if isinstance(i, ChatStreamChunk)), client.chat(self.request(), "novels").message.content)
        self.assertIn(FinishReason.Length, items)
        self.assertEqual([i.completion_tokens for i in items if isinstance(i, Usage)], [12])

    def test_stream_without_usage(self):
        """The client reads only the usage of a chunk with usage."""
        for host in (server.url, server.url + "/v1"):
            async def items():
                async with AsyncClient(token="x", host=host, hosting="cloud", tags=["t"]) as c:
                    return [i async for i in c.chat_with_streaming(self.request(top_k=5), "novels")]
            items = asyncio.run(items())
            self.assertEqual((items[0].role, items[0].content, items[-1]), (Role.Assistant, "", FinishReason.Length))
            self.assertFalse([i for i in items if isinstance(i, Usage)])

    def test_stream_of_calls(self):
        """Calls come before the finish reason; otherwise the client loses them."""
        tool = {"type": "function", "function": {"name": "clock", "parameters": {
            "type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"], "additionalProperties": False}}}
        request = ChatRequest(model="chatter", messages=[Message(Role.User, "When?")], tools=[tool], tool_choice="required", parallel_tool_calls=False)
        with Server("--checkpoints", os.environ["FORMS"]) as forms:
            async def items():
                async with AsyncClient(token="x", host=forms.url, total_retries=0) as c:
                    return [i async for i in c.chat_with_streaming(request, "chatter")]
            items = asyncio.run(items())
            whole = Client(token="x", host=forms.url, total_retries=0).chat(request, "chatter")
        self.assertEqual((items[0].role, items[0].content), (Role.Assistant, ""))
        call, end = items[-2:]
        self.assertIsInstance(call, ToolCall)
        self.assertIn(call.function.arguments.replace(" ", ""), ('{"zone":"UTC"}', '{"zone":"CET"}'))
        self.assertEqual((call.function.name, call.type, end), ("clock", "function", FinishReason.ToolCalls))
        self.assertEqual((whole.finish_reason, len(whole.message.tool_calls)), (FinishReason.ToolCalls, 1))


class Errors(unittest.TestCase):
    def test_refused_by_name(self):
        for word, params in (
                ("minimum_tokens", {"minimum_tokens": 1}), ("sequence_penalty", {"sequence_penalty": 0.5}), ("penalty_bias", {"penalty_bias": "x"}),
                ("penalty_exceptions", {"penalty_exceptions": ["x"]}), ("penalty_exceptions_include_stop_sequences", {"penalty_exceptions_include_stop_sequences": True}),
                ("repetition_penalties_include_completion", {"repetition_penalties_include_completion": False}),
                ("completion_bias_inclusion", {"completion_bias_inclusion": ["x"]}), ("completion_bias_exclusion", {"completion_bias_exclusion": ["x"]}),
                ("steering_concepts", {"steering_concepts": ["x"]}), ("raw_completion", {"raw_completion": True}),
                ("temperature", {"temperature": 1.5}), ("maximum_tokens", {"maximum_tokens": -1}), ("top_k", {"top_k": -1}), ("n", {"n": 0}),
                ("best_of", {"n": 2, "best_of": 2}), ("logit_bias", {"logit_bias": {10**8: 1.0}}), ("stop_sequences", {"stop_sequences": [""]})):
            with self.subTest(**params), self.assertRaisesRegex(ValueError, word):
                complete("abc", **params)

    def test_prompts(self):
        with self.assertRaisesRegex(ValueError, "image"):
            complete("abc", Prompt([Image(PIXEL, None, [])]))
        with self.assertRaisesRegex(ValueError, "controls"):
            complete("abc", Prompt([Text("x", [TextControl(0, 1, 0.5)])]))
        with self.assertRaisesRegex(ValueError, "prompt"):
            complete("abc", Prompt.from_tokens([10**8]))
        with self.assertRaisesRegex(ValueError, "context"):
            complete("abc", "abc" * 4000)

    def test_unknown_model(self):
        with self.assertRaises(RuntimeError) as caught:
            complete("luminous-base", "x")
        self.assertEqual(caught.exception.args[0], 404)

    def test_not_served(self):
        prompt = Prompt.from_text("x")
        with self.assertRaisesRegex(ValueError, "not trained for embeddings.*MISSING_CAPABILITY"):
            client.semantic_embed(SemanticEmbeddingRequest(prompt, SemanticRepresentation.Symmetric), "abc")
        with self.assertRaisesRegex(ValueError, "instructable embeddings are not supported.*MISSING_CAPABILITY"):
            client.instructable_embed(InstructableEmbeddingRequest(prompt, "to find it"), "abc")
        with self.assertRaisesRegex(ValueError, "image"):
            client.explain(ExplanationRequest(Prompt([Image(PIXEL, None, [])]), "y"), "abc")


class Images(unittest.TestCase):
    """Items of type image, for models that read images."""

    def test_complete(self):
        with Server("--checkpoints", str(VISION)) as seeing:
            reader = Client(token="not-needed", host=seeing.url, total_retries=0)
            supported = {m["name"]: m["image_support"] for m in reader.models()}
            self.assertEqual((supported["idefics3"], supported["novels"]), (True, False))

            def tell(*items):
                return reader.complete(CompletionRequest(prompt=Prompt(list(items)), maximum_tokens=8, log_probs=0), "idefics3")

            one, other = (Image.from_bytes((VISION / "idefics3" / f"{i}.png").read_bytes()) for i in (0, 1))
            question = Text("What is on this image?", [])
            first, again, second, none = tell(one, question), tell(one, question), tell(other, question), tell(question)
            self.assertEqual(first.completions, again.completions)
            self.assertNotEqual(first.completions[0].log_probs, second.completions[0].log_probs)
            self.assertGreater(first.num_tokens_prompt_total, none.num_tokens_prompt_total + 16)
