package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// A Chain stands for the tokens of a text up to the end of a block: it is the SHA-256 of the
// chain before and of the block's tokens. Names and keys follow from it alone.
type Chain [sha256.Size]byte

// Begin returns the chain of an empty text. Texts that differ in one of the parts, such as the
// model, have no name in common.
func Begin(parts ...string) Chain {
	h := sha256.New()
	for _, part := range append([]string{"glossa prefix 1"}, parts...) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return Chain(h.Sum(nil))
}

// Next returns the chain after more tokens.
func (c Chain) Next(tokens []int) Chain {
	return sha256.Sum256(appendTokens(c[:], tokens))
}

// Name returns the name of a kind of block that ends here, 64 hexadecimal digits.
func (c Chain) Name(kind string) string {
	sum := c.derive("name", kind)
	return hex.EncodeToString(sum[:])
}

func (c Chain) derive(use, kind string) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat(c[:], []byte(use+" "+kind)))
}

// aead returns the cipher of a kind of block that ends here.
func (c Chain) aead(kind string) cipher.AEAD {
	key := c.derive("key", kind)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has blocks of 16 bytes
	}
	return gcm
}

// errSealed does not say which of the checks failed.
var errSealed = errors.New("sealed: the block is damaged, or of another text")

// seal encrypts the tokens of a block and its data. data is overwritten.
func (c Chain) seal(kind string, tokens []int, data []byte) []byte {
	return c.aead(kind).Seal(nil, nil, appendTokens(data, tokens), nil)
}

// open decrypts what seal returned, in place, and compares the tokens.
func (c Chain) open(kind string, tokens []int, sealed []byte) ([]byte, error) {
	plain, err := c.aead(kind).Open(sealed[:0], nil, sealed, nil)
	if err != nil {
		return nil, errSealed
	}
	end := len(plain) - tokenBytes*len(tokens)
	if end < 0 || !slices.Equal(plain[end:], appendTokens(nil, tokens)) {
		return nil, errSealed
	}
	return plain[:end], nil
}

const (
	tokenBytes = 4  // of a token's id
	sealBytes  = 28 // of the nonce and the tag of AES-GCM
)

func appendTokens(data []byte, tokens []int) []byte {
	data = slices.Grow(data, tokenBytes*len(tokens))
	for _, id := range tokens {
		data = binary.LittleEndian.AppendUint32(data, uint32(id))
	}
	return data
}
