"""Search through orders of arrival and placements."""
