//go:build amd64 && !purego

package kernel

const assembly = true
