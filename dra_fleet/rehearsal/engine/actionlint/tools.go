//go:build tools

// Package tools pins what the tests lint the example of GitHub Actions with.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
