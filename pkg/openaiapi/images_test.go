package openaiapi

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The playground checks the limits of images before it sends them.
func TestLimitsOfPage(t *testing.T) {
	page, err := os.ReadFile("../page/js/chat/images.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("images: %d,", MaxImages), fmt.Sprintf("bytes: %d }", MaxImage)} {
		if !strings.Contains(strings.ReplaceAll(string(page), "_", ""), want) {
			t.Errorf("the page's limits have no %q", want)
		}
	}
}
