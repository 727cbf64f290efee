// Command canary is the Lambda function that asks the others: new versions before they get
// traffic, for CodeDeploy, and those in use from time to time.
package main

import "glossa/pkg/app"

func main() { app.Canary() }
