// Prints the findings of cdk-nag in the golden templates as JSON: node nag.js TESTDATA, which has
// a directory of templates for each variant of settings.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { App, Aspects, DefaultStackSynthesizer, Stack } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { AwsSolutionsChecks } from "cdk-nag";

const [testdata] = process.argv.slice(2);
const outdir = fs.mkdtempSync(path.join(os.tmpdir(), "nag-"));
const app = new App({ outdir });
const files = fs.readdirSync(testdata).flatMap((variant) =>
  fs.readdirSync(path.join(testdata, variant)).filter((file) => file !== "contexts.json").map((file) => path.join(variant, file)));
// CfnInclude does not know Fn::GetStackOutput, whose value no rule reads.
const known = (_, value) => (value?.["Fn::GetStackOutput"] ? { "Fn::ImportValue": value["Fn::GetStackOutput"].OutputName } : value);
for (const file of files) {
  // The templates have their own versions of what a stack would add.
  const stack = new Stack(app, file.replace("/", "-").replace(".json", ""), {
    analyticsReporting: false,
    synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
  });
  stack.node.setContext("file", file);
  const templateFile = path.join(outdir, file.replace("/", "-"));
  fs.writeFileSync(templateFile, JSON.stringify(JSON.parse(fs.readFileSync(path.join(testdata, file), "utf8"), known)));
  new CfnInclude(stack, "Template", { templateFile });
}

const found = [];
const note = (rule, { resource }, message) =>
  found.push({ rule, type: resource.cfnResourceType, file: path.join(testdata, resource.node.tryGetContext("file")), name: resource.node.id, message });
const nothing = () => {};
const logger = {
  onCompliance: nothing, onSuppressed: nothing, onNotApplicable: nothing, onSuppressedError: nothing,
  onNonCompliance: (data) => note(data.ruleId, data, `${data.ruleInfo} ${data.findingId}`),
  onError: (data) => note(`${data.ruleId} fails`, data, data.errorMessage),
};
Aspects.of(app).add(new AwsSolutionsChecks({ additionalLoggers: [logger], reports: false }));
app.synth();
fs.rmSync(outdir, { recursive: true });
process.stdout.write(JSON.stringify({ templates: files.length, found }));
