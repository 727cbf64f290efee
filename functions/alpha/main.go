// Command alpha is the Lambda function of Alpha's own routes.
package main

import "glossa/pkg/app"

func main() { app.Main("alpha") }
