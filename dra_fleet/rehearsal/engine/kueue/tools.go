//go:build tools

// Package tools pins Kueue's controller.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
