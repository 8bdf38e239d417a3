"""dra_fleet/rehearsal/drivers/tpu"""
