//go:build !unix

package run

func lock(string) (unlock func(), err error) { return func() {}, nil }
