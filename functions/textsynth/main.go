// Command textsynth is the Lambda function of the TextSynth routes.
package main

import "glossa/pkg/app"

func main() { app.Main("textsynth") }
