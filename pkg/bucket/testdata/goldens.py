"""Endpoints of S3 by the rules of AWS, as botocore evaluates them: endpoints.json.

Source: botocore/data/s3/2006-03-01/endpoint-rule-set-1.json and botocore/data/partitions.json."""

import json
import pathlib

import botocore.loaders
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import EndpointProviderError

REGIONS = [
    "us-east-1", "us-west-2", "eu-west-1", "eu-central-2", "ap-southeast-7", "us-gov-west-1", "us-gov-east-1", "cn-north-1", "cn-northwest-1",
    "eusc-de-east-1", "us-iso-east-1", "us-iso-west-1", "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1", "us-isof-east-1", "xx-new-9",
]

loader = botocore.loaders.Loader()
rules = EndpointProvider(loader.load_service_model("s3", "endpoint-rule-set-1"), loader.load_data("partitions"))


def endpoint(bucket, region, fips=False, dual=False, own=""):
    more = {"Endpoint": own, "ForcePathStyle": True} if own else {}
    row = {"bucket": bucket, "region": region, "fips": fips, "dual": dual, "own": own}
    try:
        return row | {"url": rules.resolve_endpoint(Bucket=bucket, Region=region, UseFIPS=fips, UseDualStack=dual, **more).url}
    except EndpointProviderError as e:
        return row | {"error": str(e)}


rows = [endpoint(b, r, fips, dual) for r in REGIONS for b in ("models", "my.models") for fips in (False, True) for dual in (False, True)]
rows += [endpoint(b, r, own=own) for r in ("us-east-1", "cn-north-1") for b in ("models", "my.models")
         for own in ("http://127.0.0.1:9000", "https://s3.example.com", "https://example.com/store", "https://bucket.vpce-1a2b-3c4d.s3.us-east-1.vpce.amazonaws.com")]
path = pathlib.Path(__file__).with_name("endpoints.json")
path.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
