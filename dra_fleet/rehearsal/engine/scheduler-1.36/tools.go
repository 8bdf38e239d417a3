//go:build tools

// Package tools pins the scheduler of Kubernetes 1.36: its code differs from a newer one that emulates it.
package tools

import _ "k8s.io/kubernetes/cmd/kube-scheduler"
