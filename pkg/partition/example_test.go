package partition_test

import (
	"fmt"

	"glossa/pkg/partition"
)

func ExampleOf() {
	for _, region := range []string{"eu-west-1", "cn-north-1", "us-gov-west-1"} {
		p := partition.Of(region)
		fmt.Println(p.Name, p.HostDomain(false), p.HostDomain(true))
	}
	// Output:
	// aws amazonaws.com api.aws
	// aws-cn amazonaws.com.cn api.amazonwebservices.com.cn
	// aws-us-gov amazonaws.com api.aws
}
