"""The plain frozen values that packages exchange, and the settings that clouds, drivers and claims share."""
