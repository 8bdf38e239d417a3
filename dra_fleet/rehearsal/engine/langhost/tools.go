//go:build tools

// Package tools pins the last Python language host that the SDK module carries.
package tools

import _ "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
