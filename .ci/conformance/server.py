"""Starts glossa servers for the tests, talks raw HTTP to them, and stops them."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

GLOSSA = os.environ["GLOSSA"]  # path of the built binary
STARTERS = ("novels", "abc", "chords", "forms")
ENCODERS = pathlib.Path(__file__).parents[2] / "pkg/engine/testdata/encoders"
VECTORS = ENCODERS.parent / "vectors"
VISION = ENCODERS.parents[1] / "arch/testdata/vision"
START_SECONDS = 60
STOP_SECONDS = 30


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running `glossa serve`; a context manager that demands a clean exit."""

    def __init__(self, *args, env=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [GLOSSA, "serve", "--host", "127.0.0.1", "--port", str(self.port), *args]
        keep = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP")
        self.env = {k: os.environ[k] for k in keep if k in os.environ} | (env or {})

    def __enter__(self):
        self.log, self.killed = tempfile.TemporaryFile("w+b"), False
        self.process = subprocess.Popen(
            self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.wait()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def wait(self):
        """Waits until the server answers, with any status."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.command} ended with {self.process.returncode}:\n{self.output()}")
            with contextlib.suppress(OSError):
                self.raw("GET", "/v1/models")
                return
            time.sleep(0.02)
        raise RuntimeError(f"{self.command} does not answer:\n{self.output()}")

    def kill(self):
        """Ends the server without a chance to clean up, as when its machine fails."""
        self.process.kill()
        self.process.wait()
        self.killed = True

    def __exit__(self, *_):
        if self.killed:
            self.log.close()
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"{self.command} does not stop:\n{self.output()}") from None
        if code != 0:
            raise RuntimeError(f"{self.command} stopped with status {code}:\n{self.output()}")
        self.log.close()

    def output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-8000:]

    def client(self, path="/v1", **options):
        """An OpenAI client without retries, so that every error shows."""
        import openai  # not every set of clients has it
        return openai.OpenAI(**{
            "base_url": self.url + path, "api_key": "not-needed", "max_retries": 0, "timeout": 60, **options})

    def raw(self, method, path, body=None, headers=None):
        """One request without an SDK: (status, headers, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        """One request with JSON both ways: (status, value)."""
        data = None if body is None else json.dumps(body).encode()
        status, _, answer = self.raw(method, path, data, headers)
        return status, json.loads(answer)

    def config(self, model):
        """The model configuration that /api/models shows."""
        _, models = self.json("GET", "/api/models")
        return next(m["modelConfig"] for m in models if model in (m["id"], m["name"]))


class Answer:
    """A completion, streamed or not, in one form: texts, finishes, usage."""

    def __init__(self, texts, finishes, usage, tokens):
        self.texts = texts  # by index of the choice
        self.finishes = finishes  # by index
        self.usage = usage
        self.tokens = tokens  # logprobs.content by index

    @property
    def text(self):
        return self.texts[0]

    @property
    def finish(self):
        return self.finishes[0]


def ask(client, prompt, model="novels", **params):
    """A completion of the prompt, a string or a list of messages."""
    response = client.chat.completions.create(model=model, messages=messages(prompt), **params)
    choices = {c.index: c for c in response.choices}
    assert len(choices) == len(response.choices), "two choices with one index"
    return Answer(
        {i: c.message.content for i, c in choices.items()},
        {i: c.finish_reason for i, c in choices.items()},
        response.usage,
        {i: c.logprobs.content for i, c in choices.items() if c.logprobs})


def stream(client, prompt, model="novels", **params):
    """The same as ask, collected from a stream."""
    texts, finishes, tokens, usage = {}, {}, {}, None
    for chunk in client.chat.completions.create(
            model=model, messages=messages(prompt), stream=True, **params):
        assert usage is None, "a chunk after the usage"
        usage = chunk.usage
        for choice in chunk.choices:
            assert choice.index not in finishes, "a choice goes on after its finish_reason"
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
            if choice.finish_reason:
                finishes[choice.index] = choice.finish_reason
            if choice.logprobs:
                tokens.setdefault(choice.index, []).extend(choice.logprobs.content)
    return Answer(texts, finishes, usage, tokens)


def counts(usage):
    """The tokens of a usage. How many of the prompt were known depends on earlier requests."""
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def prompt_tokens(usage):
    """The tokens of a prompt in the Messages API, known ones too."""
    return usage.input_tokens + usage.cache_read_input_tokens


def messages(prompt):
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
