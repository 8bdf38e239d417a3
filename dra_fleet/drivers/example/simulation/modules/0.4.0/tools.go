//go:build tools

// Package tools pins the example DRA driver of chart 0.4.0.
package tools

import _ "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin"
