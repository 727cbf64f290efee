"""One item of the table is a model, and what a record of the API layer may say: items are
put by boto3 while the server runs, as schemas/README.md shows it."""

import decimal
import json
import re

import boto3

from cloud import CREDENTIALS, TABLE
from server import Server
from test_cloud import CLAUDE, LLAMA, ROWS, SCHEMAS, TGI, CloudTest, environment, eventually, record


class OneItem(CloudTest):
    """Models without a row of all-models."""

    def at_first(self):
        """What is listed once no other test's items are."""
        last = ["tools", *(name for name, _, _ in ROWS), "sentences"]  # an encoder is never the default
        eventually(lambda: self.listed()[-len(last):] == last)
        return self.listed()

    def test_one_item_is_a_model(self):
        """The page of schemas/ is run as it stands: put_item, listed, answered, deleted."""
        page = (SCHEMAS / "README.md").read_text()
        resource = boto3.resource("dynamodb", endpoint_url=self.dynamo.url, region_name=CREDENTIALS["AWS_REGION"],
                                  aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
        self.addCleanup(resource.meta.client.close)
        program = re.search("```python\n(.*?)```", page, re.S)[1]
        self.assertIn('boto3.resource("dynamodb").Table("glossa")', program)
        program = program.replace('boto3.resource("dynamodb")', "resource")
        name = re.search(r'"sk": "bedrock-(us\.[^"]+)"', program)[1]
        own = record("bedrock-meta")["schema"]
        exact = json.loads(json.dumps(own), parse_float=decimal.Decimal)  # boto3 takes no floats
        table = resource.Table(TABLE)
        puts = {
            ("bedrock", name): lambda: exec(program, {"resource": resource}),
            ("bedrock", "acme.map-v1:0"): lambda: table.put_item(Item={"pk": "models", "sk": "bedrock-acme.map-v1:0", "schema": exact}),
            ("bedrock", "acme.string-v1:0"): lambda: table.put_item(Item={"pk": "models", "sk": "bedrock-acme.string-v1:0", "schema": json.dumps(own)}),
            ("sagemaker", "tgi.own-endpoint"): lambda: table.put_item(Item={"pk": "models", "sk": "sagemaker-tgi.own-endpoint", "owner": "team-a"}),
        }
        for (family, name), put in puts.items():
            with self.subTest(name):
                before = self.at_first()
                put()
                eventually(lambda: name in self.listed())
                self.assertEqual([m for m in self.listed() if m != name], before)
                for path, key in (("/v1/models", "id"), ("/models_available", "name")):
                    answer = self.server.json("GET", path)[1]
                    self.assertIn(name, [m[key] for m in (answer["data"] if "data" in answer else answer)])
                self.assertEqual(self.invoke(name, family, prompt="x")[1].get("generated_text"), self.text)
                self.assertEqual(self.client.completions.create(model=name, prompt="x").choices[0].text, self.text)
                self.dynamo.delete("models", f"{family}-{name}")
                eventually(lambda: self.listed() == before)

    def test_other_items_of_the_table_are_no_models(self):
        before = self.at_first()
        others = [("models", "lock#1"), ("lock", "bedrock-a.b"), ("accounts", "key#x"), ("models", "bedrock-acme.*"), ("models", "bedrock-\u001b[2J.x")]
        for pk, sk in others:
            self.dynamo.put({"pk": pk, "sk": sk, "schema": record("bedrock-meta")["schema"]})
            self.addCleanup(self.dynamo.delete, pk, sk)
        self.dynamo.put({"pk": "models", "sk": "bedrock-last.one"} | {"schema": record("bedrock-meta")["schema"]})
        self.addCleanup(self.dynamo.delete, "models", "bedrock-last.one")
        eventually(lambda: "last.one" in self.listed())
        self.assertEqual(self.listed(), [*before[:-2], "last.one", *before[-2:]])

    def test_what_a_group_covers_answers_unlisted(self):
        name = "meta.llama-unlisted-v1:0"
        self.assertNotIn(name, self.listed())
        self.assertEqual(self.invoke(name, "bedrock", prompt="x")[1].get("generated_text"), self.text)
        self.assertEqual(self.cloud.requests[-1]["path"], f"/model/{name}/invoke")
        self.cloud.requests.clear()
        for hostile in ("meta.a/../../model/other", "meta.a?x=1", "arn:aws:bedrock:x.evil.example/y?:1:inference-profile/us.meta.a", "meta", "nobody.a"):
            with self.subTest(hostile):
                self.assertIn("error", self.invoke(hostile, "bedrock", prompt="x")[1])
        self.assertEqual(self.cloud.requests, [])
        with Server(env=environment(self.cloud, self.dynamo) | {"GLOSSA_LISTED_ONLY": "true"}) as server:
            ask = {"model_name": name, "model_family": "bedrock", "body": {"prompt": "x"}}
            self.assertIn("error", server.json("POST", "/invoke", ask)[1])
            self.assertEqual(server.json("POST", "/invoke", ask | {"model_name": LLAMA})[1].get("generated_text"), self.text)

    def test_upstreams_page_by_a_record(self):
        own = record("bedrock-meta") | {"sk": f"bedrock-{LLAMA}", "ignore_unmapped": True}
        self.dynamo.put(own)
        self.addCleanup(self.dynamo.delete, "models", own["sk"])
        ask = json.dumps({"model_name": LLAMA, "model_family": "bedrock", "body": {"prompt": "x", "temprature": 0.5, "watermark": True}}).encode()

        def left_out():
            status, headers, body = self.server.raw("POST", "/invoke", ask)
            return status == 200 and headers["X-Glossa-Ignored"] == "temprature, watermark" and json.loads(body)["generated_text"] == self.text

        eventually(left_out)
        refused = json.dumps(json.loads(ask) | {"ignore_unmapped": False}).encode()
        self.assertIn("temprature", json.loads(self.server.raw("POST", "/invoke", refused)[2])["error"])

    def test_empty_lines_where_asked_for(self):
        def lines(**more):
            data = json.dumps({"model_name": CLAUDE, "model_family": "bedrock", "body": {"prompt": "x"}, **more}).encode()
            return [json.loads(line) for line in self.server.raw("POST", "/invoke_stream", data)[2].decode().splitlines()]

        self.assertNotIn({}, lines())
        self.assertEqual(lines(empty_lines=True)[0], {})  # message_start
        self.assertEqual([x for x in lines(empty_lines=True) if x], lines())
