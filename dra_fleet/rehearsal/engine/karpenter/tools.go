//go:build tools

// Package tools pins Karpenter's controller for AWS.
package tools

import _ "github.com/aws/karpenter-provider-aws/cmd/controller"
