//go:build tools

// Package tools pins NVIDIA's GPU feature discovery.
package tools

import _ "github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery"
