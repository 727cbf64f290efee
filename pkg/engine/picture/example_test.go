package picture_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"

	"glossa/pkg/engine/picture"
)

// The processor of SmolVLM cuts a picture into tiles of 512 x 512 pixels.
func ExampleProcessor_Frames() {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		fmt.Println(err)
		return
	}
	img, err := picture.Decode(context.Background(), file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	p := picture.Processor{
		Filter: picture.Lanczos, Side: 512, Longest: 2048, Split: true,
		Scale: 1. / 255, Mean: [3]float64{.5, .5, .5}, Std: [3]float64{.5, .5, .5},
	}
	rows, columns := p.Layout(img.Width, img.Height)
	frames, err := p.Frames(context.Background(), img)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows, columns, len(frames), len(p.Values(frames[0], 16, 1)))
	// Output: 3 4 13 786432
}
