"""dra_fleet/rehearsal/drivers/efa"""
