package plan

import (
	"regexp"
	"strings"

	"glossa/pkg/partition"
)

// An Image is a container image in Amazon ECR.
type Image struct {
	Account, Region, Repository string
	Version                     string // a tag, or a digest: sha256:...
}

var imageName = regexp.MustCompile(`^([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9][a-z0-9._/-]{0,254})(?:@(sha256:[0-9a-f]{64})|:([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))$`)

// image reads the image of the functions.
func (p *parser) image() Image {
	v := p.value("image")
	if v == "" {
		return Image{}
	}
	m := imageName.FindStringSubmatch(v)
	if m == nil {
		p.fail("image", "%q is not an image of Amazon ECR with a digest or a tag", v)
		return Image{}
	}
	return Image{m[1], m[2], m[3], m[4] + m[5]}
}

// ARN returns the ARN of the image's repository.
func (i Image) ARN() string {
	return "arn:" + partition.Of(i.Region).Name + ":ecr:" + i.Region + ":" + i.Account + ":repository/" + i.Repository
}

// URI returns the image's name, with a reference for the domain of AWS.
func (i Image) URI() string {
	between := ":"
	if strings.HasPrefix(i.Version, "sha256:") {
		between = "@"
	}
	return i.Account + ".dkr.ecr." + i.Region + ".${AWS::URLSuffix}/" + i.Repository + between + i.Version
}

// Command returns the command of a family's function in the image.
func Command(family string) []string { return []string{"function", family} }

// Entrypoint is the program of the image.
const Entrypoint = "/glossa"
