"""Typed resource.k8s.io objects with every rule of the API server, for any supported minor.

Whole objects are checked by `dra_fleet.kubernetes.devices.validate`. Nothing is imported here, so that a
quantity costs no models.
"""
