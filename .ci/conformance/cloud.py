"""What stands for AWS in the tests: dynalite for DynamoDB, and a fake of the runtime
APIs of Bedrock and SageMaker with their framing, which fails on demand.

Sources: the API references of Amazon Bedrock Runtime and SageMaker Runtime; Amazon
Event Stream encoding (prelude, headers, payload, two CRC-32)."""

import base64
import http.server
import json
import pathlib
import struct
import subprocess
import threading
import time
import urllib.parse
import zlib

import boto3

from server import free_port

HERE = pathlib.Path(__file__).parent
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not-a-secret", "AWS_REGION": "us-east-1"}
TABLE = "glossa"


def message(payload, **headers):
    """One message of an event stream; headers are strings, with _ for characters that Python names lack."""
    head = b""
    for name, value in headers.items():
        name, value = f":{name.replace('_', '-')}".encode(), value.encode()
        head += bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    start = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    start += struct.pack(">I", zlib.crc32(start))
    whole = start + head + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


class Fault:
    """A fault instead of an answer, or within a stream."""

    def __init__(self, status=0, code="", after=0, kind="error", wait=0):
        self.status, self.code = status, code  # of an error before the answer
        self.after, self.kind = after, kind  # events before the fault: exception, cut, corrupt
        self.wait = wait  # seconds before the answer


class Cloud:
    """Bedrock and SageMaker. `words` are answered, one an event of a stream; a request with
    tools is answered by `calls`, names and arguments; `requests` has what came; faults are
    used up one a call."""

    def __init__(self):
        self.words = ["Tall", " ships", " — and", " winds", "."]
        self.calls = []
        self.pause = 0
        self.seen = None  # a threading.Event that a stream waits for after its first piece
        self.requests, self.faults, self.gone = [], [], threading.Semaphore(0)
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                cloud.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, h):
        body = json.loads(h.rfile.read(int(h.headers["Content-Length"])))
        path = urllib.parse.unquote(h.path)
        self.requests.append({"path": path, "body": body, "headers": dict(h.headers)})
        fault = self.faults.pop(0) if self.faults else Fault()
        time.sleep(fault.wait)
        try:
            if fault.status:
                self.reply(h, fault.status, {"message": "no"}, {"X-Amzn-Errortype": fault.code})
            elif path.endswith("/invoke"):
                self.reply(h, 200, self.bedrock(body), {
                    "X-Amzn-Bedrock-Input-Token-Count": "7", "X-Amzn-Bedrock-Output-Token-Count": str(len(self.words))})
            elif path.endswith("/invoke-with-response-stream"):
                self.stream(h, fault, [self.chunk(e) for e in self.bedrock_events(body)])
            elif path.endswith("/invocations"):
                self.reply(h, 200, [{"generated_text": "".join(self.words), "details": {
                    "finish_reason": "eos_token", "generated_tokens": len(self.words), "seed": None}}])
            else:
                self.stream(h, fault, self.parts())
        except (BrokenPipeError, ConnectionResetError):
            self.gone.release()

    def reply(self, h, status, value, headers=()):
        b = json.dumps(value).encode()
        h.send_response(status)
        for name, v in ({"Content-Type": "application/json", "Content-Length": str(len(b))} | dict(headers)).items():
            h.send_header(name, v)
        h.end_headers()
        h.wfile.write(b)

    def stream(self, h, fault, frames):
        h.send_response(200)
        h.send_header("Content-Type", "application/vnd.amazon.eventstream")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()

        def send(b):
            h.wfile.write(b"%x\r\n%s\r\n" % (len(b), b))

        for i, frame in enumerate(frames):
            if fault.after and i == fault.after:
                if fault.kind == "exception":
                    send(message(b'{"message":"no"}', message_type="exception", exception_type=fault.code, content_type="application/json"))
                elif fault.kind == "corrupt":
                    send(frame[:-1] + bytes([frame[-1] ^ 1]))
                elif fault.kind == "cut":
                    h.wfile.write(b"%x\r\n%s" % (len(frame), frame[:-9]))
                    h.close_connection = True
                    return
                break
            send(frame)
            time.sleep(self.pause)
            if i == 0 and self.seen and not self.seen.wait(20):
                raise BrokenPipeError("nobody has seen the first piece")
        h.wfile.write(b"0\r\n\r\n")

    def bedrock(self, body):
        text = "".join(self.words)
        if self.calls and "tools" in body:
            blocks = [{"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": arguments} for i, (name, arguments) in enumerate(self.calls)]
            return {"content": [{"type": "text", "text": text}] + blocks, "stop_reason": "tool_use",
                    "usage": {"input_tokens": 7, "output_tokens": len(self.words)}}
        if "messages" in body:
            return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                    "usage": {"input_tokens": 7, "output_tokens": len(self.words)}}
        return {"generation": text, "stop_reason": "stop", "prompt_token_count": 7, "generation_token_count": len(self.words)}

    def bedrock_events(self, body):
        metrics = {"inputTokenCount": 7, "outputTokenCount": len(self.words), "invocationLatency": 1, "firstByteLatency": 1}
        if "messages" not in body:
            for w in self.words:
                yield {"generation": w, "stop_reason": None}
            yield {"generation": "", "stop_reason": "stop", "amazon-bedrock-invocationMetrics": metrics}
            return
        yield {"type": "message_start", "message": {"role": "assistant", "content": []}}
        for w in self.words:
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": w}}
        calls = self.calls if "tools" in body else []
        for i, (name, arguments) in enumerate(calls):
            yield {"type": "content_block_start", "index": i + 1, "content_block": {"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": {}}}
            text = json.dumps(arguments) if arguments else ""
            for piece in ("", text[:5], text[5:]):
                yield {"type": "content_block_delta", "index": i + 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
            yield {"type": "content_block_stop", "index": i + 1}
        yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}, "usage": {"output_tokens": len(self.words)}}
        yield {"type": "message_stop", "amazon-bedrock-invocationMetrics": metrics}

    def chunk(self, event):
        inner = base64.b64encode(json.dumps(event).encode()).decode()
        return message(json.dumps({"bytes": inner, "p": "abcd"}).encode(),
                       message_type="event", event_type="chunk", content_type="application/json")

    def parts(self):
        """The lines of TGI's stream, split within lines."""
        lines = b""
        for i, w in enumerate(self.words):
            last = i == len(self.words) - 1
            event = {"token": {"id": i, "text": w, "logprob": -0.5, "special": False}, "generated_text": "".join(self.words) if last else None,
                     "details": {"finish_reason": "eos_token", "generated_tokens": i + 1, "seed": None} if last else None}
            lines += b"data:" + json.dumps(event).encode() + b"\n\n"
        for at in range(0, len(lines), 37):
            yield message(lines[at:at + 37], message_type="event", event_type="PayloadPart", content_type="application/octet-stream")


