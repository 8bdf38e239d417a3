//go:build tools

// Package tools pins NVIDIA's DRA driver of chart 0.5.0.
package tools

import (
	_ "sigs.k8s.io/dra-driver-nvidia-gpu/cmd/compute-domain-kubelet-plugin"
	_ "sigs.k8s.io/dra-driver-nvidia-gpu/cmd/gpu-kubelet-plugin"
)
