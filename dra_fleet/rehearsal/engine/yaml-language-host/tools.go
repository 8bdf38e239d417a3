//go:build tools

// Package tools pins the language host of YAML programs, for a test.
package tools

import _ "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml"
