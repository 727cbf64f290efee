// Command messages is the Lambda function of the routes of Anthropic's Messages API.
package main

import "glossa/pkg/app"

func main() { app.Main("messages") }
