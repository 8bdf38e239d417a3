"""Controllers in a rehearsal: Kueue's and Karpenter's own, built from their modules, with their charts."""
