package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"time"
)

// seeing is a tiny model that reads images.
const seeing = "pkg/engine/arch/testdata/vision/smolvlm"

// imageAttacks send images that are small files and large pictures, or none at all.
func imageAttacks() []attack {
	const half = 30 * time.Second
	// A picture of 49 megapixels takes 150 MB, and some times as much while it is decoded.
	large := goals{only: []string{"200", "400", "429", "503", cut}, served: 1, grown: 1536}
	return []attack{
		{name: "images/large", about: "eight chats with a PNG of 49 megapixels, 150 KB each", model: seeing, lasts: half, goals: large, calls: repeat(8, largeImage)},
		{name: "images/photos", about: "eight chats with a JPEG of 30 megapixels", model: seeing, lasts: half, goals: large, calls: repeat(8, largePhoto)},
		{name: "images/many", about: "eight chats with 20 such PNGs", model: seeing, lasts: half, goals: goals{only: []string{"400", "413", "429", "503", cut}, grown: 512, refused: 6}, calls: repeat(8, manyImages)},
		{name: "images/beyond", about: "eight chats with a PNG whose header says 900 megapixels", model: seeing, goals: goals{only: []string{"400"}, refused: 8, grown: 64}, calls: repeat(8, beyondImage)},
		{name: "images/broken", about: "eight chats with an image that ends too early", model: seeing, goals: goals{only: []string{"400"}, refused: 8, grown: 256}, calls: repeat(8, brokenImage)},
	}
}

// see returns a chat with images.
func see(kind string, images ...[]byte) call {
	var parts strings.Builder
	for _, data := range images {
		fmt.Fprintf(&parts, `{"type": "image_url", "image_url": {"url": "data:image/%s;base64,%s"}}, `, kind, base64.StdEncoding.EncodeToString(data))
	}
	return post("/v1/chat/completions", fmt.Sprintf(`{"model": "smolvlm", "max_tokens": 1, "messages": [{"role": "user", "content": [%s{"type": "text", "text": "What is this?"}]}]}`, parts.String()))
}

// black returns a PNG without colours.
func black(side int) []byte {
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		panic(err) // of memory
	}
	return b.Bytes()
}

func largeImage() call { return see("png", black(7000)) }

func manyImages() call { return see("png", slices.Repeat([][]byte{black(7000)}, 20)...) }

func largePhoto() call {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 6000, 5000)), &jpeg.Options{Quality: 30}); err != nil {
		panic(err) // of memory
	}
	return see("jpeg", b.Bytes())
}

// beyondImage claims to have 30,000 by 30,000 pixels.
func beyondImage() call {
	data := black(64)
	copy(data[16:24], []byte{0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30})
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return see("png", data)
}

func brokenImage() call {
	data := black(2000)
	return see("png", data[:len(data)/2])
}
