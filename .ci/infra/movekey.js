// Runs the program of CloudFront in a golden template: node movekey.js TEMPLATE. A caller's key
// must reach glossa in x-api-key, since CloudFront's signature takes the header Authorization.
import assert from "node:assert";
import fs from "node:fs";

const template = JSON.parse(fs.readFileSync(process.argv[2]));
const [program] = Object.values(template.Resources).filter((r) => r.Type === "AWS::CloudFront::Function");
const handler = new Function(`${program.Properties.FunctionCode}; return handler;`)();
const moved = (headers) => handler({ request: { uri: "/v1/models", headers } }).headers;
const value = (text) => ({ value: text });

assert.deepEqual(moved({ authorization: value("Bearer gls_1"), accept: value("*/*") }), { "x-api-key": value("gls_1"), accept: value("*/*") });
assert.deepEqual(moved({ authorization: value("bearer   gls_1") }), { "x-api-key": value("gls_1") });
assert.deepEqual(moved({ authorization: value("gls_1") }), { "x-api-key": value("gls_1") });
assert.deepEqual(moved({ authorization: value("Bearer gls_1"), "x-api-key": value("gls_2") }), { "x-api-key": value("gls_2") });
assert.deepEqual(moved({}), {});
console.log("CloudFront's program moves keys");
