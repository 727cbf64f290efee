"""An endpoint of OpenAI's API whose streams stall, and servers with models at it whose own
streams send keep-alives meanwhile."""

import contextlib
import http.server
import json
import subprocess
import tempfile
import threading
import time

from server import GLOSSA, Server

WORDS = ["Tall", " ships", " and", " winds"]
TEXT = "".join(WORDS)
STALL = 0.5  # seconds before each event
EVERY = "100ms"  # the least


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers chats and completions."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.path.endswith("/chat/completions")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        usage = {"prompt_tokens": 3, "completion_tokens": len(WORDS), "total_tokens": 3 + len(WORDS)}
        if not body.get("stream"):
            choice = {"index": 0, "finish_reason": "stop"} | ({"message": {"role": "assistant", "content": TEXT}} if chat else {"text": TEXT})
            self.wfile.write(json.dumps({"choices": [choice], "usage": usage}).encode())
            return
        for i, word in enumerate(WORDS):
            time.sleep(STALL)
            choice = {"index": 0, "finish_reason": "stop" if i == len(WORDS) - 1 else None}
            self.event({"choices": [choice | ({"delta": {"content": word}} if chat else {"text": word})]})
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()


@contextlib.contextmanager
def stalling():
    """A server with the models slow-chat, which takes chats, and slow-text, which continues texts."""
    endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=endpoint.serve_forever)
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as records:
            for name, like in (("slow-chat", "chat"), ("slow-text", "completions")):
                subprocess.run([GLOSSA, "models", "add", "--family", "openai", "--url", f"http://127.0.0.1:{endpoint.server_address[1]}/v1",
                                "--like", like, "--records", records, name], check=True, stdout=subprocess.DEVNULL)
            with Server("--keep-alive", EVERY, env={"GLOSSA_RECORDS": records}) as server:
                yield server
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()


def chatted(text):
    return [{"role": "user", "content": text}]
