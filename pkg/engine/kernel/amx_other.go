//go:build !amd64 || purego || !linux

package kernel

func hasAMX() bool { return false }
