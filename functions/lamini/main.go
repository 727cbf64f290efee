// Command lamini is the Lambda function of the Lamini routes.
package main

import "glossa/pkg/app"

func main() { app.Main("lamini") }
