"""Images through the clients of all protocols that have them, to models that read them."""

import base64
import unittest

import anthropic
import ollama
import openai
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from server import VISION, Server

MODEL = "gemma3-4b"
FRAME = 16  # inputs of a frame
PNG, OTHER = ((VISION / MODEL / f"{i}.png").read_bytes() for i in (0, 3))
QUESTION = "What is on this image?"


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server("--checkpoints", str(VISION)))


def encoded(image):
    return base64.b64encode(image).decode()


def url(image):
    return "data:image/png;base64," + encoded(image)


class Images(unittest.TestCase):
    def setUp(self):
        self.openai = openai.OpenAI(base_url=server.url + "/v1", api_key="not-needed", max_retries=0)

    def chat(self, *images, model=MODEL, **options):
        content = [{"type": "image_url", "image_url": {"url": url(i)}} for i in images] + [{"type": "text", "text": QUESTION}]
        return self.openai.chat.completions.create(
            model=model, messages=[{"role": "user", "content": content}], **{"max_tokens": 8, "temperature": 0, "logprobs": True} | options)

    def test_they_are_seen(self):
        one, again, other, both, none = self.chat(PNG), self.chat(PNG), self.chat(OTHER), self.chat(PNG, OTHER), self.chat()
        self.assertEqual(one.choices[0].logprobs, again.choices[0].logprobs)
        self.assertNotEqual(one.choices[0].logprobs, other.choices[0].logprobs)
        around = one.usage.prompt_tokens - none.usage.prompt_tokens
        self.assertGreater(around, FRAME)
        self.assertEqual(both.usage.prompt_tokens, one.usage.prompt_tokens + around)
        self.assertEqual(again.usage.prompt_tokens_details.cached_tokens, one.usage.prompt_tokens - 1)

    def test_streams(self):
        whole = self.chat(PNG).choices[0].message.content
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in self.chat(PNG, stream=True) if c.choices), whole)

    def test_tiles(self):
        """A wide picture takes more tiles than a small square one."""
        small, large = ((VISION / "idefics3" / f"{i}.png").read_bytes() for i in (0, 1))
        for image in (small, large):
            self.assertGreater(self.chat(image, model="idefics3").usage.prompt_tokens, 40)

    def test_other_protocols(self):
        want = self.chat(PNG).choices[0].message.content
        message = anthropic.Anthropic(base_url=server.url, api_key="not-needed", max_retries=0).messages.create(
            model=MODEL, max_tokens=8, extra_body={"temperature": 0}, messages=[{"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}}, {"type": "text", "text": QUESTION}]}])
        self.assertEqual(message.content[0].text, want)
        response = self.openai.responses.create(model=MODEL, max_output_tokens=16, temperature=0, input=[{"role": "user", "content": [
            {"type": "input_image", "image_url": url(PNG)}, {"type": "input_text", "text": QUESTION}]}])
        self.assertTrue(response.output_text.startswith(want.rstrip("\ufffd")))
        chain = ChatOpenAI(model=MODEL, base_url=server.url + "/v1", api_key="not-needed", max_tokens=8, temperature=0)
        self.assertEqual(chain.invoke([HumanMessage([{"type": "image_url", "image_url": {"url": url(PNG)}}, {"type": "text", "text": QUESTION}])]).content, want)

    def test_ollama(self):
        """Ollama's images follow the text."""
        client = ollama.Client(host=server.url)
        self.assertIn("vision", client.show(MODEL).capabilities)
        text = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": url(PNG)}}]
        want = self.openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], max_tokens=8, temperature=0)
        options = {"temperature": 0, "num_predict": 8}
        self.assertEqual(client.chat(MODEL, [{"role": "user", "content": QUESTION, "images": [PNG]}], options=options).message.content, want.choices[0].message.content)
        self.assertEqual(client.generate(MODEL, QUESTION, images=[PNG], options=options).response, want.choices[0].message.content)

    def test_errors(self):
        for image, words in ((b"GIF89a" + bytes(30), "only PNG and JPEG are read"), (PNG[:200], "image")):
            kind = "gif" if image.startswith(b"GIF") else "png"
            with self.assertRaisesRegex(openai.BadRequestError, words):
                self.openai.chat.completions.create(model=MODEL, max_tokens=2, messages=[{"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64," + encoded(image)}}]}])
        with self.assertRaisesRegex(openai.BadRequestError, "tokens"):
            self.chat(*[PNG] * 20, model="gemma3-wide")
        with self.assertRaisesRegex(openai.BadRequestError, "reads text only"):
            self.chat(PNG, model="novels")
        with self.assertRaisesRegex(openai.BadRequestError, "assistant"):
            self.openai.chat.completions.create(model=MODEL, messages=[{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": url(PNG)}}]}])

    def test_system(self):
        """Where the template writes images of the system, they are seen too."""
        def ask(image):
            return self.openai.chat.completions.create(model=MODEL, max_tokens=8, temperature=0, logprobs=True, messages=[
                {"role": "system", "content": [{"type": "image_url", "image_url": {"url": url(image)}}]}, {"role": "user", "content": QUESTION}])
        one, other = ask(PNG), ask(OTHER)
        self.assertGreater(one.usage.prompt_tokens, FRAME)
        self.assertNotEqual(one.choices[0].logprobs, other.choices[0].logprobs)
