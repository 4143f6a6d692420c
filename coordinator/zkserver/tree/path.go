package tree

import (
	"strings"
	"unicode/utf8"
)

// validPath applies ZooKeeper's rule (PathUtils.validatePath).
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for _, part := range strings.Split(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	for _, c := range path {
		switch {
		case c <= 0x1f, c >= 0x7f && c <= 0x9f, c >= 0xd800 && c <= 0xf8ff, c >= 0xfff0, c == utf8.RuneError:
			// Java sees what lies above U+FFFF as two surrogates, and refuses them.
			return false
		}
	}
	return true
}

// parentOf returns "/" for a child of the root.
func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func childOf(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}
