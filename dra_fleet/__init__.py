"""The pure core: settings -> plan -> proof, as plain values. No engine, no cloud SDK, no network."""
