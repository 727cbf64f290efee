"""Runs glossa's commands and server with the tables and buckets of moto: check.py GLOSSA.

What an operator does first, in order: records and models, keys and a team, requests of both,
an upload, a replacement and a deletion; and what DynamoDB's conditions must hold meanwhile.
"""

import concurrent.futures
import contextlib
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import boto3
from moto.dynamodb.models import DynamoDBBackend
from moto.server import ThreadedMotoServer

GLOSSA = sys.argv[1]
MODEL = pathlib.Path(__file__).parents[2] / "pkg/engine/arch/testdata/gpt2-gguf/model.gguf"
TABLE, BUCKET, LIMIT = "glossa", "models", 400


def write_atomically():
    """Serves one write to a table at a time, as DynamoDB does: the threads of moto interleave a
    condition and its change."""
    lock = threading.RLock()

    def alone(write):
        def locked(*args, **kwargs):
            with lock:
                return write(*args, **kwargs)
        return locked

    for name in ("put_item", "update_item", "delete_item", "transact_write_items"):
        setattr(DynamoDBBackend, name, alone(getattr(DynamoDBBackend, name)))


def main():
    write_atomically()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    aws = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    aws.start()
    host, port = aws.get_host_and_port()
    url = f"http://{host}:{port}"
    of = {"region_name": "us-east-1", "endpoint_url": url, "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    keys = [("pk", "HASH"), ("sk", "RANGE")]
    boto3.client("dynamodb", **of).create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": n, "KeyType": k} for n, k in keys],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n, _ in keys])
    s3 = boto3.client("s3", **of)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url,
               "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "GLOSSA_TABLE": TABLE}
        admin, members = seed(env)
        with served(env) as base:
            requests(s3, base, admin)
            upload(base, admin)
        with served(env) as one, served(env) as other:
            spend([one, other], members)
    aws.stop()


def glossa(env, *args):
    done = subprocess.run([GLOSSA, *args], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"glossa {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def seed(env):
    """Fills the table and the bucket twice: the second time keeps everything."""
    place = ("--starters", "--checkpoints", f"s3://{BUCKET}/checkpoints")
    assert "wrote models/local-novels" in glossa(env, "models", "init", *place)
    assert re.search(r"kept \d+ records", glossa(env, "models", "init", *place))
    glossa(env, "team", "create", "shop", "--tokens-per-day", str(LIMIT))
    admin = glossa(env, "key", "create", "admin", "--role", "admin")
    members = [glossa(env, "key", "create", name, "--role", "client", "--team", "shop") for name in ("a", "b")]
    teams = json.loads(glossa(env, "team", "list", "--json"))["teams"]
    assert [(t["name"], t["members"]) for t in teams] == [("shop", ["key a", "key b"])], teams
    print("records, models, keys and a team are stored; again, nothing is stored twice")
    return admin, members


@contextlib.contextmanager
def served(env):
    server = subprocess.Popen([GLOSSA, "serve", "--auth", "--checkpoints", f"s3://{BUCKET}/checkpoints", "--port", "0"],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    base = ""
    for line in server.stdout:
        if found := re.search(r"on (http://\S+)", line):
            base = found[1].rstrip(",")
            break
    if not base:
        sys.exit("the server does not start")
    try:
        yield base
    finally:
        server.terminate()
        if server.wait(30):
            sys.exit(f"the server ends with {server.returncode}")


def send(base, path, key, body=None, method=None, raw=None):
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    url = path if path.startswith("http") else base + path
    r = urllib.request.Request(url, data, {"Content-Type": "application/json" if raw is None else "application/octet-stream"}, method=method)
    if key:
        r.add_header("Authorization", "Bearer " + key)
    try:
        with urllib.request.urlopen(r, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def text(base, key, model):
    status, body = send(base, "/v1/completions", key, {"model": model, "prompt": "The old", "max_tokens": 12, "temperature": 0})
    return (status, json.loads(body)["choices"][0]["text"]) if status == 200 else (status, body)


def until(what, so):
    for _ in range(100):
        if so():
            return
        time.sleep(0.2)
    sys.exit(f"not after 20 s: {what}")


def requests(s3, base, key):
    """A copy of a model in the bucket gives the model's text; without its objects it is gone."""
    want = text(base, key, "novels")
    assert want[0] == 200, want
    objects = s3.list_objects_v2(Bucket=BUCKET, Prefix="checkpoints/novels/")["Contents"]
    copies = {o["Key"]: o["Key"].replace("/novels/", "/stories/") for o in objects}
    for source, target in copies.items():
        s3.copy_object(Bucket=BUCKET, Key=target, CopySource={"Bucket": BUCKET, "Key": source})
    until("the copy is served", lambda: text(base, key, "stories") == want)
    status, body = send(base, "/v1/responses", key, {"model": "novels", "input": "The old", "max_output_tokens": 16})
    stored = json.loads(body)["id"]
    assert status == 200 and send(base, "/v1/responses/" + stored, key)[0] == 200
    assert send(base, "/v1/responses/" + stored, key, method="DELETE")[0] == 200
    assert send(base, "/v1/responses/" + stored, key)[0] == 404
    for target in copies.values():
        s3.delete_object(Bucket=BUCKET, Key=target)
    until("the copy is gone", lambda: text(base, key, "stories")[0] == 404)
    assert send(base, "/v1/models", "gls_" + "x" * 43)[0] == 401
    print("a model of the bucket is found, served and gone; responses are stored and deleted")


def upload(base, key):
    """A model that is uploaded in parts by signed URLs is served, and deleted."""
    content = MODEL.read_bytes()
    status, body = send(base, "/api/uploads", key, {"name": "uploaded", "size": len(content)})
    assert status in (200, 201), body
    begun = json.loads(body)
    for part in begun["parts"]:
        at = part.get("offset", 0)
        status, body = send(base, part["url"], None, raw=content[at:at + part.get("size", len(content))], method="PUT")
        assert status == 200, body
    status, body = send(base, f"/api/uploads/{begun['id']}/complete", key, {})
    assert status == 200, body
    until("the upload is served", lambda: text(base, key, "uploaded")[0] == 200)
    status, body = send(base, "/api/models?name=uploaded", key, method="DELETE")
    assert status in (200, 204), body
    until("the upload is gone", lambda: text(base, key, "uploaded")[0] == 404)
    print("an upload by signed URLs is served, and deleted")


def spend(servers, keys):
    """Two servers and two members of a team use no more than its budget, whatever races."""
    def one(i):
        return send(servers[i % 2], "/v1/completions", keys[i // 2 % 2], {"model": "novels", "prompt": "The old", "max_tokens": 10, "temperature": 0})

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(80)))
    used = sum(json.loads(body)["usage"]["total_tokens"] for status, body in answers if status == 200)
    refused = [body for status, body in answers if status == 429]
    assert all(status in (200, 429) for status, _ in answers), answers
    assert used <= LIMIT and used >= LIMIT / 2, used
    assert any(f"the budget of the team shop of {LIMIT} tokens a day" in body for body in refused), refused[:1]
    print(f"two servers and two keys of a team used {used} of {LIMIT} tokens; {len(refused)} requests were refused")


main()
