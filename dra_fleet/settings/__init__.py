"""Settings that a stack file has for clouds, drivers and claims alike; `dra_fleet.fleet` has the whole."""
