// Command alephalpha is the Lambda function of the Aleph Alpha routes.
package main

import "glossa/pkg/app"

func main() { app.Main("alephalpha") }
