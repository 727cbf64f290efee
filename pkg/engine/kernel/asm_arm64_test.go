//go:build arm64 && !purego

package kernel

const assembly = true
