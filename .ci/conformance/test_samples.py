"""The Python sample of Alpha's documentation, unchanged except for the base URL."""

import contextlib
import io
import unittest

from openai import OpenAI

from server import Server


class Sample(unittest.TestCase):
    def test_python_sample(self):
        out = io.StringIO()
        with Server() as server, contextlib.redirect_stdout(out):
            client = OpenAI(
                base_url=f"{server.url}/v1",
                api_key="not-needed",  # no auth required for inference
            )

            # List models
            models = client.models.list()
            for m in models.data:
                print(m.id)
            listed = out.getvalue().split()

            # Chat completion
            response = client.chat.completions.create(
                model="novels-5hr",
                messages=[{"role": "user", "content": "Once upon a time"}],
                max_tokens=200,
                temperature=0.8,
            )
            print(response.choices[0].message.content)

            # Streaming
            out.seek(0)
            out.truncate()
            stream = client.chat.completions.create(
                model="novels-5hr",
                messages=[{"role": "user", "content": "The castle"}],
                max_tokens=200,
                stream=True,
            )
            for chunk in stream:
                if chunk.choices[0].delta.content:
                    print(chunk.choices[0].delta.content, end="")

        self.assertIn("novels", listed)
        choice, usage = response.choices[0], response.usage
        self.assertGreater(len(choice.message.content.split()), 20)
        self.assertGreater(len(out.getvalue().split()), 20)
        self.assertGreater(usage.prompt_tokens, 0)
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertIn(choice.finish_reason, ("length", "stop"))
        self.assertEqual(choice.finish_reason == "length", usage.completion_tokens == 200)
