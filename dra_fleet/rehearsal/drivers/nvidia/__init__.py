"""dra_fleet/rehearsal/drivers/nvidia"""
