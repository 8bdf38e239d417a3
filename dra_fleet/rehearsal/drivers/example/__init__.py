"""dra_fleet/rehearsal/drivers/example"""