class Dynamo:
    """A running dynalite with the table, and its boto3 client."""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.start()
        key = [("pk", "HASH"), ("sk", "RANGE")]
        self.client = boto3.client(
            "dynamodb", endpoint_url=self.url, region_name=CREDENTIALS["AWS_REGION"],
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
        self.client.create_table(
            TableName=TABLE, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n, _ in key],
            KeySchema=[{"AttributeName": n, "KeyType": t} for n, t in key])
        self.client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
        return self

    def __exit__(self, *_):
        self.client.close()
        self.stop()

    def start(self):
        self.process = subprocess.Popen(
            [HERE / "node_modules/.bin/dynalite", "--host", "127.0.0.1", "--port", str(self.port), "--createTableMs", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        line = self.process.stdout.readline()
        if b"listening" not in line.lower():
            raise RuntimeError(f"dynalite does not start: {line!r}")
        self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.reader.start()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def pause(self):
        """Stops the service, as in an outage; it keeps its data."""
        self.process.send_signal(19)  # SIGSTOP

    def go_on(self):
        self.process.send_signal(18)  # SIGCONT

    def put(self, item):
        """PutItem of values of JSON."""
        self.client.put_item(TableName=TABLE, Item={k: attribute(v) for k, v in item.items()})

    def delete(self, pk, sk):
        self.client.delete_item(TableName=TABLE, Key={"pk": {"S": pk}, "sk": {"S": sk}})

    def get(self, pk, sk):
        return self.client.get_item(TableName=TABLE, Key={"pk": {"S": pk}, "sk": {"S": sk}}, ConsistentRead=True).get("Item")


def attribute(v):
    match v:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": v}
        case str():
            return {"S": v}
        case int() | float():
            return {"N": str(v)}
        case list():
            return {"L": [attribute(e) for e in v]}
        case dict():
            return {"M": {k: attribute(e) for k, e in v.items()}}
    raise TypeError(type(v))
