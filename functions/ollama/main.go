// Command ollama is the Lambda function of the routes of Ollama's API.
package main

import "glossa/pkg/app"

func main() { app.Main("ollama") }
