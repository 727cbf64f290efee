package arn_test

import (
	"fmt"
	"log"

	"glossa/pkg/arn"
)

func ExampleParse() {
	a, err := arn.Parse("arn:aws:sagemaker:eu-west-1:123456789012:endpoint/chat")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Service, a.Region, a.Account, a.Resource)
	_, err = arn.Parse("arn:aws:sagemaker:eu.west:123456789012:endpoint/chat")
	fmt.Println(err != nil)
	// Output:
	// sagemaker eu-west-1 123456789012 endpoint/chat
	// true
}
