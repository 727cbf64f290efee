// Command responses is the Lambda function of the routes of OpenAI's Responses API.
package main

import "glossa/pkg/app"

func main() { app.Main("responses") }
