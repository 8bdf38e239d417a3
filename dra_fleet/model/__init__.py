"""The plain frozen values that rooms hand on, and the settings that clouds, drivers and claims share."""
