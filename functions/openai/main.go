// Command openai is the Lambda function of the OpenAI routes.
package main

import "glossa/pkg/app"

func main() { app.Main("openai") }
