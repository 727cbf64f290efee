// Command embeddings is the Lambda function of the routes that embed and rank texts.
package main

import "glossa/pkg/app"

func main() { app.Main("embeddings") }
