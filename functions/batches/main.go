// Command batches is the Lambda function of OpenAI's Files and Batches API, and runs the lines.
package main

import "glossa/pkg/app"

func main() { app.Main("batches") }
